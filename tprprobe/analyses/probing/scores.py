"""Scores from counts by document: F1 and accuracy with intervals, and paired differences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from tprprobe.analyses.probing.settings import BASELINES
from tprprobe.analyses.probing.tallies import ALL, TERMS
from tprprobe.statistics import adjust, bootstrap_difference, bounds, divide, f1, replicate_totals

REPLICATES = 1000
COLUMNS = (
    "task", "first", "second", "control", "difference", "low", "high", "p", "documents", "second_f1"
)  # fmt: skip
LEVEL = 0.05  # of the corrected test by which a score is beyond a control
KEYS = ("task", "side", "site", "head", "control")
OF_ALL = ("previous", *BASELINES)  # controls that every vector is compared with
N, RIGHT = TERMS.index("n"), TERMS.index("right")

Sums = Float[np.ndarray, "document term"]


@dataclass(frozen=True, eq=False)
class Score:
    """The counts [subset, document, term] of a row; ``place`` are the columns that name the row."""

    place: Mapping[str, Any]
    sums: Float[np.ndarray, "subset document term"]
    subsets: tuple[str, ...]

    @property
    def whole(self) -> Sums:
        """The sums over all targets."""
        return self.sums[self.subsets.index(ALL)]


def f1_of(totals: Float[np.ndarray, "replicate term"]) -> Float[np.ndarray, " replicate"]:
    """Micro-F1 of totals of TERMS."""
    return f1(totals[:, :3])


def describe(score: Score) -> dict[str, Any]:
    """The row of a score: F1 and accuracy with 95 % intervals over documents, and of subsets F1."""
    sums = score.whole[score.whole[:, N] > 0]
    totals = np.concatenate([sums.sum(0, keepdims=True), replicate_totals(sums, REPLICATES)])
    measured = np.stack([f1_of(totals), divide(totals[:, RIGHT], totals[:, N])], axis=1)
    low, high = bounds(measured[1:], len(sums))
    hit, false, missed = totals[0, :3]
    row = dict(score.place)
    for column, name in enumerate(("f1", "accuracy")):
        row |= {name: measured[0, column], f"{name}_low": low[column], f"{name}_high": high[column]}
    row["precision"] = hit / (hit + false) if hit + false else np.nan
    row["recall"] = hit / (hit + missed) if hit + missed else np.nan
    row["n_test"] = int(totals[0, N])
    for subset, part in zip(score.subsets, score.sums, strict=True):
        if subset != ALL:
            row[f"f1_{subset}"] = f1_of(part.sum(0, keepdims=True))[0]
    return row


def differences(scores: Sequence[Score]) -> pd.DataFrame:
    """F1 of one minus F1 of another on the same documents, with p corrected over the table (Holm).

    ``low`` to ``high`` is the 95 % bootstrap interval over documents; ``p`` is that of the t test of
    difference / standard error, which has the resolution that a correction needs. Seeds are added up. Pairs: the vectors of a sub-layer with each other, every vector with its
    controls and with the baselines; with the untrained twin where both learned from the same samples.
    """
    added = _add_seeds(scores)
    rows = [_compare(*pair) for pair in _pairs(added)]
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    table["p_holm"] = adjust(table["p"].to_numpy(), "holm") if len(table) else []
    return table


def _compare(first: Score, second: Score) -> dict[str, Any]:
    shared = (first.whole[:, N] > 0) & (second.whole[:, N] > 0)
    names = {
        "task": first.place["task"],
        "first": label(first.place),
        "second": label(second.place),
        "control": second.place["control"],
    }
    found = compare_sums(first.whole[shared], second.whole[shared])
    return names | found | {"second_f1": f1_of(second.whole[shared].sum(0, keepdims=True))[0]}


def best_controls(rows: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """For every row of real labels the control of the highest F1, that F1, and whether it is beyond.

    Columns ``best_control``, ``best_control_f1`` and ``beyond``: the paired difference from each is above 0 by
    the corrected test. What a decoder's word to come is labelled most often (``identity``) is no control of
    it: no state has read that word.
    """
    found = pd.DataFrame(
        {"best_control": None, "best_control_f1": np.nan, "beyond": None}, rows.index, dtype=object
    )
    rivals = compared[compared["control"] != "real"]
    real: Any = rows[rows["control"] == "real"]
    for at, row in zip(real.index, real.to_dict("records"), strict=True):
        mine = rivals[(rivals["task"] == row["task"]) & (rivals["first"] == label(row))]
        if row["side"] == "target":
            mine = mine[mine["control"] != "identity"]
        if len(mine):
            best = mine.loc[mine["second_f1"].idxmax()]
            beyond = bool(((mine["difference"] > 0) & (mine["p_holm"] < LEVEL)).all())
            found.loc[at] = [best["control"], best["second_f1"], beyond]
    return found.astype({"best_control_f1": float})


def compare_sums(first: Sums, second: Sums) -> dict[str, Any]:
    """The difference of two F1 on the same documents, its 95 % interval, and p."""
    found = bootstrap_difference(first, second, f1_of, replicates=REPLICATES)
    p = _p_value(found.value, float(np.nanstd(found.replicates)), len(first))
    values = (found.value, found.low, found.high, p, len(first))
    return dict(zip(("difference", "low", "high", "p", "documents"), values, strict=True))


def _p_value(difference: float, error: float, n: int) -> float:
    """Two-sided p of a difference with a bootstrap standard error over n documents."""
    if n < 2 or not np.isfinite(difference):
        return 1.0
    if error == 0:
        return float(difference == 0)
    return float(2 * stats.t.sf(abs(difference) / error, n - 1))


def label(place: Mapping[str, Any]) -> str:
    """The name of a row in a comparison: site, head and control."""
    head = "" if pd.isna(place["head"]) else f" head {place['head']}"
    control = "" if place["control"] == "real" else f" ({place['control']})"
    return f"{place['site']}{head}{control}".strip()


def _add_seeds(scores: Sequence[Score]) -> list[Score]:
    groups: dict[tuple[Any, ...], list[Score]] = {}
    for score in scores:
        key = tuple(value for name, value in score.place.items() if name in KEYS)
        groups.setdefault(key, []).append(score)
    return [
        Score(some[0].place, np.sum([score.sums for score in some], axis=0), some[0].subsets)
        for some in groups.values()
    ]


def _pairs(scores: Sequence[Score]) -> Iterator[tuple[Score, Score]]:
    real = [score for score in scores if score.place["control"] == "real"]
    for i, first in enumerate(real):
        for second in real[i + 1 :]:
            if _of(first, "task", "side", "head") == _of(second, "task", "side", "head") and (
                _stem(first) == _stem(second)
            ):
                yield first, second
        for second in scores:
            same = _of(first, "task", "side") == _of(second, "task", "side")
            control = second.place["control"]
            of_it = _of(first, "site", "head") == _of(second, "site", "head")
            of_it &= control != "untrained" or first.place.get("n_train") == second.place.get(
                "n_train"
            )
            if same and control != "real" and (of_it or control in OF_ALL):
                yield first, second


def _of(score: Score, *names: str) -> tuple[Any, ...]:
    return tuple(score.place[name] for name in names)


def _stem(score: Score) -> str:
    return str(score.place["site"]).rpartition(".")[0]
