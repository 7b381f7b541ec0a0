"""Summaries that cost nothing: a sentence of the document. Every model should be better."""

import re

import numpy as np
import pandas as pd

from tprprobe.errors import unknown

END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")
BASELINES = ("lead-1", "random-sentence")


def sentences(text: str) -> list[str]:
    """The sentences of a text: they end in a full stop (or ! ?) before a space and no small letter,
    or in a line break."""
    parts = (part.strip() for line in text.splitlines() for part in END.split(line))
    return [part for part in parts if part]


def baseline_rows(rows: pd.DataFrame, name: str, seed: int = 0) -> pd.DataFrame:
    """The rows (with source) with the prediction of a baseline: the first sentence, or any.

    Raises: InputError for an unknown baseline.
    """
    if name not in BASELINES:
        raise unknown("baseline", name, BASELINES)
    rng = np.random.default_rng(seed)
    found = [sentences(source) or [""] for source in rows["source"]]
    places = (
        rng.integers([len(parts) for parts in found]) if name == BASELINES[1] else [0] * len(rows)
    )
    chosen = [parts[place] for parts, place in zip(found, places, strict=True)]
    return rows.assign(prediction=chosen)
