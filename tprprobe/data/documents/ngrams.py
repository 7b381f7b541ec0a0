"""n-grams: counted, repeated in a text, and new with respect to its source."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

WORD = re.compile(r"\w+(?:'\w+)?")

Words = Sequence[str]
Ngram = tuple[str, ...]


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return WORD.findall(text.lower())


def ngrams(words: Words, n: int) -> list[Ngram]:
    """All n-grams of a text, in order."""
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def count_ngrams(words: Words, longest: int) -> Counter[Ngram]:
    """The count of each n-gram, of one word up to ``longest`` words."""
    return Counter(chain.from_iterable(ngrams(words, n) for n in range(1, longest + 1)))


def repetition(text: str, n: int = 3) -> float:
    """The share of n-grams that the text had before; NaN for a text of fewer than n words."""
    found = ngrams(words(text), n)
    return 1 - len(set(found)) / len(found) if found else math.nan


def novelty(source: str, text: str, n: int) -> float:
    """The share of different n-grams that are not in the source; NaN for a text of fewer than n
    words.

    Source: Narayan et al. 2018 §2, novel n-grams.
    """
    found = set(ngrams(words(text), n))
    return len(found - set(ngrams(words(source), n))) / len(found) if found else math.nan
