"""Finished interventions: heads replaced, vectors snapped, vectors of two words exchanged, and what plug-ins edit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from tprprobe import plugins
from tprprobe.dashboard.statements import Statement, link_vectors, number, percent, top
from tprprobe.dashboard.view import View, measured
from tprprobe.figures.behavior import EDIT_ITSELF, contrast_rows
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.labels import site_label
from tprprobe.figures.patching import patching_squares, summarize_patching
from tprprobe.figures.scenes import Dots, Lines
from tprprobe.figures.sweeps import MEAN, SNAP, at_full_strength, head_squares, snap_curve
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import Kind
from tprprobe.interventions.kinds import BEHAVIORS, INTERVENTIONS, PATCHINGS, SWEEPS
from tprprobe.store.token_texts import visible

PATCHED = "patching"
ALL = "all"  # points of a sweep that are no single head and no number of centers
UNSET = ["none", "other text"]


class EditView(NamedTuple):
    """What a plug-in shows of a kind of edits: the column that their tables alone have, and what reads, draws and summarizes them."""

    kind: Kind
    column: str
    read: Callable[[Path], dict[str, pd.DataFrame]]
    show: Callable[[pd.DataFrame, str], View]
    summarize: Callable[[pd.DataFrame, str], Statement]


def _find_view(rows: pd.DataFrame) -> EditView | None:
    views = plugins.load_all("edit-views").values()
    return next((view for view in views if view.column in rows), None)


def read_interventions(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables of the charts that a finished run offers, by the name of the edit; ``all``: those of whole sites."""
    if PATCHINGS.is_in(folder):
        return {PATCHED: PATCHINGS.load(folder)}
    if BEHAVIORS.is_in(folder):
        rows = BEHAVIORS.load(folder)
        rows = rows.assign(control=rows["control"].fillna("").replace("", "real"))
        edits = rows.loc[(rows["control"] == "real") & ~rows["edit"].isin(UNSET), "edit"]
        is_edit, names = rows["edit"].isin(edits), [str(edit) for edit in edits.unique()]
        return {name: rows[(rows["edit"] == name) | ~is_edit] for name in names}
    for view in plugins.load_all("edit-views").values():
        if view.kind.is_in(folder) and not SWEEPS.is_in(folder):
            return view.read(folder)
    rows = load_tables([folder], SWEEPS)
    single = at_full_strength(rows[rows["head"] >= 0])
    tables = {str(edit): of_edit for edit, of_edit in single.groupby("edit", sort=False)}
    sites = rows[(rows["head"] < 0) & (rows["edit"] != SNAP)]
    if SNAP not in tables and (rows["edit"] == SNAP).any():
        tables[SNAP] = rows
        sites = sites[sites["edit"] != MEAN]  # the curve begins with it
    return tables | ({ALL: sites} if len(sites) > 1 else {})


def describe_run(folder: Path) -> str:
    """The model of a run and, of patching, the two texts; empty of a run that does not say."""
    path = folder / INTERVENTIONS.file
    record = read_json(path) if path.is_file() else {}
    model = record.get("model")
    name = model.get("name") if isinstance(model, dict) else model
    texts = [f"‘{visible(record[key], 200)}’" for key in ("text", "against") if record.get(key)]
    return ". ".join([*[f"Model: {name}"] * bool(name), " against ".join(texts)]).strip(". ")


def show_interventions(rows: pd.DataFrame, name: str) -> View:
    """The view of one of :func:`read_interventions`, by its name."""
    if name == PATCHED:
        scene = patching_squares(rows)
        return View(scene.title, rows, scene, scene.note)
    if "kl" in rows:
        return _show_pairs(rows, name)
    if view := _find_view(rows):
        return view.show(rows, name)
    if name == ALL:
        return _show_edits(rows)
    if (rows["head"] < 0).any():  # exact match against the number of centers; 1 is the mean
        scene = snap_curve(rows)
        return View(f"{scene.title}, 95 % intervals", scene.rows, scene, scene.note)
    return _show_heads(rows, name)


def summarize_edits(rows: pd.DataFrame, name: str) -> Statement:
    """What one of :func:`read_interventions` changed, in a sentence."""
    if name == PATCHED:
        return Statement(summarize_patching(rows))
    if "kl" in rows:
        return _summarize_pairs(rows)
    view = _find_view(rows)
    return view.summarize(rows, name) if view else _summarize_sweep(rows)


def _show_pairs(rows: pd.DataFrame, edit: str) -> View:
    """How far an edit moves the next token towards that of the other text, by layer, beside all its controls."""
    lines = contrast_rows(rows[rows["layer"] >= 0], edit, "change")
    hints = lines["line"].replace(EDIT_ITSELF, edit) + " at " + lines["site"]
    hints += lines["value"].map(": {:.2f} nats".format)
    is_sure = lines["beyond_low"].gt(0) if "beyond_low" in lines else False
    panel = f"‘{edit}’: nats towards the other text"
    lines = lines.assign(panel=panel, told=hints, sure=is_sure)
    trials = f"{int(lines['n'].max())} trials; " if len(lines) else ""
    note = f"{trials}filled: beyond its strongest control (95 % interval)"
    title = f"What ‘{edit}’ does to what is expected next, by layer"
    return View(title, rows, Lines(lines, label="nats", percent=False), note)


def _summarize_pairs(rows: pd.DataFrame) -> Statement:
    """At which site an edit of two words moves the expected next token furthest, beside its strongest control."""
    beyond = rows["beyond"] if "beyond" in rows else pd.Series(np.nan, rows.index)
    edited = rows[(rows["control"] == "real") & beyond.notna()]
    if edited.empty:
        return Statement(f"{len(rows)} rows of edits of pairs; none stands beside a control.")
    is_sure = edited["beyond_low"] > 0 if "beyond_low" in edited else edited["beyond"] > 0
    best = top(edited[is_sure], "beyond") if is_sure.any() else top(edited, "change")
    brief = (
        f"The expected next token moves furthest towards that of the other text by ‘{best['edit']}’ at {site_label(best['site'])}: "
        f"{number(best, 'change', '.2f')} nats, {number(best, 'beyond', '.2f')} more than by the strongest control ({best['against']})"
    )
    agrees = f"{percent(best, 'agrees', 0)} of {best['n']} trials"
    text = f"{brief}. The next token is then that of the other text in {agrees}."
    if not is_sure.any():
        brief = f"At no site ‘{best['edit']}’ moves the expected next token surely more than its strongest control does"
        text = f"{brief}. {text}"
    return Statement(text, (link_vectors(best["site"]),), brief=f"{brief}.")


def _show_heads(rows: pd.DataFrame, edit: str) -> View:
    """A row per site, a column per head: the change of exact match, in points."""
    scene = head_squares(rows, edit)
    title = f"Change of exact match, in points, when one head's vectors are replaced ({edit})"
    title += scene.title.removeprefix(edit)
    note = f"{int(rows['n'].max())} examples; in brackets: the 95 % interval includes 0."
    return View(title, rows, replace(scene, title=title, note=note), note)


def _summarize_sweep(rows: pd.DataFrame) -> Statement:
    edited = rows[rows["edit"] != "none"]
    if "change" not in edited or edited["change"].isna().all():
        return Statement(f"{len(rows)} edits were tried.")
    worst = top(edited, "change", -1)
    sure = edited[(edited["change_low"] > 0) | (edited["change_high"] < 0)]
    low, high = 100 * worst["change_low"], 100 * worst["change_high"]
    text = (
        f"{len(sure)} of {len(edited)} edits change the share of right answers beyond chance. Most does "
        f"‘{worst['edit']}’ at {site_label(worst['site'], worst['head'])}: {100 * worst['change']:+.1f} points "
        f"[{low:+.1f}, {high:+.1f}], of {worst['n']} questions."
    )
    is_site = "*" not in worst["site"]
    return Statement(text, (link_vectors(worst["site"], worst["head"]),) if is_site else ())


def _show_edits(rows: pd.DataFrame) -> View:
    is_full = rows["strength"].eq(1) | rows["edit"].eq("none")
    names = rows["edit"].mask(~is_full, rows["edit"] + " × " + rows["strength"].astype(str))
    groups = rows["site"].where(rows["edit"] != "none", "as trained")
    dots = measured(rows, "exact_match", name=names, group=groups)
    dots = dots[["value", "low", "high", "name", "group"]]
    return View("Exact match when whole sites are edited", dots, Dots(dots, "exact match"))
