"""BLEU: the share of a caption's n-grams that its references have.

Source: github.com/tylin/coco-caption, bleu_scorer.py; the small numbers, against divisions by zero,
are theirs.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int64

from tprpapers.scoring.ngrams import Ngram, Words, count_ngrams

ORDERS = 4  # of n-grams
TINY, SMALL = 1e-15, 1e-9


def bleu_counts(caption: Words, references: Sequence[Words]) -> Int64[np.ndarray, " count"]:
    """Shared n-grams by n, all n-grams by n, the caption's length and that of the closest reference.

    An n-gram is shared as often as the reference that has it most often has it.
    """
    reference_counts: Counter[Ngram] = Counter()
    for reference in references:
        reference_counts |= count_ngrams(reference, ORDERS)
    shared = [0] * ORDERS
    for ngram, times in (count_ngrams(caption, ORDERS) & reference_counts).items():
        shared[len(ngram) - 1] += times
    guesses = [max(0, len(caption) - n) for n in range(ORDERS)]
    closest = min(map(len, references), key=lambda length: (abs(length - len(caption)), length))
    return np.array([*shared, *guesses, len(caption), closest])


def bleu(counts: Float[np.ndarray, "replicate count"]) -> Float[np.ndarray, "replicate order"]:
    """BLEU-1 to -4 of summed counts: geometric means of precisions, less where captions are short."""
    shared, guesses = counts[:, :ORDERS], counts[:, ORDERS : 2 * ORDERS]
    precisions = (shared + TINY) / (guesses + SMALL)
    means = np.exp(np.log(precisions).cumsum(1) / np.arange(1, ORDERS + 1))
    ratio = (counts[:, -2] + TINY) / (counts[:, -1] + SMALL)
    return means * np.exp(np.minimum(0, 1 - 1 / ratio))[:, None]
