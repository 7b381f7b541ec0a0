"""ROUGE and METEOR: what a text has in common with its reference.

ROUGE is that of `rouge-score` with Porter stems, which follows ROUGE-1.5.5 as `files2rouge` runs it
(jiang's scores): only letters a-z and digits count. METEOR is that of NLTK (Lavie and Agarwal 2007:
α .9, β 3, γ .5) with exact and stemmed matches, but without WordNet's synonyms, which would be a
download; the Java METEOR 1.5 has synonyms and paraphrases, and its numbers are other numbers.
"""

from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from tprprobe.errors import check_extra
from tprprobe.scoring.ngrams import words

ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")
NO_SYNONYMS: Any = SimpleNamespace(synsets=lambda word: [])


@cache
def _scorer() -> Any:
    check_extra("rouge_score", "summarization", "ROUGE")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(ROUGE), use_stemmer=True)


@cache
def _aligner() -> Callable[..., float]:
    check_extra("nltk", "summarization", "METEOR of summaries")
    from nltk.stem.porter import PorterStemmer
    from nltk.translate.meteor_score import single_meteor_score

    return partial(single_meteor_score, stemmer=PorterStemmer(), wordnet=NO_SYNONYMS)


def split_sentences(text: str) -> str:
    """The text with a sentence a line as `files2rouge` finds them: they end in a full stop that
    has a space before it (or in a line break). Text that is not tokenized stays one sentence."""
    return text.replace(" .", " .\n")


def rouge(reference: str, prediction: str) -> dict[str, float]:
    """F1 of ROUGE-1, -2, -L over the whole text, and -L over its sentences (Lsum, that of 1.5.5).

    The last two are the same for texts of one sentence.
    """
    scores = _scorer().score(split_sentences(reference), split_sentences(prediction))
    return {name: scores[name].fmeasure for name in ROUGE}


def meteor(reference: str, prediction: str) -> float:
    """METEOR with exact and stemmed matches, between 0 and 1."""
    return float(_aligner()(words(reference), words(prediction)))
