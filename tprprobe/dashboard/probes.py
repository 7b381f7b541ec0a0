"""Probes by layer beside the band of their strongest control, and what they mistake for what."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing.rows import find_metric
from tprprobe.analyses.probing.saved_probe import list_errors as list_errors
from tprprobe.analyses.probing.saved_probe import list_probes as list_probes
from tprprobe.analyses.probing.saved_probe import predict_held_out as predict_held_out
from tprprobe.dashboard.statements import Statement, link_vectors, name_vectors, percent, top
from tprprobe.dashboard.view import View, measured
from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.loaders import load_probes as load_probes
from tprprobe.figures.labels import CONTROLS
from tprprobe.figures.probes import strongest_control
from tprprobe.figures.scenes import Lines, Squares

SCORES = {"f1": "F1", "accuracy": "accuracy", "score": "score"}
SIGNS = "filled: above every control (paired, Holm); gray: the best control with its 95 % interval"
MAX_SITES, MAX_LABELS = 3, 16  # sites that are named, labels of a matrix


def show_probes(
    rows: pd.DataFrame,
    task: str,
    score: str = "f1",
    models: Sequence[str] | None = None,
    every: bool = False,
) -> View:
    """The view of a task's score by layer: a panel per vector (and model), its best control as a grey band.

    Args:
        rows: Rows of ``tprprobe probe``; see [columns](probing.md#columns-of-probes).
        task: The task.
        score: The column that is drawn.
        models: Models that are shown side by side; default: the first.
        every: Whether every control has a line.

    Returns:
        The view; custom data of the points are numbers of rows in its data.

    Raises:
        InputError: No such task, model or score.

    Examples:
        >>> rows = pd.DataFrame({"task": ["pos"], "head": [None], "model": ["a"], "f1": [0.5]})
        >>> tp.dashboard.show_probes(rows, "dep")
        Traceback (most recent call last):
        tprprobe.errors.InputError: no probes of 'dep': give one of pos
    """
    if score not in SCORES:
        raise unknown("score", score, SCORES)
    of_task = rows[(rows["task"] == task) & rows["head"].isna()]
    if of_task.empty:
        raise InputError(f"no probes of {task!r}: give one of {', '.join(rows['task'].unique())}")
    models = list(models or of_task["model"].unique()[:1])
    data = of_task[of_task["model"].isin(models)].reset_index(drop=True)
    if data.empty:
        raise unknown("model", models[0], of_task["model"].unique().tolist())
    score = find_metric(data) if data[score].isna().all() else score
    lines = line_probes(data, score, every, len(models) > 1)
    title = f"{SCORES[score]} of {task} by layer, held out, 95 % intervals"
    return View(title, data, lines, None, SIGNS)


def line_probes(
    rows: pd.DataFrame, score: str = "f1", every: bool = False, with_models: bool = False
) -> Lines:
    """The lines of one task's probes, and the bands of their strongest controls."""
    real = rows[(rows["control"] == "real") & rows["layer"].notna()]
    real = real.sort_values("layer", kind="stable")
    controls = [strongest_control(rows, row, score) for _, row in real.iterrows()]
    ends = [(name, interval.value, interval.low, interval.high) for name, interval in controls]
    bands = pd.DataFrame(ends, real.index, ["control", "value", "low", "high"])
    panels = real["site"].map(name_vectors)
    panels += " · " + real["model"].astype(str) if with_models else ""
    counts = real["n_train"] if "n_train" in real else [""] * len(real)
    hints = [
        f"{site}: {100 * value:.1f} % · best control: {control} {100 * other_value:.1f} % · learned from {n} targets"
        for site, value, control, other_value, n in zip(
            real["site"], real[score], bands["control"], bands["value"], counts, strict=True
        )
    ]
    columns = {"panel": panels, "line": "vectors", "x": real["layer"], "told": hints}
    lines = measured(real, score, **columns, sure=real["beyond"].eq(True))
    lines = lines[[*columns, "value", "low", "high", "sure"]]
    extra = list(_list_controls(rows, lines, real, score)) if every else []
    bands = bands.assign(panel=panels, x=real["layer"]).dropna(subset=["value"])
    return Lines(pd.concat([lines, *extra]), bands, SCORES[score])


def _list_controls(
    rows: pd.DataFrame, lines: pd.DataFrame, real: pd.DataFrame, score: str
) -> Iterator[pd.DataFrame]:
    """A line per control of these sites; those without a site (rules) lie level through all layers."""
    for name in [control for control in rows["control"].unique() if control != "real"]:
        of_control = rows[rows["control"] == name]
        by_site = of_control.drop_duplicates(["site", "model"]).set_index(["site", "model"])[score]
        rule = of_control.loc[of_control["layer"].isna(), score].mean()
        keys = zip(real["site"], real["model"], strict=True)
        values = np.array([by_site.get(key, rule) for key in keys], float)
        points = lines.assign(line=name, value=values, low=np.nan, high=np.nan, sure=False)
        hints = [f"{name}: {100 * value:.1f} %" for value in values]
        yield points.assign(told=hints).dropna(subset=["value"])


def summarize_probes(
    rows: pd.DataFrame, task: str, models: Sequence[str], score: str = "f1"
) -> Statement:
    """Where a task's labels are read best, and at how many places beyond every control."""
    real = rows[(rows["task"] == task) & (rows["control"] == "real") & rows["head"].isna()]
    real = real[real["model"].isin(list(models))]
    if real.empty:
        return Statement(f"No vectors were probed for {task}.")
    score = find_metric(real) if real[score].isna().all() else score
    best = top(real, score)
    claim = f"{task.upper()} is predicted best from {best['site']}: {SCORES[score]} {percent(best, score)}"
    rival = ""
    if isinstance(best["best_control"], str):
        control = f"{SCORES[find_metric(real)]} {100 * best['best_control_f1']:.1f} %"
        name = CONTROLS.get(best["best_control"], best["best_control"])
        rival = f"; its best control, {name}: {control}"
    text = f"{claim}, held out, learned from {best['n_train']:,} targets{rival}"
    tested = real[real["beyond"].notna()]
    stacks = tested["site"].astype(str).str.split(".").str[0]
    groups = tested.groupby(stacks, sort=False)
    counts = [_summarize_beyond(str(stack), of_stack) for stack, of_stack in groups]
    beyond = f" Above every control (paired, Holm): {'; '.join(counts)}." if counts else ""
    label = f"Show {best['site']} by {task}"
    link = link_vectors(best["site"], None, label, color=f"gold {task}")
    return Statement(f"{text}.{beyond}", (link,), brief=f"{claim}{rival}.")


def _summarize_beyond(stack: str, tested: pd.DataFrame) -> str:
    is_beyond = tested["beyond"].astype(bool)
    sites = tested.loc[is_beyond, "site"].unique().tolist()
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
    return View(title, table.reset_index(names="label"), scene, None, note)


def summarize_errors(predictions: pd.DataFrame, task: str, site: str) -> Statement:
    """How many predictions are right, and the commonest confusion."""
    n, right = len(predictions), int((predictions["label"] == predictions["predicted"]).sum())
    text = (
        f"{site} predicts {right:,} of {n:,} held-out {task} labels right ({100 * right / n:.1f} %)"
    )
    wrong = predictions[predictions["label"] != predictions["predicted"]]
    if len(wrong):
        counts: Any = wrong.value_counts(["label", "predicted"])
        (label, predicted), n_times = next(iter(counts.items()))
        text += f"; most frequent mistake: {label} predicted as {predicted}, {n_times} times"
    return Statement(f"{text}.")
