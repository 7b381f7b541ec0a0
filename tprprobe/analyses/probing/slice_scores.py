"""Scores of probes by slice, from the tested targets that a run keeps."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.analyses.probing.rows import OF_ALL
from tprprobe.analyses.slices import find_slice, read_side
from tprprobe.evaluation.controls import REAL
from tprprobe.evaluation.intervals import compare, interval_of
from tprprobe.evaluation.splits import read_provenance
from tprprobe.statistics import Row, divide, group_sums
from tprprobe.store import Store

TARGETS = "targets.parquet"  # of a run
COVERED = 0.98  # of the targets, those that a control must have been tested on


def score_slices(
    store: Store, folders: Iterable[str | Path], row: Row, slices: Iterable[str]
) -> pd.DataFrame | None:
    """How well a probe predicts the targets of slices, a row each, the first of all that were tested.

    Args:
        store: The store that was probed.
        folders: The runs of probes of which one has the probe.
        row: The probe: its row of :func:`probe`, with the ``model`` that :func:`load_probes` gives it.
        slices: A target is in a slice if the first token of its (first) span is.

    Returns:
        The share of right predictions (of seeds the mean), the control that is best there, and the difference, with 95 %
        intervals over documents; None of runs without ``targets.parquet`` (earlier ones).
    """
    right = _read_targets(folders, row)
    if right is None:
        return None
    places = right.index.get_level_values("row").to_numpy()
    documents = read_provenance(read_side(store, row["side"])).documents[places]
    flags_by_slice = {"all tokens": np.ones(len(right), bool)}
    flags_by_slice |= {where: find_slice(store, row["side"], where)[places] for where in slices}
    return pd.DataFrame(
        {"slice": name, **_compare_controls(right[flags], documents[flags])}
        for name, flags in flags_by_slice.items()
    )


def _read_targets(folders: Iterable[str | Path], row: Row) -> pd.DataFrame | None:
    """Whether the probe and its controls (in columns) are right, by the row of a target's first token and its number there."""
    paths = [Path(folder) / TARGETS for folder in folders]
    paths = [path for path in paths if f"({path.parent.name})" in row["model"]] or paths
    tables = [pd.read_parquet(path) for path in paths if path.is_file()]
    rows = pd.concat(tables) if tables else pd.DataFrame(columns=["task", "side"])
    rows = rows[(rows["task"] == row["task"]) & (rows["side"] == row["side"])]
    if rows.empty:
        return None
    is_read = (rows["site"] == row["site"]) & rows["head"].isna() | rows["control"].isin(OF_ALL)
    tested = rows[is_read].explode(["row", "right"]).astype({"row": int, "right": float})
    number = tested.groupby(["control", "seed", "row"], dropna=False).cumcount()
    right = tested.assign(number=number).pivot_table("right", ["row", "number"], "control")
    return right.dropna(axis=1, thresh=round(COVERED * right[REAL].count()))


def _compare_controls(right: pd.DataFrame, documents: np.ndarray) -> dict[str, object]:
    """A probe beside the control that is best on the same targets."""
    counts: dict[str, object] = {"targets": len(right), "documents": len(np.unique(documents))}
    if right.empty:
        return counts
    pairs = {name: np.stack([x.fillna(0), x.notna()], 1) for name, x in right.items()}
    sums = {name: group_sums(pair, documents) for name, pair in pairs.items()}
    counts |= interval_of(sums[REAL], _share).columns("accuracy")
    if len(sums) == 1:
        return counts
    best = str(right.mean().drop(REAL).idxmax())
    comparison = compare(sums[REAL], sums[best], _share)
    counts |= {"best_control": best, "best_control_accuracy": comparison.reference}
    return counts | comparison.difference.columns("beyond")


def _share(totals: np.ndarray) -> np.ndarray:
    return divide(totals[:, 0], totals[:, 1])
