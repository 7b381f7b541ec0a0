"""Everything that was measured by layer, in one plot: probes, steps of decompositions, what is learned, effects on behavior."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition import claim_binding
from tprprobe.analyses.decomposition.binding_claims import BOUND
from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.analyses.probing.rows import rank_layers
from tprprobe.dashboard.decompositions import list_families, read_scores
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.interventions import ALL, read_interventions
from tprprobe.dashboard.statements import Link, Statement, number, percent, top
from tprprobe.dashboard.view import View, measured
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.figures.labels import site_label
from tprprobe.figures.line_styles import BASELINE
from tprprobe.figures.probe_captions import TITLES
from tprprobe.figures.probes import probe_table
from tprprobe.figures.reconstruction import largest_fit
from tprprobe.figures.scenes import BAND, Lines
from tprprobe.figures.sweeps import SNAP, at_full_strength
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

COLUMNS = ["panel", "line", "x", "value", "low", "high", "told", "sure", "site", "page", "query"]
COLUMNS += ["ranked", "size"]  # which layers are not told from the best; what is compared
CONTROLS = ["shuffled roles", "shuffled fillers", "random vectors", "permuted", "untrained"]
MAX_MEASURES = 3  # of the first line
GAINS = {"share": "share of bindings", "gain": "R² gain of bindings"}  # the first that is known
Measured = Iterator[tuple[pd.DataFrame, pd.DataFrame]]  # lines, bands of their strongest controls


def measure_layers(runs: Runs, store: Store) -> Lines:
    """A row per measure, line and layer, with the page that shows it; bands are of the strongest controls. Empty without results."""
    measures = (_measure_probes, _measure_decompositions, _measure_reconstruction, _measure_edits)
    tables = [pair for measure in measures for pair in measure(runs, store)]
    rows = [lines.reindex(columns=COLUMNS) for lines, _ in tables if len(lines)]
    bands = [band[BAND] for _, band in tables if len(band)]
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=COLUMNS)
    return Lines(
        table,
        pd.concat(bands, ignore_index=True) if bands else pd.DataFrame(columns=BAND),
        percent={*table.loc[table["page"] == "probes", "panel"]},
        across=2,
        hollow="hollow: not beyond the strongest control (without one: 0)",
    )


def show_layers(lines: Lines) -> View:
    """The view of everything that was measured by layer: a panel per measure, shares and R² from 0 to 1, effects in their units."""
    data = pd.concat([lines.rows, lines.named_bands], ignore_index=True)
    data = data.drop(columns=["query", "ranked", "size"])
    intervals = ", with 95 % intervals" * bool(data["low"].notna().any())
    return View(f"Measurements by layer{intervals}", data, lines)


def summarize_layers(lines: Lines) -> Statement:
    """The layer where every measure is largest."""
    claims, links = [], []
    for panel, rows in lines.rows.groupby("panel", sort=False):
        is_percent = lines.is_percent(str(panel))  # scores of probes, of which any line may be best
        is_any = is_percent or rows["page"].iloc[0] == "interventions"
        is_last = rows["line"] == rows["line"].iloc[-1]
        sizes = rows["size"].fillna(rows["value"]).where(is_last | is_any)
        best = top(rows.assign(size=sizes), "size")
        is_clear = rows["line"].nunique() == 1 or str(best["line"]) in str(panel)
        measure = str(panel) if is_clear else f"{panel}, {best['line']},"
        layers = rows.loc[sizes == best["size"], "x"].astype(int).unique()  # of a tie, all
        where = " and ".join("the embedding" if x < 0 else f"layer {x}" for x in layers)
        verb = "is largest" if rows["x"].nunique() > 1 else "is measured"
        write = percent if is_percent else number
        rank = f" ({best['ranked']}; paired, Holm)" if pd.notna(best["ranked"]) else ""
        control = lines.bands[(lines.bands["panel"] == panel) & (lines.bands["x"] == best["x"])]
        for row in control.to_dict("records"):
            beyond = "beyond" if best["sure"] else "beside"
            rank = f", {beyond} its strongest control {write(row, 'value')}{rank}"
        claim = f"{measure} {verb} in {where}, {write(best, 'value')}{rank}"
        is_open = rows["sure"].astype(bool).any() or rows["low"].isna().all()  # or not known
        if not (control.size or is_percent or is_open):
            controls = " and its controls" * (best["page"] == "decomposition")
            claim = f"{measure} is beyond 0{controls} in no layer"
        claims.append(claim)
        links.append(Link(f"{panel}, {site_label(best['site'])}", best["page"], best["query"]))
    rest = f"; {len(claims) - MAX_MEASURES} more below" if len(claims) > MAX_MEASURES else ""
    return Statement("; ".join(claims[:MAX_MEASURES]) + rest + ".", tuple(links[:MAX_MEASURES]))


def _name_kinds(sites: pd.Series) -> pd.Series:
    """Sites without their layer, and without their stack where all have the same: ``self role``."""
    n_stacks = sites.str.extract(r"^(\w+)\.\d+\.")[0].nunique()
    pattern = r"\.\d+\b" if n_stacks > 1 else r"^\w+\.|\d+\."
    return sites.str.replace(pattern, "", regex=True).str.replace(".", " ", regex=False)


def _measure(rows: pd.DataFrame, name: str, panel: Any, **columns: Any) -> pd.DataFrame:
    return measured(rows, name, panel=panel, x=rows["site"].map(layer_of), **columns)


def _queries(**columns: Any) -> Any:
    return pd.DataFrame(columns).astype(str).to_dict("records")


def _measure_probes(runs: Runs, store: Store) -> Measured:
    if not (folders := runs.beside(store, "probes")):
        return
    rows = load_probes(folders.values())
    rows = rows[rows["head"].isna()]
    kinds = _name_kinds(rows["site"]).str.replace("embedding", "hidden")
    for (task, kind), of_kind in rows.groupby(["task", kinds], sort=False):
        if (of_kind["control"] == "real").any():
            rules = rows[(rows["task"] == task) & rows["layer"].isna()]
            scene = probe_table(pd.concat([of_kind, rules])).lines
            panel = f"{TITLES.get(str(task), task)} {scene.label} ({kind})"
            lines = scene.rows.assign(panel=panel, page="probes")
            lines = lines[lines["stands_for"] != BASELINE]  # they stand on their own page
            if of_kind["model"].nunique() == 1 < rows["model"].nunique():  # as in other panels
                lines["line"] = f"{of_kind['model'].iloc[0]}: " + lines["line"]
            lines["query"] = _queries(task=[task] * len(lines))
            ranks = [*rank_layers(of_kind[of_kind["control"] == "real"]).values()]
            lines["ranked"] = ranks[0].partition("; ")[2] or None if len(ranks) == 1 else None
            yield lines, scene.bands.assign(panel=panel)


def _measure_decompositions(runs: Runs, store: Store) -> Measured:
    """R² of the nested fits by layer, beside the strongest control of the last of them, and what bindings are of the states."""
    scores = read_scores(runs.beside(store, "decompositions").values())
    scores = scores[scores["site"].map(layer_of).notna()]
    kinds = _name_kinds(scores["site"])
    for (roles, kind), of_kind in scores.groupby(["roles", kinds], sort=False):
        fits = list_families(of_kind).query("family != 'saturated'")  # no control is fitted so
        fits = fits.iloc[np.lexsort((fits["site"].map(layer_of), fits["order"]))]
        query = _queries(of=fits["site"], scheme=fits["roles"])
        fits = fits.assign(line=fits["step"], page="decomposition", query=query)
        controls = of_kind[of_kind["control"].isin(CONTROLS) & (of_kind["family"] == "factored")]
        strongest = controls.loc[controls.groupby("site")["r2"].idxmax()]
        panel, bound = f"R² {kind}, roles {roles}", fits[fits["family"] == "factored"]
        band = _measure(strongest, "r2", panel).sort_values("x")
        controls_r2 = fits["site"].map(strongest.set_index("site")["r2"]).fillna(0)
        yield _score(fits, "r2", panel, fits["r2_low"] > controls_r2), band
        for name in [name for name in GAINS if name in bound and bound[name].notna().any()][:1]:
            gains = bound.dropna(subset=[name])
            is_sure = [claim_binding(row).startswith(BOUND) for row in gains.to_dict("records")]
            yield _score(gains, name, f"{GAINS[name]}, {kind}, roles {roles}", is_sure), band[:0]


def _score(rows: pd.DataFrame, name: str, panel: str, is_sure: Any) -> pd.DataFrame:
    records = rows.to_dict("records")
    hints = [f"{row['site']}, {row['line']}: {number(row, name)}" for row in records]
    return _measure(rows, name, panel, told=hints, sure=is_sure)


def _measure_reconstruction(runs: Runs, store: Store) -> Measured:
    """R² of a state from one head's value, beside random projections."""
    for folder in runs.beside(store, "reconstruction").values():
        results = RECONSTRUCTION.load(folder)
        rows = largest_fit(results[~results["untrained"]], "held_out").sort_values("layer")
        stack = "layers" if any(name.startswith("layers.") for name in store.sites) else "encoder"
        rows = rows.assign(site=[f"{stack}.{layer}.self.value" for layer in rows["layer"]])
        panel, heads = "R² state from one head’s value", rows[rows["predictor"] == "heads"]
        is_sure = heads["gain_low"].gt(0) if "gain_low" in heads else False
        lines = _score(heads.assign(line="one head"), "r2", panel, is_sure).assign(page="layers")
        lines["query"] = pd.Series([{}] * len(lines), lines.index)
        yield lines, _measure(rows[rows["predictor"] == "random"], "r2", panel)


def _measure_edits(runs: Runs, store: Store) -> Measured:
    folders = runs.beside(store, "interventions", "behaviors")
    tables = {name: read_interventions(folder) for name, folder in folders.items()}
    counts = Counter(edit for edits in tables.values() for edit in edits)
    for name, edits in tables.items():
        for edit, rows in edits.items():
            if "change" in rows and edit != SNAP:  # a curve over numbers of centers
                yield from _measure_edit(rows, name, edit, counts[edit] > 1)


def _measure_edit(rows: pd.DataFrame, run: str, edit: str, names_run: bool) -> Measured:
    is_site = ~rows["site"].astype(str).str.contains("*", regex=False)
    rows = rows[rows["change"].notna() & (rows["edit"] != "none") & is_site]
    rows = rows[rows["site"].map(layer_of).notna()]
    rows = at_full_strength(rows) if edit == ALL else rows
    is_real = rows.get("control", pd.Series("real", rows.index)) == "real"
    edits, controls = rows[is_real], rows[~is_real]
    heads = edits.get("head", pd.Series(-1, edits.index))
    unit = "nats towards the other text" if "kl" in rows else "change of right answers"
    sites = zip(_name_kinds(edits["site"]), heads, strict=True)
    names = pd.Series([site_label(site, head) for site, head in sites], edits.index, dtype=str)
    names = edits["edit"] + ", " + names if edit == ALL else names
    is_sure = (edits["change_low"] > 0) | (edits["change_high"] < 0)
    if "beyond_low" in edits:
        is_sure = (edits["change_low"] > 0) & (edits["beyond_low"] > 0)
    panel = f"‘{edit}’{f' of {run}' * names_run} ({unit})"
    edits = edits.assign(line=names, page="interventions")
    lines = _score(edits, "change", panel, is_sure)
    lines["size"] = lines["value"] if "kl" in rows else lines["value"].abs()  # damage is below 0
    lines["query"] = _queries(intervention=[run] * len(lines), edit=[edit] * len(lines))
    strongest = controls.loc[controls.groupby("site")["change"].idxmax()]
    band = _measure(strongest, "change", panel).sort_values("x")
    yield lines.sort_values("x", kind="stable"), band
