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


def draw_band(
    panel: Any, x: Any, rows: pd.DataFrame, color: Any, label: str, name: str = "value"
) -> None:
    """A line with its intervals as a band."""
    panel.plot(x, rows[name], color=color, label=label, marker="o", markersize=3)
    low, high = rows[f"{name}_low"], rows[f"{name}_high"]
    panel.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0)


def finish_panel(panel: Any, title: str, axis: Any = "y", place: str = "") -> None:
    """Grid, title, and a legend where a place is given."""
    panel.grid(axis=axis, color=FAINT, linewidth=0.5)
    tidy(panel, title)
    if place:
        panel.legend(fontsize=6.5, frameon=False, loc=place)


def mark_level(panel: Any, y: float) -> None:
    """A dotted line at a height."""
    panel.axhline(y, color=MUTED, linewidth=0.8, linestyle=":")


def draw_spelling() -> Drawing:
    """Pronunciations that a decomposition keeps, by roles, beside the same on digits."""
    rows = read_result("spelling-fits").query("family == 'saturated' and seed == 0")
    digits = pd.read_csv(DIGITS).query("task == 'copy' and encoder == 'uni' and roles in @SCHEMES")
    figure = drawing(7, 2.9)
    words, copies = figure.subplots(1, 2, sharey=True)
    names = list(SCHEMES)
    for offset, control, color in ((-0.13, "", palette(2)[1]), (0.13, "permuted", MUTED)):
        fits = rows[rows["control"].fillna("") == control]
        errors = [fits["kept"] - fits["kept_low"], fits["kept_high"] - fits["kept"]]
        label = "roles permuted" if control else "English spelling"
        y = fits["roles"].map(names.index) + offset
        words.errorbar(fits["kept"], y, xerr=errors, fmt="o", color=color, ms=4, label=label)
    words.set(xlabel="words whose whole pronunciation is kept", xlim=(0, None))
    y = digits["roles"].map(names.index)  # a dot a decoder and seed
    copies.plot(digits["substitution"], y, "o", ms=4, color=INK, alpha=0.5)
    copies.set(xlabel="sequences that are read back", xlim=(0, 1.02))
    words.set_yticks(range(len(names)), SCHEMES.values())
    words.invert_yaxis()
    finish_panel(words, "g2p_en, English words", "x", "upper right")
    finish_panel(copies, "TPDN, digits", "x")
    return figure


def draw_sentences() -> Drawing:
    """Exchanges of agent and patient by layer: fitted by role, by place, by permuted roles; and by a twin."""
    rows = read_result("sentence-vectors").query("seed == 0")
    rows = rows.assign(layer=rows["site"].map(_layer)).sort_values("layer")
    figure = drawing(7, 2.9)
    cosines, right = figure.subplots(1, 2)
    hues = palette(4)
    for panel, measure, twin, label, color in (
        (cosines, "cosine role", "", "agent and patient", hues[0]),
        (cosines, "cosine place", "", "first and second place", hues[1]),
        (cosines, "cosine shuffled", "", "roles permuted", MUTED),
        (cosines, "cosine role", "permuted-0", "agent and patient, permuted weights", hues[3]),
        (right, "before_exchange", "", "paraphrase before its exchange", hues[0]),
        (right, "own_exchange_first", "", "the query's exchange before its paraphrase", hues[1]),
    ):
        selection = rows[(rows["measure"] == measure) & (rows["twin"].fillna("") == twin)]
        draw_band(panel, selection["layer"], selection, color, label)
    cosines.set(
        xlabel="layer (−1: the input embeddings)",
        ylabel="cosine of real and fitted exchange",
        ylim=(-0.08, 1.05),
    )
    mark_level(right, 0.5)
    right.set(xlabel="layer", ylabel="share of searches", ylim=(0, 1.02))
    finish_panel(cosines, "Where the exchange points", place="upper left")
    finish_panel(right, "What a search ranks first", place="lower left")
    return figure


def _layer(site: str) -> int:
    return int(site.split(".")[1]) if site.endswith(".hidden") else -1


def draw_language_model() -> Drawing:
    """By layer: the learned gain of bindings at the period, and how often the verb turns."""
    gains, turns = (read_result(n).query("seed == 0") for n in ("period-gains", "agreement"))
    figure = drawing(7, 4.6)
    top, bottom = figure.subplots(2, 1, sharex=True)
    hues = palette(4)
    gains = gains.assign(layer=gains["site"].map(_layer)).sort_values("layer")
    draw_band(top, gains["layer"], gains, hues[0], "trained", "gain")
    draw_band(top, gains["layer"], gains, hues[1], "trained minus permuted weights", "learned")
    mark_level(top, 0)
    top.set(ylabel="gain of bindings in R²")
    for place, edit, label, color in (
        ("subject", "exchange", "subject's number, at the subject", hues[0]),
        ("last", "exchange", "subject's number, before the verb", hues[1]),
        ("last", "attractor", "attractor's number, before the verb", hues[2]),
        ("subject", "random", "random direction, at the subject", MUTED),
    ):
        selection = turns[(turns["place"] == place) & (turns["edit"] == edit)].sort_values("layer")
        draw_band(bottom, selection["layer"], selection, color, label, "turned")
    bottom.set(xlabel="layer", ylabel="share of verbs that turn", ylim=(-0.02, 1.02))
    finish_panel(top, "Words bound to places, at the period", place="best")
    finish_panel(bottom, "The verb's number, when a state is exchanged", place="best")
    return figure


def draw_layers() -> Drawing:
    """What every layer adds to the input embeddings, by task and model."""
    rows = read_result("layer-knowledge").query("seed == 0 and layer.notna()")
    rows = rows.sort_values("layer", kind="stable")
    figure = drawing(7, 2.9)
    panels = figure.subplots(1, len(MODELS), sharey=True)
    tasks = rows["task"].unique().tolist()
    for panel, (model, title) in zip(panels, MODELS.items(), strict=True):
        for task, color in zip(tasks, palette(len(tasks)), strict=True):
            selection = rows[(rows["model"] == model) & (rows["task"] == task)]
            draw_band(panel, selection["layer"], selection, color, task.upper(), "added")
        mark_level(panel, 0)
        panel.set(xlabel="layer", ylabel="F1 above the input embeddings")
        finish_panel(panel, title)
    panels[0].legend(fontsize=6.5, frameon=False)
    return figure


FIGURES: dict[str, Callable[[], Drawing]] = {
    "sentences": draw_sentences,
    "language-model": draw_language_model,
    "spelling": draw_spelling,
    "layers": draw_layers,
}


def draw_figures(out: Path = FOLDER) -> list[Path]:
    """The figures as SVG files."""
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().savefig(out / f"{name}.svg")
        compact_file(out / f"{name}.svg")
    return [out / f"{name}.svg" for name in FIGURES]
