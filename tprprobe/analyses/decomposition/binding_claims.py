"""Whether scores say that a state binds, in one sentence: no gain of bindings is one without its control beside it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES
from tprprobe.analyses.decomposition.families import ADDITIVE, BAG, BELOW, FACTORED
from tprprobe.statistics import FEWEST_GROUPS, interval_text, read_interval

ROUGH = 30  # documents below which intervals are wide
STEPS = ((BAG, "fillers"), (ADDITIVE, "roles"), (FACTORED, "bindings"))
Row = Mapping[Any, Any]


def binds(row: Row) -> bool:
    """True if the interval of the bindings' share of variance lies above 0 and above the share with shuffled roles.

    The share of a row is unbiased, and beyond what any function of its fillers and its roles explains. Rows of older versions
    have none: there the gain on held-out sequences counts, and its difference to that with shuffled roles.
    """
    if np.isfinite(row.get("share_low", np.nan)):
        return bool(row["share_low"] > np.fmax(0, row.get("share_shuffled", np.nan)))
    ends = (row.get(f"{name}_low", np.nan) for name in ("gain", "beyond"))
    return all(low > 0 for low in ends)


def describe_binding(row: Row) -> str:
    """The sentence on bindings of a row of scores: whether the state binds, and which share of its variance that is."""
    roles = row["roles"]
    if not np.isfinite(row.get("share_low", np.nan)):
        return _describe_gain(row)
    share = f"share of variance {_score(row, 'share')}"
    if binds(row):
        known = np.isfinite(row.get("share_learned", np.nan))
        learned = f", of which learned {_score(row, 'share_learned')} (beyond every baseline model)"
        return f"Binds fillers to {roles}: {share}{learned if known else ''}"
    if row["share_low"] > 0:
        shuffled = f"{SHUFFLED_ROLES} have {row['share_shuffled']:+.3f}"
        return f"No binding of fillers to {roles} found: {share}, {shuffled}"
    return f"No binding of fillers to {roles} found: {share}, an interval with 0"


def _describe_gain(row: Row) -> str:
    roles, gain = row["roles"], _score(row, "gain")
    beyond = f"{_score(row, 'beyond')} beyond {SHUFFLED_ROLES}"
    if binds(row):
        return f"Binds fillers to {roles}: R² {gain}, {beyond}"
    if np.isnan(row.get("gain_low", np.nan)) or np.isnan(row.get("beyond_low", np.nan)):
        return f"Whether it binds fillers to {roles} is not known: R² {gain} without an interval or control"
    return f"No binding of fillers to {roles} found: R² {gain}, {beyond}"


def _score(row: Row, name: str) -> str:
    return interval_text(read_interval(row, name), "+.3f")


def summarize(scores: pd.DataFrame) -> list[str]:
    """Lines per site and scheme: what fillers, roles and bindings explain, whether the state binds, what to beware of.

    ``scores`` are those of :func:`decompose`.
    """
    lines: list[str] = []
    groups: Any = scores[scores["control"] == ""].groupby(["site", "roles"], sort=False)
    for (site, roles), of_scheme in groups:
        rows = {row["family"]: row for row in of_scheme.to_dict("records")}
        steps = [_step(rows[name], word) for name, word in STEPS if name in rows]
        lines.append(f"{site}, {roles}: held-out R² of {', '.join(steps)}")
        if np.isfinite(rows.get(FACTORED, {}).get("share", np.nan)):
            lines.append(f"  {_describe_shares(rows)}")
        if FACTORED in rows:
            lines.append(f"  {describe_binding(rows[FACTORED])}")
        lines += [f"  {text}" for text in of_scheme.get("design", pd.Series(dtype=str)).unique()]
        first = next(iter(rows.values()))
        lines += [f"  {text}" for text in warn(rows, int(first["n_fit"]))]
    return lines


def _describe_shares(rows: Mapping[str, Row]) -> str:
    """All shares of variance in a line."""
    additive = rows[ADDITIVE]
    places = ((rows[BAG], "share", "fillers"), (additive, "share", "roles"), (additive, "share_by_length", "fillers × length"), (rows[FACTORED], "share", "bindings"))  # fmt: skip
    return "shares of variance: " + ", ".join(f"{word} {_score(row, name)}" for row, name, word in places)  # fmt: skip


def _step(row: Row, word: str) -> str:
    if row["family"] not in BELOW:
        return f"{word} {row['r2']:.3f}"
    return f"+ {word} {row['r2']:.3f} ({_score(row, 'gain')})"


def warn(rows: Mapping[str, Any], n: int) -> Iterator[str]:
    """What to beware of in rows by name, the first of which was fitted to n vectors."""
    row = next(iter(rows.values()))
    if row["groups"] < FEWEST_GROUPS:
        yield (
            f"{row['groups']} documents are tested on, intervals need {FEWEST_GROUPS}: extract "
            f"{4 * FEWEST_GROUPS} or more"
        )
    elif row["groups"] < ROUGH:
        yield f"only {row['groups']} documents are tested on: intervals are wide"
    if row["pairs"] > n:
        yield f"{row['pairs']} pairs are more than the {n} vectors that are fitted to"
    for name in (name for name, row in rows.items() if row["r2"] < -1):
        yield f"{name} does not generalize (R² {rows[name]['r2']:.1f})"
