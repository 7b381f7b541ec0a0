"""What states are made of: stacked shares of their variance, site by site, of a model beside its baseline."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition import binds
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Shares
from tprprobe.site.patterns import layer_of
from tprprobe.store.layout import SAMPLE, TWINS

PLACE = "left"  # the roles that are places
STEPS = {  # the name of a part, the row of its step, and its column
    "tokens": ("bag", "share"),
    "places": ("additive", "share"),
    "bindings of tokens to places": ("factored", "share"),
    "tokens × length": ("additive", "share_by_length"),
}
UNITS = {"mean": "the mean of its tokens’ vectors", "last": "the vector of its last token"}
REMAINDER, BASELINE = "rest", "baseline model"
STATES = {
    "mean": "texts’ mean states",
    "last": "the states at texts’ last tokens",
    SAMPLE: "its states",
}
WIDE, MOST = 0.3, 0.75  # interval of a share that is settled, where 0 lies in it and elsewhere
NOTE = (
    "Thin lines: 95\u00a0% intervals, from where their part begins, cut at 100\u00a0%. "
    f"In the rest: estimates below 0, bindings of input embeddings, and shares whose interval is wider than {100 * MOST:.0f} points, or {100 * WIDE:.0f} if 0 lies in it. "
    "Tokens × length: what a token adds in longer texts but not in shorter ones."
)


def share_bars(examined_states: pd.DataFrame, model: str = "") -> Shares:
    """The scene of the table of :func:`score_shares`, of roles that are places; without a ``model`` the folder's name stands above."""
    is_model = examined_states["control"].isin(["", *TWINS])
    rows = examined_states[(examined_states["roles"] == PLACE) & is_model]
    is_shared = rows.groupby("site")["share"].transform(lambda share: share.notna().any())
    rows = rows[is_shared] if is_shared.any() else rows  # of one state no variance is left to share
    model = model or str(rows.get("name", pd.Series("model")).iloc[0])
    rows = keep_settled(rows)
    step_rows = [
        {
            "panel": BASELINE if control else model,
            "name": site_label(str(site)),
            "layer": layer_of(str(site)),
        }
        | part
        for (control, site), steps in rows.groupby(["control", "site"], sort=False)
        for part in _list_parts(steps)
    ]
    note = "\n".join(filter(None, [examined_states.attrs.get("origin"), NOTE]))
    bars = pd.DataFrame(step_rows).astype({"layer": "Int64"})
    return Shares(bars, "share of the variance of states", note=note)


def keep_settled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without shares whose interval is too wide, of states whose tokens' share is, without any, and without bindings of
    input embeddings, which combine nothing.
    """
    rows = rows.copy()
    is_embedding = rows["site"].str.endswith("embedding") & (rows["family"] == "factored")
    rows.loc[is_embedding, ["share", "share_low", "share_high"]] = np.nan
    for name in rows.columns.intersection(["share", "share_by_length"]):
        columns = [name, f"{name}_low", f"{name}_high"]
        low, high = rows[columns[1]], rows[columns[2]]
        rows.loc[high - low > np.where(low <= 0, WIDE, MOST), columns] = np.nan
    is_lost = (rows["family"] == "bag") & rows["share"].isna()
    states = pd.MultiIndex.from_frame(rows[["control", "site"]])
    rows.loc[states.isin(states[is_lost]), "share"] = np.nan
    return rows


def _list_parts(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The shares of a bar with their intervals, sure where these lie above 0, and of bindings where the rule says that the state
    binds; the rest is what the others leave.
    """
    if np.isnan(rows.loc[rows["family"] == "bag", "share"].iloc[0]):
        yield from ({"part": part, "value": np.nan, "sure": False} for part in [*STEPS, REMAINDER])
        return
    remainder = 1.0
    for part, (family, column) in STEPS.items():
        row = rows[rows["family"] == family].iloc[0]
        value, low, high = row[[column, f"{column}_low", f"{column}_high"]].astype(float)
        is_sure = binds(row) if family == "factored" else low > 0
        ends = {"low": low, "high": min(high, remainder)}
        yield {"part": part, "value": value, "sure": is_sure} | ends
        remainder -= np.fmax(0.0, value)
    yield {"part": REMAINDER, "value": max(0.0, remainder), "sure": False}
