"""What roles buy summaries, as contrasts of variants over model seeds and reports: measured, told, drawn.

A dictionary of roles or none, crossed with the two starts, is a 2 × 2; *started alike* is the effect of
the dictionary in it, half the sum of the differences under each start.
"""

from typing import Any

import pandas as pd

from studies.pages.differences import around_zero, count_seeds, signed, tell_outcome
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.style import Drawing
from tprprobe.statistics import Interval
from tprprobe.training.study.comparisons import Answers, subsets
from tprprobe.training.study.records import EXACT, Study

T5, T5_TORCH, CONTINUOUS = "t5", "t5-torch", "tpt-c"
DISCRETE, DISCRETE_T5 = "tpt-d", "tpt-d-t5"
PUBLISHED, ALIKE = "as published", "started alike"
COMPARED = {  # TPT-d minus the Transformer
    PUBLISHED: {DISCRETE: 1.0, T5: -1.0},
    ALIKE: {DISCRETE: 0.5, DISCRETE_T5: 0.5, T5: -0.5, T5_TORCH: -0.5},
}
START_T5, START_DISCRETE = "T5: torch − T5's start", "TPT-d: torch − T5's start"
BOTH_TORCH, BOTH_T5 = "TPT-d − T5, both torch", "TPT-d − T5, both T5's start"
INSIDE, KINDS = "TPT-c − T5, both T5's start", "TPT-c − TPT-d, both T5's start"
CONTRASTS = {
    f"TPT-d − T5, {ALIKE}": COMPARED[ALIKE],
    f"TPT-d − T5, {PUBLISHED}": COMPARED[PUBLISHED],
    BOTH_TORCH: {DISCRETE: 1.0, T5_TORCH: -1.0},
    BOTH_T5: {DISCRETE_T5: 1.0, T5: -1.0},
    "the difference: both torch − both T5's start": {
        DISCRETE: 1.0,
        T5_TORCH: -1.0,
        DISCRETE_T5: -1.0,
        T5: 1.0,
    },
    INSIDE: {CONTINUOUS: 1.0, T5: -1.0},
    KINDS: {CONTINUOUS: 1.0, DISCRETE_T5: -1.0},
    START_T5: {T5_TORCH: 1.0, T5: -1.0},
    START_DISCRETE: {DISCRETE: 1.0, DISCRETE_T5: -1.0},
}
METRICS = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "meteor": "METEOR"}
SHOWN = METRICS | {
    EXACT: "exact match",
    "grammatical": "grammatical",
    "faithful": "true of the document",
}
DRAWN = ("rougeL", EXACT, "grammatical", "faithful")
TEST, COMPOSITIONAL = SPLITS = ("test", "compositional")


def measure_contrasts(study: Study) -> pd.DataFrame:
    """One row per contrast whose variants have a common seed, split and score: contrast, split, measure,
    n (reports), seeds, value, low, high.
    """
    sets, rows = subsets(study), []
    for split in SPLITS:
        for measure in SHOWN:
            found = Answers(study, sets[split], measure)
            for contrast, weights in CONTRASTS.items():
                seeds = study.seeds(*weights)
                if len(seeds):
                    value = found.contrast(weights)
                    told = {"contrast": contrast, "split": split, "measure": measure}
                    told |= {"n": found.n, "seeds": len(seeds)}
                    rows.append(told | {"value": value.value, "low": value.low, "high": value.high})
    columns = ["contrast", "split", "measure", "n", "seeds", "value", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def tell_answer(rows: pd.DataFrame, steps: int) -> list[str]:
    """The answer in three sentences, of the contrasts that were measured after so many steps; empty before
    the variants that give it have a common seed.
    """
    keyed: Any = rows.set_index(["contrast", "split", "measure"])

    def found(contrast: str, split: str = TEST, measure: str = "rougeL") -> Interval:
        return Interval(*keyed.loc[(contrast, split, measure), ["value", "low", "high"]])

    alike, published = (f"TPT-d − T5, {each}" for each in (ALIKE, PUBLISHED))
    if not {alike, published, INSIDE, KINDS, BOTH_T5, START_T5, START_DISCRETE} <= set(
        rows["contrast"]
    ):
        return []

    def scores(contrast: str, beside: str = "") -> str:
        told = [f"ROUGE-L {signed(found(contrast))}{beside}"]
        told.append(f"exact match {signed(found(contrast, measure=EXACT))}")
        told.append(f"summaries true of their report {signed(found(contrast, measure='faithful'))}")
        return ", ".join(told)

    outcome = tell_outcome(
        found(alike),
        "summarizes better than",
        "summarizes worse than",
        "could not be told from",
    )
    torch, t5 = (signed(found(each)) for each in (BOTH_TORCH, BOTH_T5))
    apart = f" (both from torch's default {torch}, both from T5's start {t5})"
    return [
        f"After {steps:,} steps, over both starts, a dictionary of roles (TPT-d) {outcome} the Transformer (T5): "
        f"{scores(alike, apart)}.",
        f"As published, where the two start from different weights, ROUGE-L differs by "
        f"{signed(found(published))}; the start alone (torch's default against T5's) changes T5 by "
        f"{signed(found(START_T5))} and TPT-d by {signed(found(START_DISCRETE))}.",
        "Continuous roles (TPT-c), which the paper finds worst, against T5 of the same start: "
        f"{scores(INSIDE)}; against TPT-d of that start, ROUGE-L {signed(found(KINDS))}.",
    ]


def tell_again(changed: str, rows: pd.DataFrame, before: pd.DataFrame) -> str:
    """A sentence on the differences of a companion, after what is changed in it, beside those
    without it of the same seeds; as far as they were measured.
    """
    rows, before = (
        each[(each["split"] == TEST) & (each["measure"] == "rougeL")].set_index("contrast")
        for each in (rows, before)
    )
    names = [f"TPT-d − T5, {PUBLISHED}", BOTH_TORCH, INSIDE]
    told = [
        f"{name} {_difference(rows, name)} (without it {_difference(before, name)})"
        for name in names
        if name in rows.index and name in before.index
    ]
    seeds = count_seeds(int(rows["seeds"].max()))
    return f"{changed} ({seeds}), ROUGE-L: {'; '.join(told)}."


def _difference(rows: pd.DataFrame, name: str) -> str:
    row: Any = rows.loc[name]
    return signed(Interval(row["value"], row["low"], row["high"]))


def draw_contrasts(study: Study) -> Drawing:
    """Every contrast on reports of ``test`` with its interval, a dot per score."""
    rows = measure_contrasts(study)
    rows = rows[(rows["split"] == TEST) & rows["measure"].isin(DRAWN)]
    rows = rows.assign(name=rows["contrast"], group=rows["measure"].map(SHOWN))
    return around_zero(interval_dots(rows, "Difference of the scores, 95 % interval"), "points")
