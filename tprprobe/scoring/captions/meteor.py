"""METEOR 1.5 through the COCO toolkit's Java program, where it is installed (the extra ``meteor``)."""

import shutil
from collections.abc import Sequence
from importlib import import_module

import numpy as np
from jaxtyping import Float

from tprprobe.errors import InputError, check_extra
from tprprobe.scoring.captions.bleu import Words

PACKAGE = "pycocoevalcap"


def meteor_missing() -> str | None:
    """Why METEOR cannot be computed here; None where it can."""
    try:
        check_extra(PACKAGE, "meteor", "METEOR")
    except InputError as error:
        return str(error)
    return None if shutil.which("java") else "METEOR needs Java (a program java on the PATH)"


def meteor(
    captions: Sequence[Words], references: Sequence[Sequence[Words]]
) -> tuple[float, Float[np.ndarray, " image"]]:
    """METEOR of the corpus, which is no mean, and of every caption.

    Raises: InputError where the package or Java is missing.
    """
    if reason := meteor_missing():
        raise InputError(reason)
    scorer = import_module(f"{PACKAGE}.meteor.meteor").Meteor()
    own = {number: [" ".join(words)] for number, words in enumerate(captions)}
    others = {number: [" ".join(words) for words in each] for number, each in enumerate(references)}
    try:
        corpus, each = scorer.compute_score(others, own)
    finally:
        scorer.meteor_p.kill()
        scorer.meteor_p.communicate()  # closes its pipes
    return float(corpus), np.array(each, dtype=float)
