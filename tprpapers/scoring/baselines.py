"""Baselines that cost nothing and that every model should beat: a sentence of the document as its summary."""

import re

import numpy as np
import pandas as pd

from tprprobe.errors import unknown

END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")
BASELINES = ("lead-1", "random-sentence")


def sentences(text: str) -> list[str]:
    """The sentences of a text: they end in a full stop (or ! ?) before a space and no small letter,
    or in a line break."""
    sentences_of = (sentence.strip() for line in text.splitlines() for sentence in END.split(line))
    return [sentence for sentence in sentences_of if sentence]


def baseline_rows(rows: pd.DataFrame, name: str, seed: int = 0) -> pd.DataFrame:
    """The rows (with source) with the prediction of a baseline: the first sentence, or any.

    Raises: InputError for an unknown baseline.
    """
    if name not in BASELINES:
        raise unknown("baseline", name, BASELINES)
    rng = np.random.default_rng(seed)
    sentences_by_row = [sentences(source) or [""] for source in rows["source"]]
    places = (
        rng.integers([len(texts) for texts in sentences_by_row])
        if name == BASELINES[1]
        else [0] * len(rows)
    )
    predictions = [texts[place] for texts, place in zip(sentences_by_row, places, strict=True)]
    return rows.assign(prediction=predictions)
