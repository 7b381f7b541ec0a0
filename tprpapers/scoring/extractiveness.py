"""Extractiveness of a corpus's summaries: coverage, density, compression and novel n-grams.

Source: Grusky et al. 2018 (Newsroom) §4, Figure 3; novel n-grams: Narayan et al. 2018 §2.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

import numpy as np
import pandas as pd

from tprprobe.data.dataset import Dataset

NOVEL = (1, 2, 3, 4)
WORD = re.compile(r"\w+(?:'\w+)?")


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return WORD.findall(text.lower())


def ngrams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[i:] for i in range(n)), strict=False))


def novelty(source: str, text: str, n: int) -> float:
    """The share of different n-grams that are not in the source; NaN for a text of fewer than n words."""
    text_ngrams = set(ngrams(words(text), n))
    return (
        len(text_ngrams - set(ngrams(words(source), n))) / len(text_ngrams)
        if text_ngrams
        else math.nan
    )


def find_fragments(document: Sequence[str], summary: Sequence[str]) -> list[int]:
    """The lengths of the fragments of the document of which the summary consists, in its order.

    Each is the longest run of the document's words that the summary's next words are.
    """
    places = defaultdict(list)
    for place, word in enumerate(document):
        places[word].append(place)
    lengths, position = [], 0
    while position < len(summary):
        longest = max(
            (_run(document, place, summary, position) for place in places[summary[position]]),
            default=0,
        )
        lengths += [longest] if longest else []
        position += max(longest, 1)
    return lengths


def _run(document: Sequence[str], place: int, summary: Sequence[str], position: int) -> int:
    limit = min(len(document) - place, len(summary) - position)
    return next((i for i in range(limit) if document[place + i] != summary[position + i]), limit)


def measure_pair(source: str, target: str) -> dict[str, float]:
    """Coverage Σ|f| / |S|, density Σ|f|² / |S|, compression |D| / |S|, and the shares of novel n-grams."""
    document, summary = words(source), words(target)
    fragments = np.array(find_fragments(document, summary), float)
    n = len(summary) or np.nan
    return {
        "document words": len(document),
        "summary words": len(summary),
        "coverage": fragments.sum() / n,
        "density": (fragments**2).sum() / n,
        "compression": len(document) / n,
        **{f"novel {size}-grams": novelty(source, target, size) for size in NOVEL},
    }


def describe_corpus(data: Dataset) -> pd.DataFrame | None:
    """One row per measure of :func:`measure_pair` over all examples: mean, low, high (5 % and 95 % of
    the examples are outside), n. None where the examples are no documents with summaries.
    """
    example = data[0]
    if example.has_one_answer or not example.source or example.target == example.source:
        return None
    pairs = chain.from_iterable(zip(*block, strict=True) for block in data.blocks())
    rows = pd.DataFrame([measure_pair(source, target) for source, target in pairs])
    return pd.DataFrame(
        {
            "measure": list(rows),
            "mean": rows.mean().to_numpy(),
            "low": rows.quantile(0.05).to_numpy(),
            "high": rows.quantile(0.95).to_numpy(),
            "n": rows.count().to_numpy(),
        }
    )
