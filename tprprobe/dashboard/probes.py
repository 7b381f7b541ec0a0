"""Probes by layer beside the band of their strongest control, and what they mistake for what."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing.rows import find_metric
from tprprobe.analyses.probing.saved_probe import list_errors as list_errors
from tprprobe.analyses.probing.saved_probe import list_probes as list_probes
from tprprobe.analyses.probing.saved_probe import predict_held_out as predict_held_out
from tprprobe.dashboard.chart_data import Lines, Squares
from tprprobe.dashboard.statements import Statement, link_vectors, name_vectors, percent, top
from tprprobe.dashboard.view import View, measured
from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.loaders import load_probes as load_probes
from tprprobe.figures.dots import count_squares
from tprprobe.figures.probes import strongest_control

SCORES = {"f1": "F1", "accuracy": "accuracy", "score": "score"}
SIGNS = "filled: above every control (paired, Holm); gray: the best control with its 95 % interval"
FEW, MOST = 3, 16  # places that are named, labels of a matrix


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
    whole = rows[(rows["task"] == task) & rows["head"].isna()]
    if whole.empty:
        raise InputError(f"no probes of {task!r}: give one of {', '.join(rows['task'].unique())}")
    shown = list(models or whole["model"].unique()[:1])
    chosen = whole[whole["model"].isin(shown)].reset_index(drop=True)
    if chosen.empty:
        raise unknown("model", shown[0], whole["model"].unique().tolist())
    score = find_metric(chosen) if chosen[score].isna().all() else score
    lines = line_probes(chosen, score, every, len(shown) > 1)
    title = f"{SCORES[score]} of {task} by layer, held out, 95 % intervals"
    return View(title, chosen, lines, None, SIGNS)


def line_probes(
    rows: pd.DataFrame, score: str = "f1", every: bool = False, named: bool = False
) -> Lines:
    """The lines of one task's probes, and the bands of their strongest controls."""
    real = rows[(rows["control"] == "real") & rows["layer"].notna()]
    real = real.sort_values("layer", kind="stable")
    beside = [strongest_control(rows, row, score) for _, row in real.iterrows()]
    found = [(name, each.value, each.low, each.high) for name, each in beside]
    bands = pd.DataFrame(found, real.index, ["control", "value", "low", "high"])
    panels = real["site"].map(name_vectors) + (" · " + real["model"].astype(str) if named else "")
    learnt = real["n_train"] if "n_train" in real else [""] * len(real)
    told = [
        f"{site}: {100 * value:.1f} % · best control: {control} {100 * other:.1f} % · learnt from {n} targets"
        for site, value, control, other, n in zip(
            real["site"], real[score], bands["control"], bands["value"], learnt, strict=True
        )
    ]
    at = {"panel": panels, "line": "vectors", "x": real["layer"], "told": told}
    own = measured(real, score, **at, sure=real["beyond"].eq(True))
    own = own[[*at, "value", "low", "high", "sure"]]
    extra = list(_controls(rows, own, real, score)) if every else []
    bands = bands.assign(panel=panels, x=real["layer"]).dropna(subset=["value"])
    return Lines(pd.concat([own, *extra]), bands, SCORES[score])


def _controls(rows: pd.DataFrame, own: pd.DataFrame, real: pd.DataFrame, score: str) -> Any:
    """A line per control of these sites; those without a site (rules) lie level through all layers."""
    for name in [each for each in rows["control"].unique() if each != "real"]:
        same = rows[rows["control"] == name]
        at_site = same.drop_duplicates(["site", "model"]).set_index(["site", "model"])[score]
        rule = same.loc[same["layer"].isna(), score].mean()
        keys = zip(real["site"], real["model"], strict=True)
        values = np.array([at_site.get(key, rule) for key in keys], float)
        found = own.assign(line=name, value=values, low=np.nan, high=np.nan, sure=False)
        told = [f"{name}: {100 * each:.1f} %" for each in values]
        yield found.assign(told=told).dropna(subset=["value"])


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
    first = f"{task.upper()} is predicted best from {best['site']}: {SCORES[score]} {percent(best, score)}"
    beside = ""
    if isinstance(best["best_control"], str):
        control = f"{SCORES[find_metric(real)]} {100 * best['best_control_f1']:.1f} %"
        beside = f"; its best control, {best['best_control']}: {control}"
    text = f"{first}, held out, learnt from {best['n_train']:,} targets{beside}"
    tested = real[real["beyond"].notna()]
    stacks = tested["site"].astype(str).str.split(".").str[0]
    groups = tested.groupby(stacks, sort=False)
    parts = [_summarize_beyond(str(stack), part) for stack, part in groups]
    beyond = f" Above every control (paired, Holm): {'; '.join(parts)}." if parts else ""
    told = f"Show {best['site']} by {task}"
    link = link_vectors(best["site"], None, told, color=f"gold {task}")
    return Statement(f"{text}.{beyond}", (link,), brief=f"{first}{beside}.")


def _summarize_beyond(stack: str, tested: pd.DataFrame) -> str:
    is_beyond = tested["beyond"].astype(bool)
    found = tested.loc[is_beyond, "site"].unique().tolist()
    more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
    named = f" ({', '.join(found[:FEW])}{more})" if found else ""
    return f"{is_beyond.sum()} of {len(tested)} sites of the {stack}{named}"


def show_confusions(found: pd.DataFrame, task: str) -> View:
    """How often every label (rows, the commonest) is predicted as every other: of every label the shares."""
    common = found["label"].value_counts().index[:MOST]
    shown = found[found["label"].isin(common)]
    predicted = shown["predicted"].where(shown["predicted"].isin(common), "other")
    columns = [*common, "other"]
    table = pd.crosstab(shown["label"], predicted)
    table = table.reindex(common).reindex(columns=columns, fill_value=0)
    counts = table.to_numpy()
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    percents = np.char.mod("%.0f", 100 * shares)
    texts = np.where(shares >= 0.05, percents, "")
    told = np.char.add(np.char.add(percents, " % ("), np.char.add(counts.astype(str), ")"))
    names = (f"{task} label", "predicted")
    title = f"What a probe of {task} predicts for every label, held out"
    note = f"percent of a row; the {len(counts)} most frequent of {found['label'].nunique()} labels"
    grid = Squares(shares, [*common], columns, names, texts, told)
    draw = partial(count_squares, counts, title, names)
    return View(title, table.reset_index(names="label"), grid, draw, note)


def summarize_errors(found: pd.DataFrame, task: str, site: str) -> Statement:
    """How many predictions are right, and the commonest confusion."""
    right = int((found["label"] == found["predicted"]).sum())
    text = f"{site} predicts {right:,} of {len(found):,} held-out {task} labels right ({100 * right / len(found):.1f} %)"
    wrong = found[found["label"] != found["predicted"]]
    if len(wrong):
        counts: Any = wrong.value_counts(["label", "predicted"])
        (label, predicted), n = next(iter(counts.items()))
        text += f"; most frequent mistake: {label} predicted as {predicted}, {n} times"
    return Statement(f"{text}.")
