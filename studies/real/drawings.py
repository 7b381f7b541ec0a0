"""The four figures of the study, from its tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from studies.pictures import compact_file
from studies.real.outcomes import RESULTS
from tprprobe.figures.colors import palette
from tprprobe.figures.style import FAINT, INK, MUTED, Drawing, drawing, tidy

FOLDER = Path("docs/images/real")
MODELS = {"minilm": "MiniLM", "smollm2": "SmolLM2-135M"}  # as a reader knows them
DIGITS = Path(__file__).parents[1] / "tpdn" / "cells.csv"
SCHEMES = {
    "bag": "letters alone",
    "left": "place from the left",
    "right": "place from the right",
    "left*right": "both",
    "syllable": "place in syllables",
    "wickel": "neighbors",
    "left+after": "left, and next letter",
}


def read_result(name: str) -> pd.DataFrame:
    """One of the committed tables of the study."""
    return pd.read_csv(RESULTS / f"{name}.csv", keep_default_na=False, na_values=[""])


def _band(
    panel: Any,
    x: Any,
    rows: pd.DataFrame,
    color: str | tuple[float, float, float],
    label: str,
    name: str = "value",
    **style: Any,
) -> None:
    """A line with its intervals as a band."""
    panel.plot(x, rows[name], color=color, label=label, marker="o", markersize=3, **style)
    panel.fill_between(
        x, rows[f"{name}_low"], rows[f"{name}_high"], color=color, alpha=0.18, linewidth=0
    )


def draw_spelling() -> Drawing:
    """Pronunciations that a decomposition keeps, by roles, beside the same on digits."""
    rows = read_result("spelling-fits").query("family == 'saturated' and seed == 0")
    digits = pd.read_csv(DIGITS).query("task == 'copy' and encoder == 'uni'")
    figure = drawing(7, 2.9)
    panels = figure.subplots(1, 2, sharey=True)
    names, hues = list(SCHEMES), palette(2)
    for offset, control, color in ((-0.13, "", hues[1]), (0.13, "permuted", MUTED)):
        fits = rows[rows["control"].fillna("") == control]
        y = fits["roles"].map(names.index) + offset
        errors = [fits["kept"] - fits["kept_low"], fits["kept_high"] - fits["kept"]]
        label = control and "roles permuted"
        panels[0].errorbar(
            fits["kept"],
            y,
            xerr=errors,
            fmt="o",
            color=color,
            ms=4,
            label=label or "English spelling",
        )
    panels[0].set(xlabel="words whose whole pronunciation is kept", xlim=(0, None))
    _draw_digits(panels[1], digits, names)
    panels[0].set_yticks(range(len(names)), SCHEMES.values())
    panels[0].invert_yaxis()
    for panel, title in zip(panels, ("g2p_en, English words", "TPDN, digits"), strict=True):
        panel.grid(axis="x", color=FAINT, linewidth=0.5)
        tidy(panel, title)
    panels[0].legend(fontsize=7, frameon=False, loc="upper right")
    return figure


def _draw_digits(panel: Any, digits: pd.DataFrame, names: list[str]) -> None:
    """Digits that a decomposition keeps, of recurrent encoders that copy: a dot a decoder and seed."""
    if not digits.empty:
        of_schemes = digits[digits["roles"].isin(names)]
        panel.plot(
            of_schemes["substitution"],
            of_schemes["roles"].map(names.index),
            "o",
            ms=4,
            color=INK,
            alpha=0.5,
        )
    panel.set(xlabel="sequences that are read back", xlim=(0, 1.02))


def draw_sentences() -> Drawing:
    """Exchanges of agent and patient by layer: fitted by role, by place, by permuted roles; and by a twin."""
    rows = read_result("sentence-vectors").query("frame == 'clauses' and seed == 0")
    rows = rows.assign(layer=rows["site"].map(_layer))
    figure = drawing(7, 2.9)
    cosines, right = figure.subplots(1, 2)
    hues = palette(4)
    for (measure, twin, label), color in zip(
        (
            ("cosine role", "", "agent and patient"),
            ("cosine place", "", "first and second place"),
            ("cosine shuffled", "", "roles permuted"),
            ("cosine role", "permuted-0", "agent and patient, permuted weights"),
        ),
        (*hues[:2], MUTED, hues[3]),
        strict=True,
    ):
        measure_rows = rows[
            (rows["measure"] == measure) & (rows["twin"].fillna("") == twin)
        ].sort_values("layer")
        _band(cosines, measure_rows["layer"], measure_rows, color, label)
    cosines.set(
        xlabel="layer (−1: the input embeddings)",
        ylabel="cosine of real and fitted exchange",
        ylim=(-0.08, 1.05),
    )
    for (measure, label), color in zip(
        (
            ("before_exchange", "paraphrase before its exchange"),
            ("own_exchange_first", "the query's exchange before its paraphrase"),
        ),
        hues[:2],
        strict=True,
    ):
        measure_rows = rows[
            (rows["measure"] == measure) & (rows["twin"].fillna("") == "")
        ].sort_values("layer")
        _band(right, measure_rows["layer"], measure_rows, color, label)
    right.axhline(0.5, color=MUTED, linewidth=0.8, linestyle=":")
    right.set(xlabel="layer", ylabel="share of searches", ylim=(0, 1.02))
    for panel, title in (
        (cosines, "Where the exchange points"),
        (right, "What a search ranks first"),
    ):
        panel.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(panel, title)
        panel.legend(
            fontsize=6.5, frameon=False, loc="upper left" if panel is cosines else "lower left"
        )
    return figure


def _layer(site: str) -> int:
    return int(site.split(".")[1]) if site.endswith(".hidden") else -1


def draw_language_model() -> Drawing:
    """By layer: the learned gain of bindings at the period, and how often the verb turns."""
    nested, turns = read_result("period-gains"), read_result("agreement")
    figure = drawing(7, 4.6)
    top, bottom = figure.subplots(2, 1, sharex=True)
    hues = palette(4)
    nested = (
        nested[nested["seed"] == 0].assign(layer=nested["site"].map(_layer)).sort_values("layer")
    )
    for name, label, color in (
        ("gain", "trained", hues[0]),
        ("learned", "trained minus permuted weights", hues[1]),
    ):
        _band(top, nested["layer"], nested, color, label, name)
    top.axhline(0, color=MUTED, linewidth=0.8, linestyle=":")
    top.set(ylabel="gain of bindings in R²")
    label_of = {
        ("subject", "exchange"): "subject's number, at the subject",
        ("last", "exchange"): "subject's number, before the verb",
        ("last", "attractor"): "attractor's number, before the verb",
        ("subject", "random"): "random direction, at the subject",
    }
    for ((place, edit), label), color in zip(label_of.items(), (*hues[:3], MUTED), strict=True):
        edit_rows = turns[
            (turns["place"] == place) & (turns["edit"] == edit) & (turns["seed"] == 0)
        ]
        _band(bottom, edit_rows["layer"], edit_rows.sort_values("layer"), color, label, "turned")
    bottom.set(xlabel="layer", ylabel="share of verbs that turn", ylim=(-0.02, 1.02))
    for panel, title in (
        (top, "Words bound to places, at the period"),
        (bottom, "The verb's number, when a state is exchanged"),
    ):
        panel.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(panel, title)
        panel.legend(fontsize=6.5, frameon=False)
    return figure


def draw_layers() -> Drawing:
    """What every layer adds to the input embeddings, by task and model."""
    rows = read_result("layer-knowledge")
    rows = rows[(rows["seed"] == 0) & rows["layer"].notna()]
    models = rows["model"].unique().tolist()
    figure = drawing(7, 2.9)
    panels = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
    for panel, model in zip(panels, models, strict=True):
        tasks = rows["task"].unique().tolist()
        for task, color in zip(tasks, palette(len(tasks)), strict=True):
            task_rows = rows[(rows["model"] == model) & (rows["task"] == task)].sort_values("layer")
            _band(panel, task_rows["layer"], task_rows, color, task.upper(), "added")
        panel.axhline(0, color=MUTED, linewidth=0.8, linestyle=":")
        panel.set(xlabel="layer", ylabel="F1 above the input embeddings")
        panel.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(panel, MODELS[model])
    panels[0].legend(fontsize=6.5, frameon=False)
    return figure


FIGURES: dict[
    str, tuple[str, Callable[[], Drawing]]
] = {  # name: the table that it needs, and the drawing
    "sentences": ("sentence-vectors", draw_sentences),
    "language-model": ("period-gains", draw_language_model),
    "spelling": ("spelling-fits", draw_spelling),
    "layers": ("layer-knowledge", draw_layers),
}


def draw_figures(out: Path = FOLDER) -> list[Path]:
    """The figures whose tables are there, as SVG files."""
    paths = []
    for name, (result, draw) in FIGURES.items():
        if (RESULTS / f"{result}.csv").is_file():
            out.mkdir(parents=True, exist_ok=True)
            draw().savefig(out / f"{name}.svg")
            compact_file(out / f"{name}.svg")
            paths.append(out / f"{name}.svg")
    return paths
