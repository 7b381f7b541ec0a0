"""Scores of captions against their references, with intervals over images.

BLEU-1 to -4, CIDEr-D and ROUGE-L as the COCO toolkit computes them, in Python; METEOR through it, and
beside it, as the Java program has no interval and is not everywhere, METEOR without synonyms in Python.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprpapers.captions.words import tokenize
from tprpapers.scoring.captions.bleu import ORDERS, bleu, bleu_counts
from tprpapers.scoring.captions.cider import cider_d
from tprpapers.scoring.meteor import java_meteor, stemmed_meteors
from tprpapers.scoring.rouge import rouge_l
from tprprobe.errors import InputError
from tprprobe.statistics import bootstrap, bootstrap_difference, divide, group_sums

COUNTS = 2 * ORDERS + 2
REFERENCES = "references"  # a column of evaluations
METEOR, PLAIN_METEOR = "METEOR", "METEOR (no synonyms)"  # of the Java program; in Python
Terms = Float[np.ndarray, "image term"]
Statistic = Callable[[Terms], Float[np.ndarray, " replicate"]]


@dataclass(frozen=True)
class CaptionScores:
    """The terms that every image adds to the scores: BLEU's counts, its CIDEr-D, ROUGE-L and METEOR
    without synonyms (NaN where NLTK is missing), and one.

    ``meteor`` is of the corpus: no mean over images, and without an interval.
    """

    terms: Terms
    meteor: float | None = None

    @property
    def metrics(self) -> dict[str, Statistic]:
        """The scores that are functions of the terms."""
        totals = self.terms.sum(0)[None]
        return {
            name: metric for name, metric in METRICS.items() if np.isfinite(metric(totals)).all()
        }

    def table(self, seed: int = 0) -> pd.DataFrame:
        """metric, value, low, high, n: intervals by drawing images, with CIDEr-D's frequencies fixed."""
        rows = [
            (name, interval.value, interval.low, interval.high)
            for name, statistic in self.metrics.items()
            for interval in [bootstrap(self.terms, statistic, seed=seed)]
        ]
        if self.meteor is not None:
            rows.append((METEOR, self.meteor, np.nan, np.nan))
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
    tokenized_captions = [tokenize(caption) for caption in captions]
    tokenized_references = [[tokenize(text) for text in texts] for texts in references]
    for number, texts in enumerate(tokenized_references):
        if not texts or not all(texts):
            raise InputError(f"image {number} has no references, or one without words: give some")
    pairs = list(zip(tokenized_captions, tokenized_references, strict=True))
    terms = [
        np.stack([bleu_counts(*pair) for pair in pairs]),
        cider_d(tokenized_captions, tokenized_references)[:, None],
        np.array([[rouge_l(*pair)] for pair in pairs]),
        stemmed_meteors(tokenized_captions, tokenized_references)[:, None],
        np.ones((len(tokenized_captions), 1)),
    ]
    return CaptionScores(
        np.hstack(terms),
        java_meteor(tokenized_captions, tokenized_references)[0] if with_meteor else None,
    )


def score_rows(rows: pd.DataFrame, with_meteor: bool = False) -> CaptionScores:
    """The scores of an evaluation; examples of one image are one image of the intervals."""
    scores = score_captions(
        rows["prediction"].tolist(), list(map(list, rows[REFERENCES])), with_meteor
    )
    return CaptionScores(group_sums(scores.terms, rows["image"].to_numpy(str)), scores.meteor)


def compare_captions(scores: CaptionScores, baseline: CaptionScores, seed: int = 0) -> pd.DataFrame:
    """metric, difference (first − second), low, high, p, n: the same images, drawn together.

    Raises: InputError where the numbers of images differ.
    """
    rows = _differences(scores, baseline, scores.metrics, seed)
    if scores.meteor is not None and baseline.meteor is not None:
        rows.append((METEOR, scores.meteor - baseline.meteor, np.nan, np.nan, np.nan))
    return _table(rows, len(scores.terms), ["difference", "low", "high", "p"])


def compare_lengths(scores: CaptionScores, baseline: CaptionScores, seed: int = 0) -> pd.DataFrame:
    """One row per n from 2 on: the gain in BLEU-n (first − second) minus that in BLEU-(n − 1).

    Columns as :func:`compare_captions`; metric is `BLEU-2 − BLEU-1` and so on.
    Raises: InputError where the numbers of images differ.
    """
    steps = {f"BLEU-{n} − BLEU-{n - 1}": partial(_step, n) for n in range(2, ORDERS + 1)}
    rows = _differences(scores, baseline, steps, seed)
    return _table(rows, len(scores.terms), ["difference", "low", "high", "p"])


def _differences(
    scores: CaptionScores, baseline: CaptionScores, statistics: Mapping[str, Statistic], seed: int
) -> list[tuple]:
    if len(scores.terms) != len(baseline.terms):
        raise InputError(
            f"scores of {len(scores.terms)} and of {len(baseline.terms)} images: compare two models on "
            "the same images"
        )
    differences = {
        name: bootstrap_difference(scores.terms, baseline.terms, statistic, seed=seed)
        for name, statistic in statistics.items()
    }
    return [
        (name, difference.value, difference.low, difference.high, difference.p_value)
        for name, difference in differences.items()
    ]


def _table(
    rows: Sequence[tuple], n: int, columns: Sequence[str] = ("value", "low", "high")
) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["metric", *columns]).assign(n=n)


def _bleu(order: int, totals: Terms) -> Float[np.ndarray, " replicate"]:
    return bleu(totals[:, :COUNTS])[:, order - 1]


def _step(order: int, totals: Terms) -> Float[np.ndarray, " replicate"]:
    return _bleu(order, totals) - _bleu(order - 1, totals)


def _mean(term: int, totals: Terms) -> Float[np.ndarray, " replicate"]:
    return divide(totals[:, term], totals[:, -1])


METRICS: dict[str, Statistic] = {
    **{f"BLEU-{order}": partial(_bleu, order) for order in range(1, ORDERS + 1)},
    "CIDEr-D": partial(_mean, COUNTS),
    "ROUGE-L": partial(_mean, COUNTS + 1),
    PLAIN_METEOR: partial(_mean, COUNTS + 2),
}
