"""Scores of summaries: one row per document, their means with intervals, and two models compared."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from jaxtyping import Shaped
from pandas.api.types import infer_dtype

from tprpapers.scoring.extractiveness import novelty, words
from tprpapers.scoring.meteor import stemmed_meteor
from tprpapers.scoring.ngrams import repetition
from tprpapers.scoring.rouge import rouge
from tprpapers.worlds.english import is_faithful, is_grammatical
from tprprobe.errors import InputError
from tprprobe.statistics import Interval, bootstrap_ratio, sign_test, wilson

NOVEL = (1, 2, 3, 4)


def score_summary(source: str, reference: str, prediction: str) -> dict[str, float | bool]:
    """Every score of one summary; NaN where it is too short to have one."""
    return {
        **rouge(reference, prediction),
        "meteor": stemmed_meteor(words(reference), words(prediction)),
        "exact_match": prediction.split() == reference.split(),
        "words": float(len(words(prediction))),
        "repetition": repetition(prediction),
        **{f"novel{n}": novelty(source, prediction, n) for n in NOVEL},
    }


def judge_summary(source: str, prediction: str) -> dict[str, bool]:
    """Two judgments of a summary in the generated English: whether it is grammatical, and whether
    it is true of its document.
    """
    return {
        "grammatical": is_grammatical(prediction),
        "faithful": is_faithful(source, prediction),
    }


def score_summaries(rows: pd.DataFrame, english: bool = False) -> pd.DataFrame:
    """The scores of rows with source, target and prediction, in their order."""
    texts: Iterable = zip(rows["source"], rows["target"], rows["prediction"], strict=True)
    records = [
        score_summary(*texts_of_row)
        | (judge_summary(texts_of_row[0], texts_of_row[2]) if english else {})
        for texts_of_row in texts
    ]
    return pd.DataFrame(records, index=rows.index)


def mean_scores(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean, 95 % interval and n of every score: one row per score: value, low, high, n.

    Intervals draw documents (bootstrap); those of shares of documents are Wilson's.
    """
    rows = {name: _mean(scores[name].to_numpy()) for name in scores}
    return pd.DataFrame(rows).T.astype({"n": int})


def _mean(values: Shaped[np.ndarray, " document"]) -> dict[str, float]:
    values = values[~pd.isna(values)]
    share = _is_share(values)
    interval = wilson(int(values.sum()), len(values)) if share else _interval(values)
    return {"value": interval.value, "low": interval.low, "high": interval.high, "n": len(values)}


def _is_share(values: Shaped[np.ndarray, " document"]) -> bool:
    """True for a score that is true or false of a document; other corpora may lack it (NaN)."""
    return infer_dtype(values, skipna=True) == "boolean"


def _interval(values: np.ndarray) -> Interval:
    if not len(values):  # no document is long enough for the score
        return Interval(np.nan, np.nan, np.nan)
    return bootstrap_ratio(values.astype(float), np.ones(len(values)))


def compare_scores(scores: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """first − second of every score, paired by document: one row per score: value, low, high, p, n.

    Intervals draw documents, which are those that have the score in both. p is the bootstrap's; of
    shares of documents it is McNemar's exact test.
    Raises: InputError if the two are not of the same documents.
    """
    if not scores.index.equals(baseline.index):
        raise InputError("two models are compared on the same documents; evaluate both on the same")
    shared = [name for name in scores if name in baseline]
    rows = {name: _compare(scores[name].to_numpy(), baseline[name].to_numpy()) for name in shared}
    return pd.DataFrame(rows).T.astype({"n": int})


def _compare(
    scores: Shaped[np.ndarray, " document"], baseline: Shaped[np.ndarray, " document"]
) -> dict[str, float]:
    difference = scores.astype(float) - baseline.astype(float)
    difference = difference[~np.isnan(difference)]
    interval = _interval(difference)
    p = sign_test(int((difference > 0).sum()), int((difference < 0).sum()))
    return {
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "p": p if _is_share(scores) else interval.p_value,
        "n": len(difference),
    }
