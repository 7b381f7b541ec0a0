"""What states are made of: stacked shares of their variance, site by site, of a model beside its baseline."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from tprprobe.analyses.decomposition import binds
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Shares
from tprprobe.store.layout import TWINS

PLACE = "left"  # the roles that are places
STEPS = {  # the name of a part, the row of its step, and its column
    "tokens": ("bag", "share"),
    "places": ("additive", "share"),
    "tokens × length": ("additive", "share_by_length"),
    "bindings of tokens to places": ("factored", "share"),
}
REMAINDER, BASELINE = "rest", "baseline model"


def share_bars(shares: pd.DataFrame, sites: Sequence[str], model: str) -> Shares:
    """The scene of the table of :func:`score_shares`, of roles that are places."""
    rows = shares[(shares["roles"] == PLACE) & shares["control"].isin(["", *TWINS])]
    is_shared = rows.groupby("site")["share"].transform(lambda share: share.notna().any())
    rows = rows[is_shared] if is_shared.any() else rows  # of one state no variance is left to share
    sites = [site for site in sites if site in {*rows["site"]}]
    step_rows = [
        {"panel": BASELINE if control else model, "name": site_label(site)} | part
        for control in rows["control"].unique()
        for site in sites
        for part in _list_parts(rows[(rows["control"] == control) & (rows["site"] == site)])
    ]  # fmt: skip
    return Shares(pd.DataFrame(step_rows), "share of the variance of states")


def _list_parts(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The shares of a bar with their intervals, sure where these lie above 0, and of bindings where the rule says that the state
    binds; the rest is what the others leave.
    """
    rest = 1.0
    for part, (family, column) in STEPS.items():
        row = rows[rows["family"] == family].iloc[0]
        value, low, high = row[[column, f"{column}_low", f"{column}_high"]].fillna(0).astype(float)
        rest -= max(0.0, value)
        is_sure = binds(row) if family == "factored" else low > 0
        yield {"part": part, "value": value, "low": low, "high": high, "sure": is_sure}
    yield {"part": REMAINDER, "value": max(0.0, rest), "sure": False}
