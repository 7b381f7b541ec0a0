"""What roles buy summaries, as contrasts of variants over model seeds and reports: measured, told, drawn."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd

from studies.pages.deciding import (
    ALIKE,
    COMPARED,
    CONTINUOUS,
    DISCRETE,
    DISCRETE_T5,
    PUBLISHED,
    T5,
    T5_TORCH,
    TORCH,
)
from studies.pages.differences import (
    OTHERWISE,
    around_zero,
    contrast_rows,
    count_seeds,
    signed,
    steps_of,
    summarize_outcome,
)
from tprpapers.study.comparisons import Answers, subsets
from tprpapers.study.records import EXACT, Study
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.style import Drawing
from tprprobe.statistics import Interval, read_interval

START_T5, START_DISCRETE = "T5: torch − T5's start", "TPT-d: torch − T5's start"
BOTH_TORCH, BOTH_T5 = f"TPT-d − T5, {TORCH}", "TPT-d − T5, both T5's start"
CONTINUOUS_T5, CONTINUOUS_DISCRETE = "TPT-c − T5, both T5's start", "TPT-c − TPT-d, both T5's start"
CONTRASTS = {
    f"TPT-d − T5, {ALIKE}": COMPARED[ALIKE],
    f"TPT-d − T5, {PUBLISHED}": COMPARED[PUBLISHED],
    BOTH_TORCH: COMPARED[TORCH],
    BOTH_T5: {DISCRETE_T5: 1.0, T5: -1.0},
    "the difference: both torch − both T5's start": {
        DISCRETE: 1.0,
        T5_TORCH: -1.0,
        DISCRETE_T5: -1.0,
        T5: 1.0,
    },
    CONTINUOUS_T5: {CONTINUOUS: 1.0, T5: -1.0},
    CONTINUOUS_DISCRETE: {CONTINUOUS: 1.0, DISCRETE_T5: -1.0},
    START_T5: {T5_TORCH: 1.0, T5: -1.0},
    START_DISCRETE: {DISCRETE: 1.0, DISCRETE_T5: -1.0},
}
TOLD_AGAIN = (f"TPT-d − T5, {PUBLISHED}", BOTH_TORCH, CONTINUOUS_T5)
METRICS = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "meteor": "METEOR"}
MEASURES = METRICS | {
    EXACT: "exact match",
    "grammatical": "grammatical",
    "faithful": "true of the document",
}
DRAWN_MEASURES = ("rougeL", EXACT, "grammatical", "faithful")
TEST, COMPOSITIONAL = SPLITS = ("test", "compositional")


def measure_contrasts(study: Study) -> pd.DataFrame:
    """One row per contrast whose variants have a common seed, split and score: contrast, split, measure,
    n (reports), seeds, value, low, high.
    """
    sets = subsets(study)
    rows = [
        row
        for split, measure in product(SPLITS, MEASURES)
        for row in contrast_rows(
            Answers(study, sets[split], measure), CONTRASTS, split=split, measure=measure
        )
    ]
    columns = ["contrast", "split", "measure", "n", "seeds", "value", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def summarize_answer(rows: pd.DataFrame, steps: int) -> list[str]:
    """The answer in up to three sentences, of the contrasts that were measured after so many steps: TPT-d
    against T5 of the same start, what the starts do, TPT-c. Empty before the variants that give it have a
    common seed.
    """
    seeds: Any = rows.groupby("contrast")["seeds"].max()
    alike = max((_named(ALIKE), BOTH_TORCH), key=lambda contrast: seeds.get(contrast, 0))
    if not {alike, _named(PUBLISHED), START_T5} <= set(seeds.index):
        return []

    def rouge(contrast: str, words: str = "") -> str:
        return f"{words}{signed(_on_test(rows)[contrast])}" if contrast in seeds else ""

    def scores(contrast: str, detail: str = "") -> str:
        match, true = (signed(_on_test(rows, measure)[contrast]) for measure in (EXACT, "faithful"))
        return (
            f"ROUGE-L {rouge(contrast)}{detail}, exact match {match}, "
            f"summaries true of their report {true}"
        )

    outcome = summarize_outcome(
        _on_test(rows)[alike],
        "summarizes better than",
        "summarizes worse than",
        "could not be told from",
    )
    starts, detail = "both from torch's default", ""
    if alike != BOTH_TORCH:
        starts = "over both starts"
        torch, t5 = rouge(BOTH_TORCH), rouge(BOTH_T5)
        detail = f" (both from torch's default {torch}, both from T5's start {t5})"
    sentences = [
        f"After {steps:,} steps ({count_seeds(seeds[alike])}), {starts}, a dictionary of roles (TPT-d) {outcome} the Transformer "
        f"(T5): {scores(alike, detail)}.",
        f"As published, where the two start from different weights, ROUGE-L differs by "
        f"{rouge(_named(PUBLISHED))}; the start alone (torch's default against T5's) changes T5 by "
        f"{rouge(START_T5)}{rouge(START_DISCRETE, ' and TPT-d by ')}.",
    ]
    if CONTINUOUS_T5 in seeds:
        kinds = rouge(CONTINUOUS_DISCRETE, "; against TPT-d of that start, ROUGE-L ")
        sentences.append(
            "Continuous roles (TPT-c), which the paper finds worst, against T5 of the same start "
            f"({count_seeds(seeds[CONTINUOUS_T5])}): {scores(CONTINUOUS_T5)}{kinds}."
        )
    return sentences


def summarize_again(changed: str, rows: pd.DataFrame, before: pd.DataFrame) -> str:
    """A sentence on the differences of a companion, after what is changed in it, beside those of the same
    runs without it; as far as they were measured.
    """
    without = _on_test(before)
    return _sentence(
        changed,
        rows,
        {name: f" ({OTHERWISE} {signed(without[name])})" for name in TOLD_AGAIN if name in without},
    )


def summarize_before(rows: pd.DataFrame, steps: int) -> str:
    """A sentence on the differences after fewer steps than decide."""
    names = (_named(ALIKE), *TOLD_AGAIN)
    return _sentence(f"Before, after {steps:,} steps", rows, dict.fromkeys(names, ""))


def _sentence(when: str, rows: pd.DataFrame, companions: Mapping[str, str]) -> str:
    """The differences in ROUGE-L that were measured, each with what stands beside it."""
    differences = _on_test(rows)
    texts = [
        f"{name} {signed(differences[name])}{also}"
        for name, also in companions.items()
        if name in differences
    ]
    if not texts:
        return ""
    counts = sorted(set(rows.loc[rows["contrast"].isin(list(companions)), "seeds"]))
    seeds = f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else count_seeds(*counts)
    return f"{when} ({seeds}), ROUGE-L: {'; '.join(texts)}."


def _named(start: str) -> str:
    return f"TPT-d − T5, {start}"


def _on_test(rows: pd.DataFrame, measure: str = DRAWN_MEASURES[0]) -> dict[str, Interval]:
    """One score of every contrast, on reports of ``test``."""
    test_rows: Any = rows[(rows["split"] == TEST) & (rows["measure"] == measure)].set_index(
        "contrast"
    )
    return {str(name): read_interval(row) for name, row in test_rows.iterrows()}


def draw_contrasts(*studies: Study) -> Drawing:
    """Every contrast of studies that differ in their steps, on reports of ``test`` with its interval, a dot
    per score.
    """
    rows = pd.concat([measure_contrasts(study).assign(steps=steps_of(study)) for study in studies])
    rows = rows[(rows["split"] == TEST) & rows["measure"].isin(DRAWN_MEASURES)]
    after = rows["steps"].map("{:,} steps: ".format) if len(studies) > 1 else ""
    rows = rows.assign(name=after + rows["contrast"], group=rows["measure"].map(MEASURES))
    return around_zero(interval_dots(rows, "Difference of the scores, 95 % interval"), "points")
