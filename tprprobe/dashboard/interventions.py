"""Finished interventions: heads replaced, vectors snapped, vectors of two words exchanged, and what plug-ins edit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from tprprobe import plugins
from tprprobe.dashboard.statements import Statement, link_vectors, number, top
from tprprobe.dashboard.view import View, measured
from tprprobe.figures.behavior import EDIT_ITSELF, contrast_rows, describe_change
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


def summarize_run(folder: Path, rows: pd.DataFrame, edit: str) -> Statement:
    """What an edit of a run changed, after the model and, of patching, the two texts; a run may not name them."""
    path = folder / INTERVENTIONS.file
    if edit == PATCHED:
        statement = Statement(summarize_patching(rows))
    elif "kl" in rows:
        statement = Statement(describe_change(rows, edit)[0])
    else:
        view = _find_view(rows)
        statement = view.summarize(rows, edit) if view else _summarize_sweep(rows)
    record = read_json(path) if path.is_file() else {}
    model = record.get("model")
    name = model.get("name") if isinstance(model, dict) else model
    texts = [f"‘{visible(record[key], 200)}’" for key in ("text", "against") if record.get(key)]
    about = ", ".join([visible(name, 80)] * bool(name) + [" against ".join(texts)] * bool(texts))
    return replace(statement, text=f"{about}: {statement.text}" if about else statement.text)


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


def _show_pairs(rows: pd.DataFrame, edit: str) -> View:
    """How far an edit moves the next token towards that of the other text, by layer, beside all its controls."""
    lines = contrast_rows(rows, edit, "change")
    hints = lines["line"].replace(EDIT_ITSELF, edit) + " at " + lines["site"]
    lines = lines.assign(told=hints + lines["value"].map(": {:.2f} nats".format))
    lines["sure"] = (lines["low"] > 0) & (lines["beyond_low"] > 0)  # as the sentence has it
    pairs = f"{int(lines['n'].max())} pairs; " if len(lines) else ""
    note = f"{pairs}filled: above 0 and the strongest control (95 % intervals)"
    title = "Change of the log-odds of the other answer, by layer"
    return View(title, rows, Lines(lines, label="nats", percent=False), note)


def _show_heads(rows: pd.DataFrame, edit: str) -> View:
    """A row per site, a column per head: the change of exact match, in points."""
    scene = head_squares(rows, edit)
    title = f"Change of exact match, in points, when one head's vectors are replaced ({edit})"
    title += scene.title.removeprefix(edit)
    note = f"{int(rows['n'].max())} examples; in brackets: the 95 % interval includes 0."
    return View(title, rows, replace(scene, title=title, note=note), note)


def _summarize_sweep(rows: pd.DataFrame) -> Statement:
    edited = rows[rows["edit"].ne("none") & rows["change"].notna()]
    if edited.empty:
        return Statement(f"{len(rows)} edits were tried.")
    most = top(edited.assign(size=edited["change"].abs()), "size")
    sure = edited[(edited["change_low"] > 0) | (edited["change_high"] < 0)]
    text = (
        f"{len(sure)} of {len(edited)} edits change the share of right answers beyond chance. The largest change is by "
        f"‘{most['edit']}’ at {site_label(most['site'], most['head'])}: {number(most, 'change', '+.1f', 100, ' points')}, of {most['n']} questions."
    )
    is_site = "*" not in most["site"]
    return Statement(text, (link_vectors(most["site"], most["head"]),) if is_site else ())


def _show_edits(rows: pd.DataFrame) -> View:
    is_full = rows["strength"].eq(1) | rows["edit"].eq("none")
    names = rows["edit"].mask(~is_full, rows["edit"] + " × " + rows["strength"].astype(str))
    groups = rows["site"].where(rows["edit"] != "none", "as trained")
    dots = measured(rows, "exact_match", name=names, group=groups)
    dots = dots[["value", "low", "high", "name", "group"]]
    return View("Exact match when whole sites are edited", dots, Dots(dots, "exact match"))
