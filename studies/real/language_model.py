"""Question b: where does a language model bind, is it learned, does it use it? All tables and estimates."""

from pathlib import Path

import numpy as np
import pandas as pd

import tprprobe as tp
from studies.real.agreement import measure_agreement
from studies.real.outcomes import estimate, publish
from studies.real.period_states import measure_period
from tprprobe.statistics import Interval, read_interval

SEEDS = (0, 1)
BINDING, BELOW, HALF = "factored", "additive", 15  # whose gain, over what; the second half


def measure(name: str, runs: Path) -> pd.DataFrame:
    """Measures what is missing, writes the tables of question b, and returns its estimates."""
    agreement = [measure_agreement(tp.load_model(name), seed, runs) for seed in SEEDS]
    turns = publish("agreement", agreement)
    periods = [measure_period(name, seed, runs) for seed in SEEDS]
    nested = publish("period-nested", [each["nested"] for each in periods])
    replaced = publish("period-replaced", [each["replaced"] for each in periods])
    gains = publish("period-gains", [find_gains(nested)])
    found = [_of_agreement(turns), _of_period(gains, replaced)]
    return publish("language-model-estimates", found)


def find_gains(nested: pd.DataFrame) -> pd.DataFrame:
    """The rows of bindings, with R² of words and places (``below``) and of both on withheld pairs."""
    real = nested[nested["control"].fillna("") == ""]
    own, below = (real[real["family"] == name].reset_index(drop=True) for name in (BINDING, BELOW))
    assert (own["site"] == below["site"]).all()
    assert (own["seed"] == below["seed"]).all()
    unseen = {f"below_withheld{end}": below[f"r2_withheld{end}"] for end in ("", "_low", "_high")}
    return own.assign(below=below["r2"], **unseen)


def _of_agreement(turns: pd.DataFrame) -> pd.DataFrame:
    found = []
    for seed in turns["seed"].unique():
        of = turns[turns["seed"] == seed].set_index(["place", "edit"])
        found.append(
            estimate(
                "b-agreement", seed, read_interval(of.loc["none", "attractor"].squeeze(), "turned")
            )
        )
        by_layer = {
            key: of.loc[key].set_index("layer")
            for key in dict.fromkeys(of.index)
            if key[0] != "none"
        }
        first = by_layer["subject", "exchange"].loc[0]
        found.append(estimate("b-subject", seed, read_interval(first, "turned")))
        for layer, row in by_layer["last", "attractor"].iterrows():
            found.append(estimate("b-attractor", seed, read_interval(row, "turned"), str(layer)))
        for layer, row in by_layer["last", "vector"].iterrows():
            other = by_layer["last", "attractor's vector"].loc[layer]
            found.append(estimate("b-verb", seed, _difference(row, other, "turned"), str(layer)))
    return pd.DataFrame(found)


def _of_period(gains: pd.DataFrame, replaced: pd.DataFrame) -> pd.DataFrame:
    found = []
    for seed, of in gains.groupby("seed"):
        layers = of["site"].str.extract(r"\.(\d+)\.")[0].astype(int)
        for layer, (_, row) in zip(layers, of.iterrows(), strict=True):
            other = read_interval(row, "below_withheld")
            found.append(
                estimate(
                    "b-withheld",
                    int(str(seed)),
                    _less(read_interval(row, "r2_withheld"), other),
                    str(layer),
                )
            )
            found.append(
                estimate("b-learnt", int(str(seed)), read_interval(row, "learned"), str(layer))
            )
        halves = [of[(layers >= HALF) == late] for late in (False, True)]
        found.append(estimate("b-early", int(str(seed)), _between(*halves)))
    for _, row in replaced[replaced["edit"] == "bindings − additive"].iterrows():
        value = read_interval(row, "divergence")
        found.append(estimate("b-substitution", int(row["seed"]), value, str(row["layer"])))
    return pd.DataFrame(found)


def _difference(first: pd.Series, second: pd.Series, name: str) -> Interval:
    """One share minus another, half-widths added in squares (as if they were of other texts)."""
    return _less(*(read_interval(row, name) for row in (first, second)))


def _less(a: Interval, b: Interval) -> Interval:
    half = float(np.hypot(a.high - a.low, b.high - b.low)) / 2
    return Interval(a.value - b.value, a.value - b.value - half, a.value - b.value + half)


def _between(early: pd.DataFrame, late: pd.DataFrame) -> Interval:
    """The mean learned gain of the first layers minus that of the last, with the layers' mean half-width."""
    value = float(early["learned"].mean() - late["learned"].mean())
    first, last = (float((of["learned_high"] - of["learned_low"]).mean()) / 2 for of in (early, late))
    half = float(np.hypot(first, last))
    return Interval(value, value - half, value + half)
