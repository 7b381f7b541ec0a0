"""Probes by layer beside the band of their strongest control, and what they mistake for what."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing.rows import find_metric, name_score
from tprprobe.analyses.probing.saved_probe import list_errors as list_errors
from tprprobe.analyses.probing.saved_probe import list_probes as list_probes
from tprprobe.analyses.probing.saved_probe import predict_held_out as predict_held_out
from tprprobe.dashboard.statements import Statement, link_vectors, percent, top
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.loaders import load_probes as load_probes
from tprprobe.figures.labels import CONTROLS, site_label
from tprprobe.figures.probes import TITLES, probe_table
from tprprobe.figures.scenes import Squares

SIGNS = "filled: above every control (paired, Holm); gray: the best control with its 95 % interval"
MAX_SITES, MAX_LABELS = 3, 16  # sites that are named, labels of a matrix


def show_probes(rows: pd.DataFrame, task: str, models: Sequence[str] | None = None) -> View:
    """A task's score by layer, a line a kind of vectors (and model), over the band of the strongest control.

    ``rows`` are those of ``tprprobe probe``; of ``models`` the first is shown if none is chosen. Custom data of the points are
    numbers of rows in the view's data.
    """
    of_task = rows[(rows["task"] == task) & rows["head"].isna()]
    if of_task.empty:
        raise InputError(f"no probes of {task!r}: give one of {', '.join(rows['task'].unique())}")
    models = list(models or of_task["model"].unique()[:1])
    data = of_task[of_task["model"].isin(models)].reset_index(drop=True)
    if data.empty:
        raise unknown("model", models[0], of_task["model"].unique().tolist())
    lines = probe_table(data).scene
    return View(f"{TITLES.get(task, task)} by layer: {lines.label}, held out", data, lines, SIGNS)


def summarize_probes(rows: pd.DataFrame, task: str, models: Sequence[str]) -> Statement:
    """Where a task's labels are read best, and at how many places beyond every control."""
    real = rows[(rows["task"] == task) & (rows["control"] == "real") & rows["head"].isna()]
    real = real[real["model"].isin(list(models))]
    if real.empty:
        return Statement(f"No vectors were probed for {task}.")
    score = find_metric(real)
    name, best = name_score(real), top(real, score)
    claim = f"{TITLES.get(task, task.capitalize())} is predicted best from {site_label(best['site'])}: {name} {percent(best, score)}"
    rival = ""
    if isinstance(best["best_control"], str):
        control = CONTROLS.get(best["best_control"], best["best_control"])
        rival = f"; its best control, {control}: {name} {100 * best['best_control_f1']:.1f} %"
    text = f"{claim}, held out, learned from {best['n_train']:,} targets{rival}"
    tested = real[real["beyond"].notna()]
    stacks = tested["site"].astype(str).str.split(".").str[0]
    groups = tested.groupby(stacks, sort=False)
    counts = [_summarize_beyond(str(stack), of_stack) for stack, of_stack in groups]
    beyond = f" Above every control (paired, Holm): {'; '.join(counts)}." if counts else ""
    label = f"Show {site_label(best['site'])} by {task}"
    link = link_vectors(best["site"], None, label, color=f"gold {task}")
    return Statement(f"{text}.{beyond}", (link,), brief=f"{claim}{rival}.")


def _summarize_beyond(stack: str, tested: pd.DataFrame) -> str:
    is_beyond = tested["beyond"].astype(bool)
    sites = [*map(site_label, tested.loc[is_beyond, "site"].unique())]
    rest = f" and {len(sites) - MAX_SITES} more" if len(sites) > MAX_SITES else ""
    names = f" ({', '.join(sites[:MAX_SITES])}{rest})" if sites else ""
    return f"{is_beyond.sum()} of {len(tested)} sites of the {stack}{names}"


def show_confusions(predictions: pd.DataFrame, task: str) -> View:
    """How often every label (rows, the commonest) is predicted as every other: of every label the shares."""
    labels = predictions["label"].value_counts().index[:MAX_LABELS]
    rows = predictions[predictions["label"].isin(labels)]
    predicted = rows["predicted"].where(rows["predicted"].isin(labels), "other")
    columns = [*labels, "other"]
    table = pd.crosstab(rows["label"], predicted)
    table = table.reindex(labels).reindex(columns=columns, fill_value=0)
    counts = table.to_numpy()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    percents = np.char.mod("%.0f", 100 * shares)
    texts = np.where(shares >= 0.05, percents, "")
    hints = np.char.add(np.char.add(percents, " % ("), np.char.add(counts.astype(str), ")"))
    title = f"What a probe of {task} predicts for every label, held out"
    note = f"percent of a row; the {len(counts)} most frequent of {predictions['label'].nunique()} labels"
    scene = Squares(shares, [*labels], columns, (f"{task} label", "predicted"), texts, hints)
    return View(title, table.reset_index(names="label"), scene, note)


def summarize_errors(predictions: pd.DataFrame, task: str, site: str) -> Statement:
    """How many predictions are right, and the commonest confusion."""
    n, right = len(predictions), int((predictions["label"] == predictions["predicted"]).sum())
    text = f"The state at {site_label(site)} predicts {right:,} of {n:,} held-out {task} labels right ({100 * right / n:.1f} %)"
    wrong = predictions[predictions["label"] != predictions["predicted"]]
    if len(wrong):
        counts: Any = wrong.value_counts(["label", "predicted"])
        (label, predicted), n_times = next(iter(counts.items()))
        text += f"; most frequent mistake: {label} predicted as {predicted}, {n_times} times"
    return Statement(f"{text}.")
