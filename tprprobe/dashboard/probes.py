"""Probes by layer beside the band of their strongest control."""

from collections.abc import Sequence

import pandas as pd

from tprprobe.analyses.probing.plan import find_replaced as find_replaced
from tprprobe.analyses.probing.rows import find_metric, name_score, name_vector, rank_layers
from tprprobe.analyses.probing.slice_scores import score_slices as score_slices
from tprprobe.dashboard.statements import Statement, link_vectors, percent, top
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.loaders import load_probes as load_probes
from tprprobe.figures.labels import CONTROLS, site_label
from tprprobe.figures.probe_captions import TITLES
from tprprobe.figures.probes import probe_table


def show_probes(rows: pd.DataFrame, task: str, models: Sequence[str] | None = None) -> View:
    """A task's score by layer, a line a kind of vectors (and model, of which the first is shown if none is chosen), over the band of
    the strongest control. Custom data of the points are numbers of rows in the view's data.
    """
    of_task = rows[(rows["task"] == task) & rows["head"].isna()]
    if of_task.empty:
        raise InputError(f"no probes of {task!r}: give one of {', '.join(rows['task'].unique())}")
    models = list(models or of_task["model"].unique()[:1])
    data = of_task[of_task["model"].isin(models)].reset_index(drop=True)
    if data.empty:
        raise unknown("model", models[0], of_task["model"].unique().tolist())
    lines = probe_table(data).lines
    data = data.replace("static", CONTROLS["static"])
    return View(f"{TITLES.get(task, task)} by layer: {lines.label}, held out", data, lines)


def summarize_probes(rows: pd.DataFrame, task: str, models: Sequence[str]) -> Statement:
    """Where a task's labels are read best, and at how many places beyond every control."""
    real = rows[(rows["task"] == task) & (rows["control"] == "real") & rows["head"].isna()]
    real = real[real["model"].isin(list(models))]
    if real.empty:
        return Statement(f"No vectors were probed for {task}.")
    score = find_metric(real)
    name, best = name_score(real), find_best(real)
    verb = "is predicted best from" if real["site"].nunique() > 1 else "is predicted from"
    claim = f"{TITLES.get(task, f'‘{task}’')} {verb} {site_label(best['site'])}: {name} {percent(best, score)}"
    rival = ""
    if isinstance(best["best_control"], str):
        control = CONTROLS.get(best["best_control"], best["best_control"])
        is_beyond = pd.notna(best["beats_controls"]) and bool(best["beats_controls"])
        verdict = "beyond" if is_beyond else "not beyond"
        rival = f"; {verdict} its strongest control, {control}: {name} {100 * best['best_control_f1']:.1f} %"
    text = f"{claim}, held out{rival}"
    if "static" not in set(rows.loc[rows["task"] == task, "control"]):
        text += "; not compared with input embeddings, often the strongest control"
    tested = real[real["beats_controls"].notna()]
    stacks = tested["site"].astype(str).str.split(".").str[0]
    groups = tested["beats_controls"].astype(bool).groupby(stacks, sort=False)
    counts = [f"{flags.sum()} of {len(flags)} sites of the {stack}" for stack, flags in groups]
    better = f" Above every control (paired, Holm): {'; '.join(counts)}." if counts else ""
    is_vector = real["site"].map(name_vector) == name_vector(best["site"])
    ranks = rank_layers(real[is_vector & (real["model"] == best["model"])]).values()
    ranking = "".join(f" {rank.capitalize()} (paired, Holm)." for rank in ranks)
    label = f"Show {site_label(best['site'])} by {task}"
    link = link_vectors(best["site"], None, label, color=f"gold {task}")
    return Statement(f"{text}.{better}{ranking}", (link,), brief=f"{claim}{rival}.{ranking}")


def find_best(rows: pd.DataFrame) -> pd.Series:
    """The row of real labels whose score is highest; of controls alone the first."""
    real = rows[rows["control"] == "real"]
    return top(real, find_metric(real)) if len(real) else rows.iloc[0]
