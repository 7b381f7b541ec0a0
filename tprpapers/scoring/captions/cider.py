"""CIDEr-D: the agreement of a caption's n-grams with its references', rare ones weighing more.

Source: github.com/tylin/coco-caption, cider_scorer.py (Vedantam et al. 2015, with clipping and a
penalty for lengths that differ). Document frequencies are those of the references given, so scores
of different sets of images do not compare.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tprpapers.scoring.captions.bleu import ORDERS
from tprpapers.scoring.ngrams import Ngram, Words, count_ngrams

SIGMA = 6.0  # words
SCALE = 10.0

Weights = list[dict[Ngram, float]]  # of the n-grams of a text, by n


@dataclass(frozen=True)
class TfIdf:
    """A text's n-grams, weighed; their norm by n; how many pairs of words it has."""

    weights: Weights
    norms: list[float]
    length: int


def cider_d(
    captions: Sequence[Words], references: Sequence[Sequence[Words]]
) -> Float[np.ndarray, " image"]:
    """The CIDEr-D of every caption; its mean is the corpus's."""
    reference_counts = [[count_ngrams(words, ORDERS) for words in texts] for texts in references]
    documents = Counter(ngram for texts in reference_counts for ngram in set().union(*texts))
    everything = math.log(len(references))
    rarity = {ngram: everything - math.log(times) for ngram, times in documents.items()}

    def weigh(counts: Counter[Ngram]) -> TfIdf:
        weights: Weights = [{} for _ in range(ORDERS)]
        for ngram, times in counts.items():
            weights[len(ngram) - 1][ngram] = times * rarity.get(ngram, everything)
        norms = [math.sqrt(sum(w * w for w in order.values())) for order in weights]
        return TfIdf(weights, norms, sum(t for ngram, t in counts.items() if len(ngram) == 2))

    return np.array(
        [
            _score(weigh(count_ngrams(words, ORDERS)), [weigh(counts) for counts in texts])
            for words, texts in zip(captions, reference_counts, strict=True)
        ]
    )


def _score(caption: TfIdf, references: Sequence[TfIdf]) -> float:
    return (
        SCALE * sum(_similarity(caption, reference) for reference in references) / len(references)
    )


def _similarity(caption: TfIdf, reference: TfIdf) -> float:
    """The mean over n of clipped cosines, less where the lengths differ."""
    cosines = 0.0
    for weights, reference_weights, norm, length in zip(
        caption.weights, reference.weights, caption.norms, reference.norms, strict=True
    ):
        shared = sum(
            min(w, reference_weights[g]) * reference_weights[g]
            for g, w in weights.items()
            if g in reference_weights
        )
        cosines += shared / (norm * length) if norm and length else 0.0
    excess = caption.length - reference.length
    return cosines / ORDERS * math.exp(-(excess**2) / (2 * SIGMA**2))
