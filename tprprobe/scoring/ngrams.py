"""How a summary uses words: what it repeats, and what its source does not have."""

import math
import re

WORD = re.compile(r"\w+(?:'\w+)?")


def words(text: str) -> list[str]:
    """The words of a text in small letters, without punctuation."""
    return WORD.findall(text.lower())


def ngrams(text: str, n: int) -> list[tuple[str, ...]]:
    """All n words in a row, in their order."""
    found = words(text)
    return list(zip(*(found[i:] for i in range(n)), strict=False))


def repetition(text: str, n: int = 3) -> float:
    """The share of n-grams that stood in the text before; NaN for a text of fewer than n words."""
    found = ngrams(text, n)
    return 1 - len(set(found)) / len(found) if found else math.nan


def novelty(source: str, text: str, n: int) -> float:
    """The share of different n-grams that are not in the source; NaN as above.

    Source: Narayan et al. 2018 §2, novel n-grams.
    """
    found = set(ngrams(text, n))
    return len(found - set(ngrams(source, n))) / len(found) if found else math.nan
