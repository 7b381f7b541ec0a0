"""What roles buy summaries, as contrasts of variants over model seeds and reports: measured, told, drawn.

A dictionary of roles or none, crossed with the two starts, is a 2 × 2; *started alike* is the effect of
the dictionary in it, half the sum of the differences under each start. Where TPT-d was trained from one
start alone, models that start alike are those of torch's default.
"""

from collections.abc import Mapping, Sized
from typing import Any, Protocol, TypeVar

import pandas as pd

from studies.pages.differences import around_zero, count_seeds, signed, tell_outcome
from studies.summary_roles.records import LONGER
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.style import Drawing
from tprprobe.statistics import Interval
from tprprobe.training.study.comparisons import Answers, subsets
from tprprobe.training.study.records import EXACT, Study

T5, T5_TORCH, CONTINUOUS = "t5", "t5-torch", "tpt-c"
DISCRETE, DISCRETE_T5 = "tpt-d", "tpt-d-t5"
SEEDS = 3  # of every variant that a claim is about, before a training decides it
PUBLISHED, ALIKE, TORCH = "as published", "started alike", "both torch"
COMPARED = {  # TPT-d minus the Transformer
    PUBLISHED: {DISCRETE: 1.0, T5: -1.0},
    ALIKE: {DISCRETE: 0.5, DISCRETE_T5: 0.5, T5: -0.5, T5_TORCH: -0.5},
    TORCH: {DISCRETE: 1.0, T5_TORCH: -1.0},
}
START_T5, START_DISCRETE = "T5: torch − T5's start", "TPT-d: torch − T5's start"
BOTH_TORCH, BOTH_T5 = f"TPT-d − T5, {TORCH}", "TPT-d − T5, both T5's start"
INSIDE, KINDS = "TPT-c − T5, both T5's start", "TPT-c − TPT-d, both T5's start"
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
    INSIDE: {CONTINUOUS: 1.0, T5: -1.0},
    KINDS: {CONTINUOUS: 1.0, DISCRETE_T5: -1.0},
    START_T5: {T5_TORCH: 1.0, T5: -1.0},
    START_DISCRETE: {DISCRETE: 1.0, DISCRETE_T5: -1.0},
}
SHORTLY = (f"TPT-d − T5, {PUBLISHED}", BOTH_TORCH, INSIDE)
METRICS = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "meteor": "METEOR"}
SHOWN = METRICS | {
    EXACT: "exact match",
    "grammatical": "grammatical",
    "faithful": "true of the document",
}
DRAWN = ("rougeL", EXACT, "grammatical", "faithful")
TEST, COMPOSITIONAL = SPLITS = ("test", "compositional")


class Seeded(Protocol):
    """What has models of several variants and seeds: a study, its roles."""

    def seeds(self, *variants: str) -> Sized:
        """The seeds that all of these variants have."""
        ...


Models = TypeVar("Models", bound=Seeded)


def find_deciding(models: Models, companions: Mapping[str, Models]) -> Models:
    """What decides between T5 and TPT-d: the longer training where SEEDS seeds of them have finished."""
    longer = companions.get(LONGER, models)
    return longer if len(longer.seeds(T5, T5_TORCH, DISCRETE)) >= SEEDS else models


def find_alike(models: Seeded) -> str:
    """The comparison of TPT-d and T5 that start alike: over both starts if both were trained."""
    one, both = (len(models.seeds(*COMPARED[each])) for each in (TORCH, ALIKE))
    return TORCH if one and not both else ALIKE


def find_compared(models: Seeded) -> list[str]:
    """The comparisons of TPT-d and T5 that decide, as far as their variants have a common seed."""
    return [each for each in (PUBLISHED, find_alike(models)) if len(models.seeds(*COMPARED[each]))]


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
    """The answer in up to three sentences, of the contrasts that were measured after so many steps; empty
    before the variants that give it have a common seed.
    """
    seeds: Any = rows.groupby("contrast")["seeds"].max()
    alike = _named(ALIKE if _named(ALIKE) in seeds else TORCH)
    if not {alike, _named(PUBLISHED), START_T5} <= set(seeds.index):
        return []

    def found(contrast: str, measure: str = DRAWN[0]) -> Interval:
        return _on_test(rows, measure)[contrast]

    def scores(contrast: str, beside: str = "") -> str:
        told = [f"ROUGE-L {signed(found(contrast))}{beside}"]
        told.append(f"exact match {signed(found(contrast, EXACT))}")
        told.append(f"summaries true of their report {signed(found(contrast, 'faithful'))}")
        return ", ".join(told)

    outcome = tell_outcome(
        found(alike),
        "summarizes better than",
        "summarizes worse than",
        "could not be told from",
    )
    starts, apart, discrete, kinds = "both from torch's default", "", "", ""
    if alike == _named(ALIKE):
        torch, t5 = (signed(found(each)) for each in (BOTH_TORCH, BOTH_T5))
        starts, apart = "over both starts", f" ({starts} {torch}, both from T5's start {t5})"
        discrete = f" and TPT-d by {signed(found(START_DISCRETE))}"
        kinds = f"; against TPT-d of that start, ROUGE-L {signed(found(KINDS))}"
    told = [
        f"After {steps:,} steps, {starts}, a dictionary of roles (TPT-d) {outcome} the Transformer (T5): "
        f"{scores(alike, apart)}.",
        f"As published, where the two start from different weights, ROUGE-L differs by "
        f"{signed(found(_named(PUBLISHED)))}; the start alone (torch's default against T5's) changes T5 by "
        f"{signed(found(START_T5))}{discrete}.",
    ]
    if INSIDE in seeds:
        fewer = f" ({count_seeds(seeds[INSIDE])})" if seeds[INSIDE] < seeds[alike] else ""
        told.append(
            "Continuous roles (TPT-c), which the paper finds worst, against T5 of the same start"
            f"{fewer}: {scores(INSIDE)}{kinds}."
        )
    return told


def tell_again(changed: str, rows: pd.DataFrame, before: pd.DataFrame) -> str:
    """A sentence on the differences of a companion, after what is changed in it, beside those
    without it of the same seeds; as far as they were measured.
    """
    own, without = _on_test(rows), _on_test(before)
    told = [
        f"{name} {signed(own[name])} (without it {signed(without[name])})"
        for name in SHORTLY
        if name in own and name in without
    ]
    return f"{changed} ({count_seeds(int(rows['seeds'].max()))}), ROUGE-L: {'; '.join(told)}."


def tell_before(rows: pd.DataFrame, steps: int) -> str:
    """A sentence on the differences after fewer steps than decide."""
    own = _on_test(rows)
    told = [f"{name} {signed(own[name])}" for name in (_named(ALIKE), *SHORTLY) if name in own]
    seeds = count_seeds(int(rows["seeds"].max()))
    return f"Before, after {steps:,} steps ({seeds}), ROUGE-L: {'; '.join(told)}."


def _named(start: str) -> str:
    return f"TPT-d − T5, {start}"


def _on_test(rows: pd.DataFrame, measure: str = DRAWN[0]) -> dict[str, Interval]:
    """One score of every contrast, on reports of ``test``."""
    own: Any = rows[(rows["split"] == TEST) & (rows["measure"] == measure)].set_index("contrast")
    return {
        str(name): Interval(row["value"], row["low"], row["high"]) for name, row in own.iterrows()
    }


def draw_contrasts(*studies: Study) -> Drawing:
    """Every contrast of studies that differ in their steps, on reports of ``test`` with its interval, a dot
    per score.
    """
    parts = [
        measure_contrasts(study).assign(steps=int(study.runs["steps"].max())) for study in studies
    ]
    rows = pd.concat(parts)
    rows = rows[(rows["split"] == TEST) & rows["measure"].isin(DRAWN)]
    after = rows["steps"].map("{:,} steps: ".format) if len(studies) > 1 else ""
    rows = rows.assign(name=after + rows["contrast"], group=rows["measure"].map(SHOWN))
    return around_zero(interval_dots(rows, "Difference of the scores, 95 % interval"), "points")
