"""Words that are retrieved by the unbinding vector of another step, by how many steps it is away.

The rows are those of the unbinding swap (``tprprobe intervene`` with ``swaps = ["unbinding"]``).
"""

from typing import Any

import numpy as np
import pandas as pd

from tprprobe.statistics import Interval, bootstrap_mean

ROWS = "unbindings.parquet"
EXCHANGES = ("nothing", "unbinding", "tpr", "both")
ALL_STEPS = "all"
NEAR = 3  # steps; pairs further apart are one row


def summarize_unbindings(rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per exchange and steps to the other position (as ``summarize_steps`` has them, and all): shares
    of own, other and neither word, with 95 % intervals over captions.
    """
    records = []
    rows = rows.assign(neither=~(rows["own"] | rows["other"]))
    by_steps = rows.assign(steps=summarize_steps(rows["steps"]))
    by_all_steps = pd.concat([rows.assign(steps=ALL_STEPS), by_steps], ignore_index=True)
    groups: Any = by_all_steps.groupby(["exchanged", "steps"], sort=False)
    for (name, steps), group in groups:
        row: dict[str, Any] = {"exchanged": name, "steps": steps, "words": len(group)}
        row["captions"] = group["caption"].nunique()
        for column in ("own", "other", "neither"):
            is_taken, captions = group[column].to_numpy(bool), group["caption"].to_numpy()
            row |= bootstrap_mean(is_taken, captions, seed=seed).columns(column)
        records.append(row)
    order = [ALL_STEPS, *dict.fromkeys(summarize_steps(pd.Series(range(-NEAR - 1, NEAR + 2))))]
    summary = pd.DataFrame(records)
    keys = summary["exchanged"].map(EXCHANGES.index) * 100 + summary["steps"].map(order.index)
    return summary.loc[keys.sort_values(kind="stable").index].reset_index(drop=True)


def summarize_steps(steps: pd.Series) -> pd.Series:
    """`-2` (written two steps before) to `+3` (to come in three); further ones are `before`, `to come`."""
    signed = steps.map("{:+d}".format).str.replace("-", "−")
    near = signed.where(steps.abs() <= NEAR, "further to come")
    return near.mask(steps < -NEAR, "further before")


def compare_steps(rows: pd.DataFrame, seed: int = 0) -> dict[str, Interval]:
    """How often u of another step gets that step's word from the current Ŝ, with intervals over captions:
    of words to come, minus how often the step's own word stays, and minus the same of words written
    before. Source: huang §2 (S_t).

    The second alone is above 0 for any trace of a plan, also where u_t hardly decides the word.
    """
    exchanged = rows.loc[rows["exchanged"] == "unbinding"]
    takes_other, keeps_own = (exchanged[column].to_numpy(float) for column in ("other", "own"))
    ahead = exchanged["steps"].to_numpy() > 0  # either is half of every pair
    captions = exchanged["caption"].to_numpy()
    to_come = (takes_other - keeps_own)[ahead], captions[ahead]
    return {
        "minus its own word": bootstrap_mean(*to_come, seed=seed, lowest=-1),
        "minus words before": bootstrap_mean(
            np.where(ahead, 2.0, -2.0) * takes_other, captions, seed=seed
        ),
    }
