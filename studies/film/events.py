"""When each event of the film happens: moments over seeds, comparisons of moments, and the predictions' outcomes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from studies.film.film_questions import EVENTS, GRU
from studies.film.filmed_models import SEEDS, VARIANTS, Filmed
from tprprobe.evaluation.onsets import find_curves, find_onsets, pair_controls
from tprprobe.evaluation.results import load_results, melt
from tprprobe.files.settings import read_toml
from tprprobe.statistics import Interval

HERE = Path(__file__).parent
MEASURED, MOMENTS, PREDICTIONS = (
    HERE / name for name in ("measured.csv", "moments.csv", "predictions.toml")
)
PRESENT, LEARNT = "present", "learnt"  # beyond shuffled pairs; beyond the first step's network, too
YES = {True: "holds", False: "fails"}
ANSWERS, TPS = "answers", ("tp-transformer", "transformer")
# A bag of fillers does not change where roles are shuffled, nor do places where fillers are: no controls of these
IDLE = {("fillers", "shuffled roles"), ("places", "shuffled fillers")}


def collect(runs: Path) -> pd.DataFrame:
    """What all runs answered, a row a variant, seed, step, event and control."""
    found = []
    for variant in VARIANTS:
        for seed in SEEDS:
            table = load_results(runs / Filmed(variant, seed).name / "trajectory").table
            ends = {name: f"value_{name}" for name in ("low", "high")}
            columns = ["step", "task", "control", "value", "low", "high"]
            rows = table[columns].rename(columns={"task": "kind", **ends})
            found.append(rows.assign(variant=variant, seed=seed))
    return pd.concat(found, ignore_index=True).round(5)


def read_measured() -> pd.DataFrame:
    """The kept table."""
    table = pd.read_csv(MEASURED)
    return table.assign(control=table["control"].fillna(""))


def pair_events(measured: pd.DataFrame, variant: str, sense: str) -> pd.DataFrame:
    """The events of a variant beside their controls; ``learnt``: the first step's network among these.

    A sequence of a length has all places of that length, so that for the GRU, whose vectors are of sequences, places
    are the length, which no shuffling changes: they have no control.
    """
    table = measured[measured["variant"] == variant].drop(columns="variant")
    named = list(zip(table["kind"], table["control"], strict=True))
    idle = [each in IDLE or (variant == GRU and each[0] == "places" and each[1]) for each in named]
    table = table[~np.array(idle, bool)]
    if sense == LEARNT:
        first = table[(table["control"] == "") & (table["step"] == table["step"].min())]
        steps = table[["seed", "step", "kind"]].drop_duplicates()
        untrained = steps.merge(first.drop(columns="step"), on=["seed", "kind"])
        table = pd.concat([table, untrained.assign(control="first step")], ignore_index=True)
    names = {name: name for name in ("step", "seed", "kind", "control")}
    return pair_controls(melt(table, names, ["value"]), f"{variant}, {sense}")


def find_all_moments(measured: pd.DataFrame) -> pd.DataFrame:
    """A row a variant, sense and event: the moment over all seeds, and that of every seed alone."""
    found = []
    for variant in VARIANTS:
        for sense in (PRESENT, LEARNT):
            pairs = pair_events(measured, variant, sense)
            seeds: Any = pairs.groupby("seed")
            alone = {f"seed_{int(s)}": find_onsets(of).set_index("row")["step"] for s, of in seeds}
            table = find_onsets(pairs).set_index("row")[["step"]].assign(**alone)
            order = [each for each in (*EVENTS, ANSWERS) if each in table.index]
            rows = table.loc[order].rename_axis("event").reset_index()
            found.append(rows.assign(variant=variant, sense=sense))
    table = pd.concat(found, ignore_index=True)
    return table[
        ["variant", "sense", "event", "step", *(c for c in table if c.startswith("seed_"))]
    ]


def log_moments(
    moments: pd.DataFrame, variant: str, event: str, last: float, sense: str = PRESENT
) -> np.ndarray:
    """log2 of an event's moment, a number a seed; never counts as twice the last step."""
    rows = moments[(moments["variant"] == variant) & (moments["event"] == event)]
    row = rows[rows["sense"] == sense].filter(like="seed_").iloc[0]
    return np.log2(row.fillna(2 * last).to_numpy(float))


def student(values: np.ndarray) -> Interval:
    """The mean of numbers, one a seed, with Student's 95 % interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return Interval(float(values.mean()), float(values.mean() - half), float(values.mean() + half))


def half_answered(measured: pd.DataFrame, variant: str) -> np.ndarray:
    """log2 of the first step at which half of the final exact match is reached, a number a seed."""
    of = measured[(measured["variant"] == variant) & (measured["kind"] == ANSWERS)]
    table = of.pivot(index="step", columns="seed", values="value")
    return np.log2([table.index[(table[s] >= table[s].iloc[-1] / 2).argmax()] for s in table])


def decide(measured: pd.DataFrame, moments: pd.DataFrame) -> pd.DataFrame:
    """The outcome of every prediction by its own rule, with the number that decides."""
    says = {each["id"]: each["says"] for each in read_toml(PREDICTIONS)["prediction"]}
    found = dict(_outcomes(measured, moments))
    rows = [
        {"id": name, "says": says[name], "outcome": outcome, "found": text}
        for name, (outcome, text) in found.items()
    ]
    order = {"fails": 0, "undecided": 1, "holds": 2}
    table = pd.DataFrame(rows)
    return table.sort_values(
        "outcome", key=lambda o: o.map(order), kind="stable", ignore_index=True
    )


def judge(of: Interval, threshold: float, sign: int = 1) -> str:
    """holds: all of the interval lies beyond the threshold (above, or below for -1); fails: none of it does."""
    low, high = sorted([sign * (of.low - threshold), sign * (of.high - threshold)])
    return "holds" if low > 0 else "fails" if high <= 0 else "undecided"


def _outcomes(
    measured: pd.DataFrame, moments: pd.DataFrame
) -> Iterator[tuple[str, tuple[str, str]]]:
    last = measured.groupby("variant")["step"].max()
    gru = moments[(moments["variant"] == GRU) & (moments["sense"] == PRESENT)].set_index("event")["step"]  # fmt: skip
    order = [gru[event] for event in EVENTS]
    filled = np.nan_to_num(order, nan=2.0 * last[GRU])
    shown = ", ".join(f"{e} {_step(s)}" for e, s in zip(EVENTS, order, strict=True))
    yield "gru-order", (YES[bool((np.diff(filled) >= 0).all())], shown)
    first = measured["step"].min()
    yield (
        "gru-fillers-untrained",
        (YES[bool(gru["fillers"] == first)], f"step {_step(gru['fillers'])}"),
    )
    yield (
        "gru-binding-untrained",
        (YES[bool(gru["bindings"] == first)], f"step {_step(gru['bindings'])}"),
    )

    def logs(variant: str, event: str) -> np.ndarray:
        return log_moments(moments, variant, event, last[variant])

    late = student(logs(GRU, "surgery") - logs(GRU, "systematic"))
    yield "gru-surgery-late", (judge(late, 1), _text(late))
    earlier = student(logs(TPS[0], "bindings") - logs(TPS[1], "bindings"))
    yield "tp-earlier", (judge(earlier, 0, -1), _text(earlier))
    more = compare_last(measured, "bindings")
    yield "tp-more", (judge(more, 0), _text(more, "+.4f"))
    both = student(np.concatenate([logs(v, "systematic") - logs(v, "bindings") for v in TPS]))
    yield "systematic-last", (judge(both, 1), _text(both))
    skill = student(np.concatenate([half_answered(measured, v) - logs(v, "bindings") for v in TPS]))
    yield "accuracy-after", (judge(skill, 0), _text(skill))


def compare_last(measured: pd.DataFrame, event: str) -> Interval:
    """A measure of the TP-Transformer less its Transformer's at the last step, over seeds."""
    of = measured[(measured["kind"] == event) & (measured["control"] == "")]
    ends = of[of["step"] == of[of["variant"] == TPS[0]]["step"].max()]
    table = ends.pivot(index="seed", columns="variant", values="value")
    return student((table[TPS[0]] - table[TPS[1]]).to_numpy())


def curves_of(measured: pd.DataFrame, variant: str, sense: str = PRESENT) -> pd.DataFrame:
    """The curves of a variant's events over seeds."""
    return find_curves(pair_events(measured, variant, sense))


def _step(step: float) -> str:
    return "never" if np.isnan(step) else f"{step:g}"


def _text(of: Interval, form: str = "+.2f") -> str:
    return f"{of.value:{form}} [{of.low:{form}}, {of.high:{form}}]"
