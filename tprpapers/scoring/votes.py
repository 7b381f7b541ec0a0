"""Votes on blind sheets: which of two models people prefer, counted, with sign tests."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprpapers.scoring.sheets import QUESTIONS, read_answers, read_sheet
from tprprobe.errors import InputError
from tprprobe.statistics import sign_test, wilson

VOTES = {"a": 1.0, "b": -1.0, "tie": 0.0, "=": 0.0}


def count_votes(paths: Sequence[str | Path]) -> pd.DataFrame:
    """Votes for the first and the second model of the sheets, one row per criterion.

    Columns: criterion, first, second (the models), n (documents judged), wins, losses, ties (of the
    first), share, low, high (of documents that are no tie, with Wilson's interval), p (sign test).
    Several sheets are those of several people on the same documents: the majority of a document
    counts, for the votes of a document are not independent.
    Raises: InputError for a vote that is not A, B, tie or empty, or sheets of different documents.
    """
    sheets = [read_sheet(path) for path in paths]
    keys = [{**key, "seed": 0, "swapped": 0} for _, key in sheets]
    if any(key != keys[0] for key in keys):
        raise InputError(
            f"{paths[0]} and the other sheets are not of the same models and documents"
        )
    model_a, model_b = keys[0]["models"]
    rows = []
    for criterion in QUESTIONS["votes"]:
        signs = [
            _signs(sheet, key["swapped"], criterion, path)
            for path, (sheet, key) in zip(paths, sheets, strict=True)
        ]
        rows.append({"criterion": criterion, "first": model_a, "second": model_b} | _count(signs))
    return pd.DataFrame(rows)


def _signs(
    sheet: pd.DataFrame, swapped: Sequence[bool], criterion: str, path: str | Path
) -> Float[np.ndarray, " document"]:
    """1 for the first model, −1 for the second, 0 for a tie, NaN where nobody voted."""
    return read_answers(sheet, criterion, VOTES, path) * np.where(swapped, -1, 1)


def _count(signs: Sequence[Float[np.ndarray, " document"]]) -> dict[str, float]:
    votes = np.stack(signs)
    majority = np.sign(np.nansum(votes, axis=0))[~np.isnan(votes).all(axis=0)]
    wins, losses = int((majority > 0).sum()), int((majority < 0).sum())
    decided = wins + losses
    share = wilson(wins, decided)
    return {
        "n": len(majority),
        "wins": wins,
        "losses": losses,
        "ties": len(majority) - decided,
        "share": share.value,
        "low": share.low,
        "high": share.high,
        "p": sign_test(wins, losses),
    }
