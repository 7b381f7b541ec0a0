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
    """True if bindings gain something on held-out sequences, and more than those to shuffled roles do, paired."""
    ends = (row.get(f"{name}_low", np.nan) for name in ("gain", "beyond"))
    return all(low > 0 for low in ends)


def describe_binding(row: Row) -> str:
    """The sentence on bindings of a row of scores: whether the state binds, by how much of R², and beyond what."""
    roles, gain = row["roles"], _score(row, "gain")
    beyond = f"{_score(row, 'beyond')} beyond {SHUFFLED_ROLES}"
    if binds(row):
        learned = f", of which learned {_score(row, 'learnt')} (beyond the {row['twin']} twin)"
        known = np.isfinite(row.get("learnt", np.nan))
        return f"Binds fillers to {roles}: R² {gain}, {beyond}{learned if known else ''}"
    if np.isnan(row.get("gain_low", np.nan)) or np.isnan(row.get("beyond_low", np.nan)):
        return f"Whether it binds fillers to {roles} is not known: R² {gain} without an interval or control"
    if row["gain"] == 0:
        return f"No binding of fillers to {roles} found: no bindings are fitted, as they gain no more than chance"
    if row["gain_low"] > 0:
        return f"No binding of fillers to {roles} found: {SHUFFLED_ROLES} gain as much (R² {gain}, {beyond})"
    return f"No binding of fillers to {roles} found: R² {gain}, an interval with 0"


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
        if FACTORED in rows:
            lines.append(f"  {describe_binding(rows[FACTORED])}")
        lines += [f"  {text}" for text in of_scheme.get("design", pd.Series(dtype=str)).unique()]
        first = next(iter(rows.values()))
        lines += [f"  {text}" for text in warn(rows, int(first["n_fit"]))]
    return lines


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
