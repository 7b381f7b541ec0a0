"""Scores of finished decompositions: what every step explains, beside controls."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition import describe_binding
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.analyses.kinds import OPERATIONS as OPERATIONS
from tprprobe.dashboard.statements import Link, Statement, number, top
from tprprobe.dashboard.view import View, measured
from tprprobe.errors import InputError
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Dots
from tprprobe.files.kinds import Kind
from tprprobe.statistics import Row, interval_text, read_interval

FAMILIES = {"bag": "fillers alone", "additive": "+ roles", "factored": "+ bindings"}
FAMILIES |= {"saturated": "+ a vector for every pair"}
STEPS = {"bag": "fillers alone", "additive": "roles", "factored": "bindings"}  # of a sentence
STEP = ["roles", "step", "r2", "r2_low", "r2_high", "gain", "gain_low", "gain_high"]
STEP += ["learned", "learned_low", "learned_high", "twin", "rank", "n", "n_fit"]


def read_scores(folders: Iterable[Path], kind: Kind = DECOMPOSITIONS) -> pd.DataFrame:
    """The scores of finished decompositions, with the name of each; or the tables of another kind of them."""
    tables = [kind.load(path).assign(name=path.name) for path in folders]
    empty = pd.DataFrame(columns=["site", "roles"])
    return pd.concat(tables, ignore_index=True) if tables else empty


def show_operations(operations: pd.DataFrame) -> View:
    """R² of the vectors of unseen pairs by operation, of one site and scheme; the title says which is named."""
    from tprprobe.analyses.decomposition import summarize_operations  # with all that fits
    from tprprobe.figures.role_fits import operation_dots

    [title] = summarize_operations(operations)
    scene = operation_dots(operations)
    return View(title, operations, scene, scene.note)


def list_families(scores: pd.DataFrame) -> pd.DataFrame:
    """The nested fits of these scores without controls, by site and scheme, from fillers alone upwards; ``step`` in words."""
    fits = scores[(scores["control"] == "") & scores["family"].isin(FAMILIES)]
    order = fits["family"].map([*FAMILIES].index)
    fits = fits.assign(step=fits["family"].map(FAMILIES), order=order)
    fits = fits.sort_values(["roles", "order"], kind="stable")
    return fits.drop_duplicates(["site", "roles", "family"])


def show_steps(scores: pd.DataFrame, site: str, roles: str) -> View:
    """What fillers, then roles, then bindings explain of a site's vectors, and the same fit of controls, with intervals."""
    of_scheme = scores[(scores["site"] == site) & (scores["roles"] == roles)]
    if of_scheme.empty:
        sites = ", ".join(scores["site"].unique())
        raise InputError(f"no decomposition of {site!r} by {roles!r}: give one of {sites}")
    fits = list_families(of_scheme)
    family = next(iter(fits.loc[fits["family"] != "saturated", "family"][::-1]), "")
    is_control = (of_scheme["control"] != "") & (of_scheme["family"] == family)
    controls = of_scheme[is_control].sort_values("r2")
    fits = fits.assign(name=fits["step"], group="vectors")
    group = "controls, the same fit"
    controls = controls.assign(name=controls["control"] + f" ({family})", group=group)
    rows = measured(pd.concat([fits, controls]), "r2")
    dots = Dots(rows[["name", "group", "value", "low", "high"]], "R²")
    note = "on samples that were not fitted, with 95 % intervals"
    title = f"{site_label(site)}, roles ‘{roles}’: R², held out"
    return View(title, of_scheme, dots, note)


def list_steps(scores: pd.DataFrame, site: str) -> pd.DataFrame:
    """A row per scheme and step: roles, step, R² and what it gains over the step below (and of that what is learned)."""
    fits = list_families(scores[scores["site"] == site])
    columns = [
        name for name in STEP if name in fits and fits[name].replace("", np.nan).notna().any()
    ]
    return fits[columns].round(6).reset_index(drop=True)


def find_scheme(scores: pd.DataFrame) -> pd.Series:
    """The row of the best scheme that has roles; where there is none, of the best bag."""
    fits = scores[scores["control"] == ""]
    with_roles = fits[~fits["family"].isin(["bag", "roles"]) & (fits["n_roles"] > 1)]
    factored = with_roles[with_roles["family"] == "factored"]
    return top(next(rows for rows in (factored, with_roles, fits) if len(rows)), "r2")


def summarize_decomposition(scores: pd.DataFrame, site: str, roles: str = "") -> Statement:
    """What fillers, then roles, then bindings explain of a state, step by step, and controls of the last step."""
    of_site = scores[scores["site"] == site]
    roles = roles or str(find_scheme(of_site)["roles"])
    of_scheme = of_site[of_site["roles"] == roles]
    is_real = of_scheme["control"] == ""
    rows = {row["family"]: row for row in of_scheme[is_real].to_dict("records")}
    steps = [name for name in STEPS if name in rows] or list(rows)[:1]
    claims = [_summarize_step(rows[name], name, is_first=name == steps[0]) for name in steps]
    where = f"{site_label(site)}, roles ‘{roles}’"
    where = where[0].upper() + where[1:]
    binding = describe_binding(rows["factored"]) if "gain" in rows.get("factored", {}) else ""
    text = f"{where}, held out: {'; '.join(claims)}." + f" {binding}." * bool(binding)
    controls = of_scheme[~is_real & (of_scheme["family"] == steps[-1])].sort_values("r2")
    if len(controls):
        records = controls.to_dict("records")
        values = ", ".join(f"{row['control']} {row['r2']:z.3f}" for row in records)
        text += f" The same fit ({steps[-1]}) of controls: {values}."
    link = Link(f"Show ‘{roles}’", "decomposition", {"of": site, "scheme": roles})
    return Statement(text, (link,), brief=f"{where}: {binding or claims[-1]}.")


def _summarize_step(row: Row, name: str, is_first: bool) -> str:
    """One step: its R², and what it adds to the step below."""
    word, r2 = STEPS.get(name, name), f"R² {number(row, 'r2')}"
    if is_first:
        return f"{word} {r2}"
    if np.isnan(row.get("gain", np.nan)):
        return f"with {word} {r2}"
    gain = read_interval(row, "gain")
    surely = "add" if gain.low > 0 else "lose" if gain.high < 0 else "add nothing measurable,"
    return f"{word} {surely} {interval_text(gain, '+.3f')} ({r2})"
