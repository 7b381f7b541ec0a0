"""Probes by layer beside the band of their strongest control; what a task's probe mistakes for what."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.dashboard.plots import Lines, plot_lines
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.by_layer import draw_lines
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.figures.probes import strongest_control

SCORES = {"f1": "F1", "accuracy": "accuracy"}
SIGNS = "filled: beyond every control (paired, Holm); grey: the best control with its 95 % interval"


def show_probes(
    rows: pd.DataFrame,
    task: str,
    dark: bool = False,
    score: str = "f1",
    models: Sequence[str] | None = None,
    every: bool = False,
) -> View:
    """The score of a task by layer: a panel per vector (and model), its best control as a grey band.

    ``models`` are shown side by side (default: the first), ``every`` adds a line per control. The points' custom
    data are the row in the view's data that they stand for.

    Raises:
        InputError: no such task, model or score.
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
    lines = line_probes(chosen, score, every, len(shown) > 1)
    title = f"{SCORES[score]} of {task} by layer, held out, 95 % intervals"
    return View(title, partial(draw_lines, lines, title), chosen, SIGNS, plot_lines(lines, dark))


def read_probes(folders: Mapping[str, Path]) -> pd.DataFrame:
    """The rows of finished probes."""
    return load_probes(folders.values())


def line_probes(
    rows: pd.DataFrame, score: str = "f1", every: bool = False, named: bool = False
) -> Lines:
    """The lines of one task's probes, and the bands of their strongest controls."""
    real = rows[(rows["control"] == "real") & rows["layer"].notna()]
    panels = real["site"].map(name_vectors) + (" · " + real["model"].astype(str) if named else "")
    beside = [strongest_control(rows, row, score) for _, row in real.iterrows()]
    band = pd.DataFrame(
        [(name, each.value, each.low, each.high) for name, each in beside],
        columns=["control", "value", "low", "high"],
        index=real.index,
    )
    learnt = real["n_train"] if "n_train" in real else [""] * len(real)
    told = [
        f"{site}: {100 * value:.1f} % · best control: {control} {100 * other:.1f} % · learnt from {n} targets"
        for site, value, control, other, n in zip(
            real["site"], real[score], band["control"], band["value"], learnt, strict=True
        )
    ]
    own = pd.DataFrame(
        {"panel": panels, "line": "vectors", "x": real["layer"], "value": real[score]}
        | {"low": real[f"{score}_low"], "high": real[f"{score}_high"], "told": told}
        | {"sure": (real["beyond"] == True).to_numpy()}  # noqa: E712
    ).sort_values("x", kind="stable")
    bands = (
        band.assign(panel=panels, x=real["layer"])
        .dropna(subset=["value"])
        .sort_values("x", kind="stable")
    )
    extra = list(_controls(rows, own, real, score)) if every else []
    return Lines(pd.concat([own, *extra]), bands, SCORES[score])


def name_vectors(site: Any) -> str:
    """A site without its layer, in words: ``encoder self role``."""
    return " ".join(part for part in str(site).split(".") if not part.isdigit())


def _controls(rows: pd.DataFrame, own: pd.DataFrame, real: pd.DataFrame, score: str) -> Any:
    """A line per control of these sites; those without a site (rules) lie level through all layers."""
    for name in [each for each in rows["control"].unique() if each != "real"]:
        same = rows[rows["control"] == name]
        at_site = same.drop_duplicates(["site", "model"]).set_index(["site", "model"])[score]
        rule = same.loc[same["layer"].isna(), score].mean()
        keys = list(zip(real.loc[own.index, "site"], real.loc[own.index, "model"], strict=True))
        values = np.array([at_site.get(key, rule) for key in keys], float)
        found = own.assign(line=name, value=values, low=np.nan, high=np.nan, sure=False)
        yield found.assign(told=[f"{name}: {100 * each:.1f} %" for each in values]).dropna(
            subset=["value"]
        )
