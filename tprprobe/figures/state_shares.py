"""What states are made of: stacked shares of their variance, site by site, of a model beside its baseline."""

from collections.abc import Iterator, Sequence

import pandas as pd

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
        {"panel": BASELINE if control else model, "name": site_label(site), "part": step, "value": value}
        for control in rows["control"].unique()
        for site in sites
        for step, value in _list_parts(rows[(rows["control"] == control) & (rows["site"] == site)])
    ]  # fmt: skip
    return Shares(pd.DataFrame(step_rows), "share of the variance of states")


def _list_parts(rows: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """The shares of a bar; the rest is what the others leave."""
    shares = [
        (step, float(rows.loc[rows["family"] == family, column].sum()))
        for step, (family, column) in STEPS.items()
    ]
    yield from shares
    yield REMAINDER, max(0.0, 1 - sum(max(0.0, share) for _, share in shares))
