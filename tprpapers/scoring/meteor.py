"""METEOR by two programs, whose numbers do not compare.

``stemmed_meteor`` is NLTK's (Lavie and Agarwal 2007: α .9, β 3, γ .5) with exact and stemmed matches,
but without WordNet's synonyms, which would be a download. ``java_meteor`` is METEOR 1.5 through the
COCO toolkit's program, with synonyms and paraphrases, where it is installed (the extra ``meteor``).
"""

import shutil
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from jaxtyping import Float

from tprpapers.scoring.ngrams import Words
from tprprobe.errors import InputError, check_extra

PACKAGE, JAR = "pycocoevalcap", "meteor/meteor-1.5.jar"
NO_SYNONYMS: Any = SimpleNamespace(synsets=lambda word: [])


@cache
def _aligner() -> Callable[..., float]:
    check_extra("nltk", "summarization", "METEOR of summaries")
    from nltk.stem.porter import PorterStemmer
    from nltk.translate.meteor_score import single_meteor_score

    stemmer: Any = SimpleNamespace(stem=cache(PorterStemmer().stem))  # the same words come again
    return partial(single_meteor_score, stemmer=stemmer, wordnet=NO_SYNONYMS)


def stemmed_meteor(reference: Words, prediction: Words) -> float:
    """METEOR with exact and stemmed matches, between 0 and 1."""
    return float(_aligner()(reference, prediction))


def stemmed_meteors(
    captions: Sequence[Words], references: Sequence[Sequence[Words]]
) -> Float[np.ndarray, " image"]:
    """``stemmed_meteor`` of every caption with the best of its references; NaN where NLTK is missing."""
    if find_spec("nltk") is None:
        return np.full(len(captions), np.nan)
    pairs = zip(captions, references, strict=True)
    return np.array(
        [max(stemmed_meteor(reference, caption) for reference in texts) for caption, texts in pairs]
    )


def meteor_missing() -> str | None:
    """The reason why the Java METEOR cannot be computed here; None if it can."""
    try:
        check_extra(PACKAGE, "meteor", "METEOR")
    except InputError as error:
        return str(error)
    if not shutil.which("java"):
        return "METEOR needs Java (a program java on the PATH)"
    jar = Path(next(iter(find_spec(PACKAGE).submodule_search_locations))) / JAR  # type: ignore
    return None if jar.is_file() else f"METEOR needs {jar}: install {PACKAGE} again"


def java_meteor(
    captions: Sequence[Words], references: Sequence[Sequence[Words]]
) -> tuple[float, Float[np.ndarray, " image"]]:
    """METEOR of the corpus, which is not a mean, and of every caption.

    The program reads its paraphrases at every start: 17 s of processor time and 1.3 GB, for few captions, too.

    Raises: InputError where the package or Java is missing.
    """
    if reason := meteor_missing():
        raise InputError(reason)
    scorer = import_module(f"{PACKAGE}.meteor.meteor").Meteor()
    captions_by_number = {number: [" ".join(words)] for number, words in enumerate(captions)}
    references_by_number = {
        number: [" ".join(words) for words in texts] for number, texts in enumerate(references)
    }
    try:
        corpus, scores = scorer.compute_score(references_by_number, captions_by_number)
    finally:
        scorer.meteor_p.kill()
        scorer.meteor_p.communicate()  # closes its pipes
    return float(corpus), np.array(scores, dtype=float)
