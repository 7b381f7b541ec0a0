"""What the steps from fillers to roles to bindings explain, in one line a site and scheme."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition.families import ADDITIVE, BAG, BELOW, FACTORED

FEWEST_GROUPS = 30
STEPS = ((BAG, "fillers"), (ADDITIVE, "roles"), (FACTORED, "bindings"))


def summarize(scores: pd.DataFrame) -> list[str]:
    """A line per site and scheme, such as ``encoder.0.hidden, left: fillers .752, + roles .780 (+.028 [.025,
    .031]), + bindings .808 (+.027 [.024, .030]), of which learnt +.021 […]``, and what to beware of.

    ``scores`` are those of :func:`decompose`.
    """
    lines: list[str] = []
    groups: Any = scores[scores["control"] == ""].groupby(["site", "roles"], sort=False)
    for (site, roles), found in groups:
        rows = {row["family"]: row for row in found.to_dict("records")}
        steps = [_step(rows[name], word) for name, word in STEPS if name in rows]
        lines.append(f"{site}, {roles}: {', '.join(steps)}")
        lines += [f"  {each}" for each in found.get("design", pd.Series(dtype=str)).unique()]
        lines += [f"  {each}" for each in _warn(rows)]
    return lines


def _step(row: dict[str, Any], word: str) -> str:
    if row["family"] not in BELOW:
        return f"{word} {_short(row['r2'])}"
    text = f"+ {word} {_short(row['r2'])} ({_interval(row, 'gain')})"
    if row["family"] == FACTORED and np.isfinite(row["learnt"]):
        text += f", of which learnt {_interval(row, 'learnt')} (over the {row['twin']} twin)"
    return text


def _interval(row: dict[str, Any], name: str) -> str:
    low, high = (_short(row[f"{name}_{end}"]) for end in ("low", "high"))
    return f"{_short(row[name], '+')} [{low}, {high}]"


def _short(value: float, sign: str = "-") -> str:
    """.752 for 0.752."""
    return f"{value:{sign}.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:{sign}.3f}"


def _warn(rows: dict[str, dict[str, Any]]) -> Iterator[str]:
    row = next(iter(rows.values()))
    if row["groups"] < FEWEST_GROUPS:
        yield f"only {row['groups']} groups of sequences are tested on: intervals are wide and rough"
    if row["pairs"] > row["n_fit"]:
        yield f"{row['pairs']} pairs are more than the {row['n_fit']} vectors that are fitted to"
    for each in rows.values():
        if each["r2"] < -1:
            yield f"{each['family']} does not generalize (R² {each['r2']:.1f})"
