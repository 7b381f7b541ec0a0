"""n words in a row: counted, repeated in a text, and not in its source."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

WORD = re.compile(r"\w+(?:'\w+)?")

Words = Sequence[str]
Ngram = tuple[str, ...]


def words(text: str) -> list[str]:
    """The words of a text in small letters, without punctuation."""
    return WORD.findall(text.lower())


def ngrams(words: Words, n: int) -> list[Ngram]:
    """All n words in a row, in their order."""
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def count_ngrams(words: Words, longest: int) -> Counter[Ngram]:
    """How often each n-gram occurs, of one word, two words … ``longest`` words."""
    return Counter(chain.from_iterable(ngrams(words, n) for n in range(1, longest + 1)))


def repetition(text: str, n: int = 3) -> float:
    """The share of n-grams that stood in the text before; NaN for a text of fewer than n words."""
    found = ngrams(words(text), n)
    return 1 - len(set(found)) / len(found) if found else math.nan


def novelty(source: str, text: str, n: int) -> float:
    """The share of different n-grams that are not in the source; NaN as above.

    Source: Narayan et al. 2018 §2, novel n-grams.
    """
    found = set(ngrams(words(text), n))
    return len(found - set(ngrams(words(source), n))) / len(found) if found else math.nan
