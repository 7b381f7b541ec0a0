"""Everything that was measured by layer, in one plot: probes, steps of decompositions, what is learnt, effects on behavior."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition import binds
from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.dashboard.decompositions import list_families, read_scores
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.interventions import read_interventions
from tprprobe.dashboard.probes import line_probes
from tprprobe.dashboard.statements import Link, Statement, name_vectors, number, place, top
from tprprobe.dashboard.view import Lines, View, measured
from tprprobe.errors import InputError
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

COLUMNS = ["panel", "line", "x", "value", "low", "high", "told", "sure", "site", "page", "query"]
BANDS = ["panel", "x", "value", "low", "high"]
CONTROLS = ["shuffled roles", "shuffled fillers", "random vectors", "permuted", "untrained"]
FEW = 4  # measures of the first line
GAINS = {"gain": "gain of bindings", "learnt": "learnt of the gain"}
Measured = Iterator[tuple[pd.DataFrame, pd.DataFrame]]  # lines, bands of their strongest controls


def measure_layers(runs: Runs, store: Store) -> Lines:
    """One row per measure, line and layer: what is measured (panel), value with interval, the page that shows it; the bands
    are of the strongest controls. Empty where nothing was measured by layer.
    """
    parts = (_probed, _decomposed, _reconstructed, _edited)
    found = [pair for each in parts for pair in each(runs, store)]
    rows = [each[COLUMNS] for each, _ in found if len(each)]
    bands = [each[BANDS] for _, each in found if len(each)]
    return Lines(
        pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=COLUMNS),
        pd.concat(bands, ignore_index=True) if bands else pd.DataFrame(columns=BANDS),
        percent=False,
    )


def show_layers(lines: Lines) -> View:
    """The view of everything that was measured by layer: a panel per measure, shares and R² from 0 to 1, effects in their units.

    Args:
        lines: The lines.

    Returns:
        The view.

    Raises:
        InputError: Nothing was measured by layer.

    Examples:
        >>> nothing = tp.dashboard.view.Lines(pd.DataFrame(), pd.DataFrame())
        >>> tp.dashboard.show_layers(nothing)
        Traceback (most recent call last):
        tprprobe.errors.InputError: no measurements by layer yet
    """
    if lines.rows.empty:
        raise InputError("no measurements by layer yet")
    note = "gray: the strongest control; filled: above it"
    data = lines.rows.drop(columns="query")
    return View("Measurements by layer, with 95 % intervals", data, lines, None, note)


def select_panels(lines: Lines, panels: list[str]) -> Lines:
    """Some panels of the plot."""
    rows, bands = (part[part["panel"].isin(panels)] for part in (lines.rows, lines.bands))
    return Lines(rows.reset_index(drop=True), bands, percent=False)


def summarize_layers(lines: Lines) -> Statement:
    """The layer where every measure is largest."""
    told, links = [], []
    for panel, part in lines.rows.groupby("panel", sort=False):
        best = top(part[part["line"] == part["line"].iloc[-1]], "value")
        what = f"{panel} ({best['line']})" if part["line"].nunique() > 1 else str(panel)
        told.append(f"{what} is largest in layer {int(best['x'])}: {number(best, 'value')}")
        links.append(Link(f"{panel}, {best['site']}", best["page"], best["query"]))
    more = f"; {len(told) - FEW} more below" if len(told) > FEW else ""
    return Statement("; ".join(told[:FEW]) + more + ".", tuple(links[:FEW]))


def _measures(rows: pd.DataFrame, name: str, panel: Any, **more: Any) -> pd.DataFrame:
    """Rows with a measure and its interval as value, low and high, by layer."""
    return measured(rows, name, panel=panel, x=rows["site"].map(layer_of), **more)


def _queries(**columns: Any) -> Any:
    """What the address of the page of every row says."""
    return pd.DataFrame(columns).astype(str).to_dict("records")


def _probed(runs: Runs, store: Store) -> Measured:
    folders = runs.beside(store, "probes")
    rows = load_probes(folders.values()) if folders else pd.DataFrame(columns=["task", "head"])
    for task, whole in rows[rows["head"].isna()].groupby("task", sort=False):
        lines, of = line_probes(whole), whole.loc[:, ["site", "model"]]
        models = " " + of["model"] if of["model"].nunique() > 1 else ""
        panels = f"{str(task).upper()} F1 " + of["site"].map(name_vectors) + models
        own = lines.rows.assign(panel=panels, line="probe", site=of["site"], page="probes")
        own["query"] = _queries(task=[task] * len(own))
        yield own, lines.bands.assign(panel=panels)


def _decomposed(runs: Runs, store: Store) -> Measured:
    """R² of the nested fits by layer; where a twin was decomposed too, what bindings gain beyond it."""
    scores = read_scores(runs.beside(store, "decompositions").values())
    scores = scores[scores["site"].map(layer_of).notna()]
    kinds = scores["site"].map(name_vectors)
    for (roles, kind), part in scores.groupby(["roles", kinds], sort=False):
        own = list_families(part)
        own = own.iloc[np.lexsort((own["site"].map(layer_of), own["order"]))]
        query = _queries(of=own["site"], scheme=own["roles"])
        own = own.assign(line=own["step"], page="decomposition", query=query)
        controls = part[part["control"].isin(CONTROLS) & (part["family"] == "factored")]
        strongest = controls.loc[controls.groupby("site")["r2"].idxmax()]
        panel, bound = f"R² {kind}, roles {roles}", own[own["family"] == "factored"]
        band = _measures(strongest, "r2", panel).sort_values("x")
        is_above = own["r2_low"] > own["site"].map(strongest.set_index("site")["r2"])
        yield _scored(own, "r2", panel, is_above), band
        for name, told in GAINS.items():
            known = bound.dropna(subset=[name]) if name in bound else bound[:0]
            if len(known):
                is_bound = [binds(row) for row in known.to_dict("records")]
                sure = (known[f"{name}_low"] > 0) & np.array(is_bound)
                yield _scored(known, name, f"R² {told}, {kind}, roles {roles}", sure), band[:0]


def _scored(rows: pd.DataFrame, name: str, panel: str, sure: Any) -> pd.DataFrame:
    told = [f"{row['site']}, {row['line']}: {number(row, name)}" for row in rows.to_dict("records")]
    return _measures(rows, name, panel, told=told, sure=sure)


def _reconstructed(runs: Runs, store: Store) -> Measured:
    """R² of a state from one head's value, beside random projections."""
    for folder in runs.beside(store, "reconstruction").values():
        rows = RECONSTRUCTION.load(folder)
        asked = (rows[["unit", "penalty", "split"]] == ["question", "none", "held_out"]).all(axis=1)
        rows = rows[asked & ~rows["untrained"]]
        rows = rows[rows["n"] == rows["n"].max()].sort_values("layer")
        rows = rows.assign(site=[f"encoder.{layer}.self.value" for layer in rows["layer"]])
        panel, heads = "R² state from one head’s value", rows[rows["predictor"] == "heads"]
        sure = heads["gain_low"].gt(0) if "gain_low" in heads else False
        own = _scored(heads.assign(line="one head"), "r2", panel, sure).assign(page="layers")
        own["query"] = pd.Series([{}] * len(own), own.index)
        yield own, _measures(rows[rows["predictor"] == "random"], "r2", panel)


def _edited(runs: Runs, store: Store) -> Measured:
    """Changes of what is answered or expected, by the layer whose vectors are edited."""
    for name, folder in runs.beside(store, "interventions", "behaviors").items():
        for edit, rows in read_interventions(folder).items():
            if "change" in rows:
                yield from _effects(rows, name, edit)


def _effects(rows: pd.DataFrame, run: str, edit: str) -> Measured:
    is_one = ~rows["site"].astype(str).str.contains("*", regex=False)
    rows = rows[rows["change"].notna() & (rows["edit"] != "none") & is_one]
    rows = rows[rows["site"].map(layer_of).notna()]
    is_own = rows.get("control", pd.Series("real", rows.index)) == "real"
    own, controls = rows[is_own], rows[~is_own]
    is_pairs, heads = "kl" in rows, own.get("head", pd.Series(-1, own.index))
    panel = f"{edit}: {'nats towards the other text' if is_pairs else 'change of right answers'}"
    names = [place(name_vectors(site), head) for site, head in zip(own["site"], heads, strict=True)]
    is_sure = (own["change_low"] > 0) | (own["change_high"] < 0)
    sure = own["beyond_low"].gt(0) if "beyond_low" in own else is_sure
    found = _scored(own.assign(line=names, page="interventions"), "change", panel, sure)
    found["query"] = _queries(intervention=[run] * len(own), edit=[edit] * len(own))
    strongest = controls.loc[controls.groupby("site")["change"].idxmax()]
    band = _measures(strongest, "change", panel).sort_values("x")
    yield found.sort_values("x", kind="stable"), band
