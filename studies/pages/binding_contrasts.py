"""What binding buys, as contrasts of variants that start alike: measured, told and drawn.

Roles learned or one, crossed with the embedding binding or none, is a 2 × 2 of variants of one start:
roles of one without the embedding binding are the Transformer. An effect is half the sum of the two
differences that have it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from studies.pages.differences import (
    Weights,
    around_zero,
    contrast_rows,
    count_seeds,
    signed,
    steps_of,
    summarize_outcome,
)
from tprpapers.study.comparisons import Answers, subsets
from tprpapers.study.records import Study
from tprprobe.figures.colors import palette
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.style import FAINT, Drawing, drawing, tidy
from tprprobe.statistics import Interval, read_interval

ALIKE, ROLES = "TP-Transformer − Transformer, both torch", "roles learned − roles one"
START, PUBLISHED = (
    "Transformer: torch − Xavier",
    "TP-Transformer − Transformer, as published",
)
BINDING, FULL = "embedding binding − none", "full product − its diagonal"
XAVIER = "TP-Transformer − Transformer, both Xavier"
LEVEL = "full product − Transformer, both torch"
FACTORS = {  # (roles learned, embedding binding) → variant
    (False, False): "transformer-torch",
    (True, False): "no-embedding-binding",
    (False, True): "ones",
    (True, True): "tp-transformer",
}
CONTRASTS = {
    ALIKE: {"tp-transformer": 1.0, "transformer-torch": -1.0},
    "the same, with no more weights": {"narrowed": 1.0, "transformer-torch": -1.0},
    "the same, with no more arithmetic": {"narrowed-compute": 1.0, "transformer-torch": -1.0},
    XAVIER: {"tp-transformer-xavier": 1.0, "transformer": -1.0},
    "the difference: both torch − both Xavier": {
        "tp-transformer": 1.0,
        "transformer-torch": -1.0,
        "tp-transformer-xavier": -1.0,
        "transformer": 1.0,
    },
    PUBLISHED: {"tp-transformer": 1.0, "transformer": -1.0},
    START: {"transformer-torch": 1.0, "transformer": -1.0},
    ROLES: {name: 0.5 if has_roles else -0.5 for (has_roles, _), name in FACTORS.items()},
    BINDING: {name: 0.5 if bound else -0.5 for (_, bound), name in FACTORS.items()},
    "both − each alone (interaction)": {
        name: 0.5 if has_roles == bound else -0.5 for (has_roles, bound), name in FACTORS.items()
    },
    FULL: {"outer": 1.0, "tp-transformer": -1.0},
    LEVEL: {"outer": 1.0, "transformer-torch": -1.0},
}
SETS = ("all", "discordant", "longer")
LABEL = "points of exact match"


def measure_contrasts(
    study: Study, sets: tuple[str, ...] = SETS, contrasts: Mapping[str, Weights] = CONTRASTS
) -> pd.DataFrame:
    """One row per contrast whose variants have a common seed, and set: contrast, set, n, seeds, value,
    low, high, in shares of questions.
    """
    sets_of_rows = subsets(study)
    answers = {name: Answers(study, sets_of_rows[name]) for name in sets if name in sets_of_rows}
    rows = [
        row
        for contrast, weights in contrasts.items()
        for name, set_answers in answers.items()
        for row in contrast_rows(set_answers, {contrast: weights}, set=name)
    ]
    columns = ["contrast", "set", "n", "seeds", "value", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def summarize_answer(study: Study) -> list[str]:
    """The answer in sentences with its numbers; empty without the variants that give it."""
    rows: Any = measure_contrasts(study).set_index(["contrast", "set"])

    def read_difference(contrast: str, name: str) -> Interval:
        return read_interval(rows.loc[(contrast, name)])

    required = [
        (contrast_, name)
        for contrast_ in (ALIKE, START, PUBLISHED)
        for name in ("all", "discordant")
    ]
    if not set(required) <= set(rows.index):
        return []
    alike = read_difference(ALIKE, "all")
    outcome = summarize_outcome(
        alike,
        "answers more questions right than",
        "answers fewer questions right than",
        "could not be told from",
    )
    xavier = (
        f" If both start from Xavier's, the difference is {signed(read_difference(XAVIER, 'all'))} of all questions."
        if (XAVIER, "all") in rows.index
        else ""
    )
    sentences = [
        f"After {steps_of(study):,} steps, both from torch's default, the TP-Transformer {outcome} the Transformer: "
        f"{signed(alike)} of all questions, {signed(read_difference(ALIKE, 'discordant'))} of discordant ones.{xavier}",
        f"The start alone, torch's default instead of Xavier's, changes the Transformer by "
        f"{signed(read_difference(START, 'all'))}. The difference as published, which mixes both, is "
        f"{signed(read_difference(PUBLISHED, 'all'))}.",
    ]
    for contrast, words in (
        (ROLES, "Learned roles (against roles of one)"),
        (BINDING, "The embedding binding (against none)"),
        (FULL, "The full product (against its diagonal)"),
    ):
        if (contrast, "discordant") in rows.index:
            texts = _both(rows, contrast)
            level = _level(study, rows) if contrast == FULL and LEVEL in rows.index else ""
            sentences.append(f"{words}: {texts}{level}.")
    return sentences


def _both(rows: Any, contrast: str) -> str:
    every, discordant = (
        signed(read_interval(rows.loc[(contrast, name)])) for name in ("all", "discordant")
    )
    return f"{every} of all questions, {discordant} of discordant ones"


def _level(study: Study, rows: Any) -> str:
    """The full product against the Transformer that starts alike, and what it costs."""
    cost: Any = study.runs.groupby("variant")[["parameters", "gigaflops"]].mean()
    weights, arithmetic = cost.loc["outer"] / cost.loc["transformer-torch"]
    return (
        f". Against the Transformer that starts alike: {_both(rows, LEVEL)}. It has {weights:.1f} times "
        f"the weights of that Transformer, and a step takes {arithmetic:.1f} times its arithmetic"
    )


def summarize_again(changed: str, study: Study, before: Study) -> str:
    """A sentence on the same comparison in a companion, after what is changed in it, beside that of the same
    runs without it; empty without the two variants.
    """
    differences_here, without = _differences(study), _differences(before)
    if ALIKE not in differences_here:
        return ""
    right = [Answers(study, subsets(study)["all"]).mean(name).value for name in study.variants]
    seeds = count_seeds(len(study.seeds(*CONTRASTS[ALIKE])))
    comparisons = {
        name: f", against {value} for the same runs in the study" for name, value in without.items()
    }
    differences = [
        f"{words} {differences_here[name]}{comparisons.get(name, '')}."
        for name, words in (
            (ALIKE, "If both start from torch's default, the difference is"),
            (START, "The start alone changes the Transformer by"),
        )
        if name in differences_here
    ]
    range_text = f"{min(right):.3f} to {max(right):.3f}"
    return f"{changed} ({seeds}), models answer {range_text} of the questions right. {' '.join(differences)}"


def _differences(study: Study) -> dict[str, str]:
    rows: Any = measure_contrasts(study).set_index(["contrast", "set"])
    return {
        name: signed(read_interval(rows.loc[(name, "all")]))
        for name in (ALIKE, START)
        if (name, "all") in rows.index
    }


def draw_contrasts(study: Study) -> Drawing:
    """Every contrast with its interval, a dot per set of questions."""
    rows = measure_contrasts(study).rename(columns={"contrast": "name", "set": "group"})
    return around_zero(interval_dots(rows, "Difference in exact match, 95 % interval"), LABEL)


def draw_modules(study: Study) -> Drawing:
    """The contrasts of equal start by module of questions, and the effect of the start."""
    modules = tuple(name for name in subsets(study) if name not in SETS)
    rows = measure_contrasts(study, modules)
    rows = rows[rows["contrast"].isin((ALIKE, ROLES, START))]
    rows = rows.rename(columns={"contrast": "group", "set": "name"})
    rows["name"] = rows["name"].str.removeprefix("arithmetic__")
    return around_zero(interval_dots(rows, "Difference by module, 95 % interval"), LABEL)


def draw_factors(study: Study) -> Drawing:
    """Exact match of the 2 × 2, roles learned or one, with the embedding binding or without it."""
    figure = drawing(7, 2.6)
    selected = {name: rows for name, rows in subsets(study).items() if name in SETS}
    panels = figure.subplots(1, len(selected), squeeze=False)[0]
    for panel, (name, rows) in zip(panels, selected.items(), strict=True):
        answers = Answers(study, rows)
        for bound, color in zip((False, True), palette(2), strict=True):
            means = [answers.mean(FACTORS[has_roles, bound]) for has_roles in (False, True)]
            x = np.arange(2) + (0.04 if bound else -0.04)
            values = np.array([mean.value for mean in means])
            spread = [[v.value - v.low for v in means], [v.high - v.value for v in means]]
            panel.errorbar(
                x, values, spread, color=color, marker="s" if bound else "o", markersize=4.5,
                linewidth=1.2, capsize=2, label="embedding binding" if bound else "no embedding binding",
            )  # fmt: skip
        panel.set_xticks([0, 1], ["roles one", "roles learned"])
        panel.set_xlim(-0.4, 1.4)
        panel.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(panel, f"{name} (n {answers.n:,})")
    panels[0].set_ylabel("exact match")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7,
        frameon=False,
    )  # fmt: skip
    return figure
