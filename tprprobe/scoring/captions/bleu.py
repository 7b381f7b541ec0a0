"""How much of a caption its references have: n-grams (BLEU) and words in order (ROUGE-L).

Source: github.com/tylin/coco-caption, bleu_scorer.py and rouge.py; BLEU's small numbers, against
divisions by zero, are theirs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int64

ORDERS = 4  # of n-grams
TINY, SMALL = 1e-15, 1e-9
BETA = 1.2  # what ROUGE-L weighs recall with

Words = Sequence[str]


def ngrams(words: Words) -> Counter[tuple[str, ...]]:
    """How often each n-gram of one to four words occurs."""
    return Counter(
        tuple(words[start : start + n])
        for n in range(1, ORDERS + 1)
        for start in range(len(words) - n + 1)
    )


def bleu_counts(caption: Words, references: Sequence[Words]) -> Int64[np.ndarray, " count"]:
    """Shared n-grams by n, all n-grams by n, the caption's length and that of the closest reference.

    An n-gram is shared as often as the reference that has it most often has it.
    """
    most: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        most |= ngrams(reference)
    shared = [0] * ORDERS
    for ngram, times in (ngrams(caption) & most).items():
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


def rouge_l(caption: Words, references: Sequence[Words]) -> float:
    """(1 + β²) P R / (R + β² P), where P and R are the largest over the references, each for itself."""
    common = [longest_common(caption, reference) for reference in references]
    if not any(common):
        return 0.0
    precision = max(common) / len(caption)
    recall = max(n / len(r) for n, r in zip(common, references, strict=True) if r)
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def longest_common(first: Words, second: Words) -> int:
    """The length of the longest sequence of words that both have in this order."""
    row = [0] * (len(second) + 1)
    for word in first:
        row = list(_next(row, word, second))
    return row[-1]


def _next(row: list[int], word: str, second: Words) -> Iterator[int]:
    left = 0
    yield left
    for column, other in enumerate(second):
        left = row[column] + 1 if word == other else max(left, row[column + 1])
        yield left
