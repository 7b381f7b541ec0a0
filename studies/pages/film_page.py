"""The page of the film of learning: when fillers, places, bindings, systematic binding and surgery appear."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.film.events import (
    ANSWERS,
    LEARNT,
    MOMENTS,
    PRESENT,
    TPS,
    compare_last,
    curves_of,
    decide,
    log_moments,
    read_measured,
    student,
)
from studies.film.film_questions import EVENTS, GRU
from studies.film.filmed_models import SEEDS, VARIANTS, Filmed
from studies.templates import fill, table
from tprprobe.figures.style import Drawing
from tprprobe.figures.trajectories import draw_trajectory
from tprprobe.statistics import Interval, interval_text

SCALES = dict.fromkeys(EVENTS[:4], "gain in R²") | {EVENTS[4]: "right answers", ANSWERS: "right answers"}  # fmt: skip


def make_page(_runs: Path) -> str:
    """The page, from the study's two tables."""
    measured, moments = read_measured(), pd.read_csv(MOMENTS)
    outcomes = decide(measured, moments)
    last = {v: measured.loc[measured["variant"] == v, "step"].max() for v in VARIANTS}
    earlier = {
        event: student(np.subtract(*(log_moments(moments, v, event, last[v], LEARNT) for v in TPS)))
        for event in ("bindings", "systematic")
    }
    return fill(
        Path(__file__).parent,
        "film.md.j2",
        outcomes=table(outcomes[["outcome", "says", "found"]]),
        counts=outcomes["outcome"].value_counts().to_dict(),
        moments=table([_moment_row(row) for row in moments.to_dict("records")]),
        ends=table(list(_end_rows(measured))),
        low=_lowest(measured),
        steps={v: measured.loc[measured["variant"] == v, "step"].nunique() for v in VARIANTS},
        last=last,
        seeds=len(SEEDS),
        recipe=Filmed(TPS[0], 0).recipe,
        gru=_by_event(moments, GRU),
        tp=_by_event(moments, TPS[0]),
        transformer=_by_event(moments, TPS[1]),
        earlier={name: interval_text(of, "+.2f") for name, of in earlier.items()},
        more=interval_text(compare_last(measured, "bindings"), "+.4f"),
    )


def _lowest(measured: pd.DataFrame) -> dict[str, str]:
    """Where the GRU's bindings are least, and what its bag explains there."""
    rows: Any = curves_of(measured, GRU).set_index("row")
    least = rows.loc["bindings"].sort_values("value").iloc[0]
    bag = rows.loc["fillers"].set_index("step").loc[least["step"]]
    texts = {"bindings": least, "fillers": bag}
    return {"step": f"{least['step']:.0f}"} | {
        k: interval_text(_interval(v)) for k, v in texts.items()
    }


def _by_event(moments: pd.DataFrame, variant: str) -> dict[str, dict[str, str]]:
    """The moments of a variant as texts, by sense and event."""
    of: Any = moments[moments["variant"] == variant]
    return {
        sense: {row["event"]: summarize_step(row["step"]) for row in rows.to_dict("records")}
        for sense, rows in of.groupby("sense")
    }


def summarize_step(step: float) -> str:
    """A moment as text."""
    return "never" if np.isnan(step) else f"{step:.0f}"


def _moment_row(row: dict[Any, Any]) -> dict[str, str]:
    seeds = ", ".join(summarize_step(row[f"seed_{seed}"]) for seed in SEEDS)
    head = {name: row[name] for name in ("variant", "sense", "event")}
    return head | {"from step on": summarize_step(row["step"]), "each seed alone": seeds}


def _end_rows(measured: pd.DataFrame) -> Any:
    """First, largest and last values of every event, over seeds, beside the strongest control's last."""
    for variant in VARIANTS:
        groups: Any = curves_of(measured, variant).groupby("row", sort=False)
        for event, of in groups:
            ends = [of.iloc[0], of.loc[of["value"].idxmax()], of.iloc[-1]]
            texts = [interval_text(_interval(each), ".3f") for each in ends]
            top = f"{texts[1]} at step {ends[1]['step']:.0f}"
            control = "–" if np.isnan(ends[2]["control"]) else f"{ends[2]['control']:.3f}"
            yield {"variant": variant, "event": event, "first step": texts[0], "most": top,
                   "last step": texts[2], "control, last step": control}  # fmt: skip


def _interval(row: Any) -> Interval:
    return Interval(row["value"], row["value_low"], row["value_high"])


def draw_figures() -> dict[str, Drawing]:
    """The film: a column a variant, the events' curves with their controls and moments."""
    measured, moments = read_measured(), pd.read_csv(MOMENTS)
    curves = pd.concat([curves_of(measured, v).assign(run=v) for v in VARIANTS])
    curves["metric"] = curves["row"].map(SCALES)
    curves = curves.sort_values("metric", kind="stable")
    at = moments[moments["sense"] == PRESENT].rename(columns={"variant": "run", "event": "row"})
    return {"images/film.svg": draw_trajectory(curves, at.assign(metric=at["row"].map(SCALES)))}
