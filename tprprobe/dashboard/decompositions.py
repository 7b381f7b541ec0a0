"""Scores of finished decompositions: what every step explains, beside controls."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition import describe_binding
from tprprobe.analyses.kinds import DECOMPOSITIONS, OPERATIONS
from tprprobe.dashboard.statements import Link, Statement, number, top
from tprprobe.dashboard.view import View, measured
from tprprobe.errors import InputError
from tprprobe.figures.scenes import Dots
from tprprobe.statistics import interval_text, read_interval

FAMILIES = {"bag": "fillers alone", "additive": "+ roles", "factored": "+ bindings"}
FAMILIES |= {"saturated": "+ a vector for every pair"}
STEPS = {"bag": "fillers alone", "additive": "roles", "factored": "bindings"}  # of a sentence
STEP = ["roles", "step", "r2", "r2_low", "r2_high", "gain", "gain_low", "gain_high"]
STEP += ["learnt", "learnt_low", "learnt_high", "twin", "rank", "n", "n_fit"]


def read_scores(folders: Iterable[Path]) -> pd.DataFrame:
    """The scores of finished decompositions, with the name of each."""
    parts = [DECOMPOSITIONS.load(each).assign(name=each.name) for each in folders]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["site", "roles"])


def read_operations(folders: Iterable[Path]) -> pd.DataFrame:
    """The tables of operations of finished runs."""
    parts = [OPERATIONS.load(each) for each in folders]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["site", "roles"])


def show_operations(operations: pd.DataFrame) -> View:
    """R² of the vectors of unseen pairs by operation, of one site and scheme; the title says which is named."""
    from tprprobe.analyses.decomposition import summarize_operations  # with all that fits
    from tprprobe.figures.role_fits import operation_dots

    rows = measured(operations.assign(name=operations["operation"], group="unseen pairs"), "r2")
    numbers = ["value", "low", "high"]
    rows[numbers] = rows[numbers].clip(lower=-1)
    dots = Dots(rows[["name", "group", *numbers]].dropna(), "R²")
    [title] = summarize_operations(operations)
    note = "with 95 % intervals over fillers and roles"
    return View(title, operations, dots, lambda: operation_dots(operations), note)


def list_families(scores: pd.DataFrame) -> pd.DataFrame:
    """The nested fits of these scores without controls, by site and scheme, from fillers alone upwards; ``step`` in words."""
    own = scores[(scores["control"] == "") & scores["family"].isin(FAMILIES)]
    own = own.assign(step=own["family"].map(FAMILIES), order=own["family"].map([*FAMILIES].index))
    own = own.sort_values(["roles", "order"], kind="stable")
    return own.drop_duplicates(["site", "roles", "family"])


def show_steps(scores: pd.DataFrame, site: str, roles: str) -> View:
    """What fillers, then roles, then bindings explain of a site's vectors, and the same fit of controls, with intervals."""
    from tprprobe.figures.role_fits import scheme_table  # with all that fits schemes

    found = scores[(scores["site"] == site) & (scores["roles"] == roles)]
    if found.empty:
        known = ", ".join(scores["site"].unique())
        raise InputError(f"no decomposition of {site!r} by {roles!r}: give one of {known}")
    own = list_families(found)
    last = next(iter(own.loc[own["family"] != "saturated", "family"][::-1]), "")
    controls = found[(found["control"] != "") & (found["family"] == last)].sort_values("r2")
    own = own.assign(name=own["step"], group="vectors")
    group = "controls, the same fit"
    controls = controls.assign(name=controls["control"] + f" ({last})", group=group)
    rows = measured(pd.concat([own, controls]), "r2")
    dots = Dots(rows[["name", "group", "value", "low", "high"]], "R²")
    note = "on samples that were not fitted, with 95 % intervals"
    title = f"{site}, roles {roles}: R², held out"
    return View(title, found, dots, scheme_table(found).draw, note)


def list_steps(scores: pd.DataFrame, site: str) -> pd.DataFrame:
    """A row per scheme and step: roles, step, R² and what it gains over the step below (and of that what is learnt)."""
    own = list_families(scores[scores["site"] == site])
    known = [each for each in STEP if each in own and own[each].replace("", np.nan).notna().any()]
    return own[known].reset_index(drop=True)


def find_scheme(scores: pd.DataFrame) -> Any:
    """The row of the best scheme that has roles; where there is none, of the best bag."""
    own = scores[scores["control"] == ""]
    has_roles = own[~own["family"].isin(["bag", "roles"]) & (own["n_roles"] > 1)]
    asked = has_roles[has_roles["family"] == "factored"]
    return top(next(each for each in (asked, has_roles, own) if len(each)), "r2")


def summarize_decomposition(scores: pd.DataFrame, site: str, roles: str = "") -> Statement:
    """What fillers, then roles, then bindings explain of a state, step by step, and controls of the last step."""
    of_site = scores[scores["site"] == site]
    roles = roles or str(find_scheme(of_site)["roles"])
    of_scheme = of_site[of_site["roles"] == roles]
    own, controls = (of_scheme[(of_scheme["control"] == "") == is_own] for is_own in (True, False))
    rows = {row["family"]: row for row in own.to_dict("records")}
    steps = [name for name in STEPS if name in rows] or list(rows)[:1]
    told = [_summarize_step(rows[name], name, is_first=name == steps[0]) for name in steps]
    text = f"{site}, roles ‘{roles}’, held out: {'; '.join(told)}."
    same = controls[controls["family"] == steps[-1]].sort_values("r2").to_dict("records")
    if same:
        beside = ", ".join(f"{row['control']} {row['r2']:z.3f}" for row in same)
        text += f" The same fit ({steps[-1]}) of controls: {beside}."
    link = Link(f"Show ‘{roles}’", "decomposition", {"of": site, "scheme": roles})
    return Statement(text, (link,), brief=f"{site}, roles ‘{roles}’: {told[-1]}.")


def _summarize_step(row: dict[Any, Any], name: str, is_first: bool) -> str:
    """One step: its R², what it adds to the step below, and how much of that is learnt."""
    word, r2 = STEPS.get(name, name), f"R² {number(row, 'r2')}"
    if is_first:
        return f"{word} {r2}"
    if np.isnan(row.get("gain", np.nan)):
        return f"with {word} {r2}"
    gain = read_interval(row, "gain")
    surely = "add" if gain.low > 0 else "lose" if gain.high < 0 else "add nothing measurable,"
    text = f"{word} {surely} {interval_text(gain, '+.3f')} ({r2})"
    return f"{text}; {describe_binding(row)}" if name == "factored" else text
