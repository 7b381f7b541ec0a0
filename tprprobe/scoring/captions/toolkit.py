"""Scores of captions against their references, with intervals over images.

BLEU-1 to -4, CIDEr-D and ROUGE-L as the COCO toolkit computes them, in Python; METEOR through it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprprobe.data.vocabularies.words import tokenize
from tprprobe.errors import InputError
from tprprobe.scoring.captions.bleu import ORDERS, bleu, bleu_counts
from tprprobe.scoring.captions.cider import cider_d
from tprprobe.scoring.meteor import java_meteor
from tprprobe.scoring.rouge import rouge_l
from tprprobe.statistics import bootstrap, bootstrap_difference, divide

COUNTS = 2 * ORDERS + 2
Terms = Float[np.ndarray, "image term"]
Statistic = Callable[[Terms], Float[np.ndarray, " replicate"]]


@dataclass(frozen=True)
class CaptionScores:
    """The terms that every image adds to the scores: BLEU's counts, its CIDEr-D and ROUGE-L, and
    one.

    ``meteor`` is of the corpus: no mean over images, and without an interval.
    """

    terms: Terms
    meteor: float | None = None

    def table(self, seed: int = 0) -> pd.DataFrame:
        """metric, value, low, high, n: intervals by drawing images, with CIDEr-D's frequencies fixed."""
        rows = [
            (name, each.value, each.low, each.high)
            for name, statistic in METRICS.items()
            for each in [bootstrap(self.terms, statistic, seed=seed)]
        ]
        if self.meteor is not None:
            rows.append(("METEOR", self.meteor, np.nan, np.nan))
        return _table(rows, len(self.terms))


def score_captions(
    captions: Sequence[str], references: Sequence[Sequence[str]], with_meteor: bool = False
) -> CaptionScores:
    """The scores of one caption an image, each against all references of its image.

    Raises:
        InputError: unequal numbers, an image without references or with an empty one, and METEOR
            where it cannot be computed.
    """
    if len(captions) != len(references) or not len(captions):
        raise InputError(
            f"{len(captions)} captions for the references of {len(references)} images: give one each"
        )
    own = [tokenize(caption) for caption in captions]
    others = [[tokenize(text) for text in several] for several in references]
    for number, several in enumerate(others):
        if not several or not all(several):
            raise InputError(f"image {number} has no references, or one without words: give some")
    pairs = list(zip(own, others, strict=True))
    terms = [
        np.stack([bleu_counts(*pair) for pair in pairs]),
        cider_d(own, others)[:, None],
        np.array([[rouge_l(*pair), 1.0] for pair in pairs]),
    ]
    return CaptionScores(np.hstack(terms), java_meteor(own, others)[0] if with_meteor else None)


def compare_captions(first: CaptionScores, second: CaptionScores, seed: int = 0) -> pd.DataFrame:
    """metric, difference (first − second), low, high, p, n: the same images, drawn together.

    Raises: InputError where the numbers of images differ.
    """
    if len(first.terms) != len(second.terms):
        raise InputError(
            f"scores of {len(first.terms)} and of {len(second.terms)} images: compare two models on "
            "the same images"
        )
    rows = []
    for name, statistic in METRICS.items():
        each = bootstrap_difference(first.terms, second.terms, statistic, seed=seed)
        rows.append((name, each.value, each.low, each.high, each.p_value))
    return _table(rows, len(first.terms), ["difference", "low", "high", "p"])


def _table(
    rows: Sequence[tuple], n: int, columns: Sequence[str] = ("value", "low", "high")
) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["metric", *columns]).assign(n=n)


def _bleu(order: int, totals: Terms) -> Float[np.ndarray, " replicate"]:
    return bleu(totals[:, :COUNTS])[:, order - 1]


def _mean(term: int, totals: Terms) -> Float[np.ndarray, " replicate"]:
    return divide(totals[:, term], totals[:, -1])


METRICS: dict[str, Statistic] = {
    **{f"BLEU-{order}": partial(_bleu, order) for order in range(1, ORDERS + 1)},
    "CIDEr-D": partial(_mean, COUNTS),
    "ROUGE-L": partial(_mean, COUNTS + 1),
}
