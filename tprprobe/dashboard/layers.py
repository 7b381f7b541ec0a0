"""Everything that was measured by layer, in one plot: probes, steps of decompositions, what is learnt, effects on behavior."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.headlines import number, percent, top
from tprprobe.dashboard.interventions import read_interventions
from tprprobe.dashboard.plots import Lines, plot_lines
from tprprobe.dashboard.probe_panels import line_probes, name_vectors
from tprprobe.dashboard.sentence import Link, Statement
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures.by_layer import draw_lines
from tprprobe.figures.catalogue.decomposition import load_decompositions
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

COLUMNS = ["panel", "line", "x", "value", "low", "high", "told", "sure", "site", "page", "query"]
BANDS = ["panel", "x", "value", "low", "high"]
FAMILIES = {
    "bag": "fillers alone",
    "additive": "+ roles",
    "factored": "+ bindings",
    "saturated": "+ a vector a pair",
}


def measure_layers(runs: Runs, store: Store) -> Lines:
    """One row per measure, line and layer: what is measured (panel), value with interval, the page that shows it; the bands
    are of the strongest controls. Empty where nothing was measured by layer.
    """
    found = [
        *_probed(runs, store),
        *_decomposed(runs, store),
        *_reconstructed(runs, store),
        *_edited(runs, store),
    ]
    rows = [part for part, _ in found if len(part)]
    bands = [part for _, part in found if len(part)]
    return Lines(
        pd.concat(rows, ignore_index=True)[COLUMNS] if rows else pd.DataFrame(columns=COLUMNS),
        pd.concat(bands, ignore_index=True)[BANDS] if bands else pd.DataFrame(columns=BANDS),
    )


def show_layers(lines: Lines, dark: bool = False) -> View:
    """The plot: a panel per measure, shares and R² from 0 to 1, effects in their units.

    Raises:
        InputError: nothing was measured by layer.
    """
    if lines.rows.empty:
        raise InputError("nothing was measured by layer yet")
    title = "What is measured by layer, with 95 % intervals"
    note = "grey: the strongest control; filled: beyond it"
    shown = Lines(lines.rows, lines.bands, "", "layer", percent=False)
    return View(
        title,
        partial(draw_lines, shown, title),
        lines.rows.drop(columns="query"),
        note,
        plot_lines(shown, dark),
    )


def select_panels(lines: Lines, panels: list[str]) -> Lines:
    """Some panels of the plot."""
    rows, bands = (part[part["panel"].isin(panels)] for part in (lines.rows, lines.bands))
    return Lines(rows.reset_index(drop=True), bands, lines.label, lines.x, lines.percent)


def tell_layers(lines: Lines) -> Statement:
    """The layer where every measure is largest."""
    told, links = [], []
    for panel, part in lines.rows.groupby("panel", sort=False):
        best = top(part[part["line"] == part["line"].iloc[-1]], "value")
        what = f"{panel} ({best['line']})" if part["line"].nunique() > 1 else str(panel)
        told.append(f"{what} is largest in layer {int(best['x'])}: {number(best, 'value')}")
        links.append(Link(f"{panel}, {best['site']}", best["page"], best["query"]))
    return Statement("; ".join(told) + ".", tuple(links))


def _rows(part: pd.DataFrame, page: str, **query: str) -> pd.DataFrame:
    queries: Any = [query] * len(part)
    return part.assign(page=page, query=queries)


def _probed(runs: Runs, store: Store) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    folders = runs.beside(store, "probes")
    if not folders:
        return
    rows = load_probes(folders.values())
    for task in rows["task"].unique():
        whole = rows[(rows["task"] == task) & rows["head"].isna()].reset_index(drop=True)
        lines = line_probes(whole)
        if lines.rows.empty:
            continue
        many = whole["model"].nunique() > 1
        kinds = whole.loc[lines.rows.index, "site"].map(name_vectors) + (
            " " + whole["model"] if many else ""
        )
        panels = f"{str(task).upper()} F1 " + kinds
        own = lines.rows.assign(
            panel=panels, line="probe", site=whole.loc[lines.rows.index, "site"]
        )
        renamed = lines.bands.assign(panel=panels.reindex(lines.bands.index))
        yield _rows(own, "probes", task=str(task)), renamed


def _decomposed(runs: Runs, store: Store) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """R² of the nested fits by layer; where a twin was decomposed too, what bindings gain beyond it."""
    folders = runs.beside(store, "decompositions")
    if not folders:
        return
    scores = load_decompositions(folders.values())
    scores = scores[scores["site"].map(layer_of).notna()]
    for (roles, kind), part in scores.groupby(
        ["roles", scores["site"].map(name_vectors)], sort=False
    ):
        own = part[(part["control"] == "") & part["family"].isin(FAMILIES)].drop_duplicates(
            ["site", "family"]
        )
        ordered = own.sort_values(
            ["family", "site"],
            key=lambda each: (
                each.map([*FAMILIES].index) if each.name == "family" else each.map(layer_of)
            ),
        )
        yield (
            _scored(ordered, "r2", f"R² {kind}, roles {roles}", roles),
            _strongest(part, f"R² {kind}, roles {roles}"),
        )
        bound = ordered[ordered["family"] == "factored"]
        for name, told in (("gain", "gained by bindings"), ("learnt", "learnt of the gain")):
            if name in bound and bound[name].notna().any():
                yield (
                    _scored(
                        bound.dropna(subset=[name]),
                        name,
                        f"R² {told}, {kind}, roles {roles}",
                        roles,
                    ),
                    pd.DataFrame(),
                )


def _scored(rows: pd.DataFrame, name: str, panel: str, roles: Any) -> pd.DataFrame:
    low, high = rows[f"{name}_low"], rows[f"{name}_high"]
    lines = rows["family"].map(FAMILIES)
    told = [
        f"{site}, {line}: {number(row, name)}"
        for (_, row), site, line in zip(rows.iterrows(), rows["site"], lines, strict=True)
    ]
    found = pd.DataFrame(
        {
            "panel": panel,
            "line": lines,
            "x": rows["site"].map(layer_of),
            "value": rows[name],
            "low": low,
            "high": high,
        }
    )
    found = found.assign(
        told=told, sure=(low > 0) if name != "r2" else True, site=rows["site"], page="decomposition"
    )
    queries: Any = [{"of": site, "scheme": str(roles)} for site in rows["site"]]
    return found.assign(query=queries)


def _strongest(part: pd.DataFrame, panel: str) -> pd.DataFrame:
    """The strongest control of the asked family, by layer: neither another family nor principal components."""
    controls = part[
        part["control"].isin(
            ["shuffled roles", "shuffled fillers", "random vectors", "permuted", "untrained"]
        )
    ]
    controls = controls[controls["family"] == "factored"]
    if controls.empty:
        return pd.DataFrame()
    best = controls.loc[controls.groupby("site")["r2"].idxmax()]
    found = pd.DataFrame(
        {
            "panel": panel,
            "x": best["site"].map(layer_of),
            "value": best["r2"],
            "low": best["r2_low"],
            "high": best["r2_high"],
        }
    )
    return found.sort_values("x")


def _reconstructed(runs: Runs, store: Store) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """R² of a state from one head's value, beside random projections."""
    for folder in runs.beside(store, "reconstruction").values():
        rows = RECONSTRUCTION.load(folder)
        rows = rows[
            (rows["unit"] == "question")
            & (rows["penalty"] == "none")
            & (rows["split"] == "held_out")
            & ~rows["untrained"]
        ]
        rows = rows[rows["n"] == rows["n"].max()].sort_values("layer")
        panel, of = (
            "R² state from one head’s value",
            {name: rows[rows["predictor"] == name] for name in ("heads", "random")},
        )
        parts = [
            pd.DataFrame(
                {
                    "panel": panel,
                    "line": "one head",
                    "x": each["layer"],
                    "value": each["r2"],
                    "low": each["r2_low"],
                    "high": each["r2_high"],
                }
            )
            for each in of.values()
        ]
        told = [
            f"layer {x}: {value:.3f}"
            for x, value in zip(parts[0]["x"], parts[0]["value"], strict=True)
        ]
        sure = of["heads"]["gain_low"].gt(0) if "gain_low" in rows else False
        yield (
            _rows(parts[0].assign(told=told, sure=sure, site="encoder.*.self.value"), "layers"),
            parts[1],
        )


def _edited(runs: Runs, store: Store) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Changes of what is answered or expected, by the layer whose vectors are edited."""
    for kind in ("interventions", "behaviours"):
        for name, folder in (runs.beside(store, kind) if kind in runs.folders else {}).items():
            for edit, rows in read_interventions(folder).items():
                yield from _effects(rows, name, edit)


def _effects(
    rows: pd.DataFrame, run: str, edit: str
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    if "change" not in rows or "counterfactual" in rows:
        return
    is_pairs = "kl" in rows
    layers = rows["site"].map(lambda each: layer_of(each) if "*" not in str(each) else None)
    own = rows[layers.notna() & rows["change"].notna() & (rows.get("control", "real") == "real")]
    own = own[own["edit"] != "none"]
    if own.empty:
        return
    unit = "nats towards the other text" if is_pairs else "change of right answers"
    panel = f"{edit}: {unit}"
    names = own["site"].map(name_vectors)
    told = [
        f"{site}: {number(row, 'change') if is_pairs else percent(row, 'change')}"
        for site, (_, row) in zip(own["site"], own.iterrows(), strict=True)
    ]
    sure = (
        own["beyond_low"].gt(0)
        if "beyond_low" in own
        else (own["change_low"] > 0) | (own["change_high"] < 0)
    )
    heads = (
        own["head"].map(lambda each: f", head {each}" if each >= 0 else "") if "head" in own else ""
    )
    found = pd.DataFrame(
        {
            "panel": panel,
            "line": names + heads,
            "x": own["site"].map(layer_of),
            "value": own["change"],
        }
    )
    found = found.assign(
        low=own["change_low"], high=own["change_high"], told=told, sure=sure, site=own["site"]
    ).sort_values("x", kind="stable")
    controls = rows[
        (rows.get("control", "real") != "real") & layers.notna() & rows["change"].notna()
    ]
    best = controls.loc[controls.groupby("site")["change"].idxmax()] if len(controls) else controls
    band = pd.DataFrame({"panel": panel, "x": best["site"].map(layer_of), "value": best["change"]})
    if len(band):
        band = band.assign(low=best["change_low"], high=best["change_high"]).sort_values("x")
    yield _rows(found, "interventions", intervention=run, edit=edit), band
