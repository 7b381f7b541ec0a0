"""n-grams of words: counted, and repeated in a text."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from tprpapers.scoring.extractiveness import ngrams, words

Words = Sequence[str]
Ngram = tuple[str, ...]


def count_ngrams(words: Words, longest: int) -> Counter[Ngram]:
    """The count of each n-gram, of one word up to ``longest`` words."""
    return Counter(chain.from_iterable(ngrams(words, n) for n in range(1, longest + 1)))


def repetition(text: str, n: int = 3) -> float:
    """The share of n-grams that the text had before; NaN for a text of fewer than n words."""
    text_ngrams = ngrams(words(text), n)
    return 1 - len(set(text_ngrams)) / len(text_ngrams) if text_ngrams else math.nan
