"""Question b: where does a language model bind, is it learned, does it use it? All tables and estimates."""

from pathlib import Path

import numpy as np
import pandas as pd

import tprprobe as tp
from studies.intervals import minus_independent
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
    nested = publish("period-nested", [period["nested"] for period in periods])
    replaced = publish("period-replaced", [period["replaced"] for period in periods])
    gains = publish("period-gains", [find_gains(nested)])
    estimates = [_of_agreement(turns), _of_period(gains, replaced)]
    return publish("language-model-estimates", estimates)


def find_gains(nested: pd.DataFrame) -> pd.DataFrame:
    """The rows of bindings, with R² of words and places (``below``) and of both on withheld pairs."""
    real = nested[nested["control"].fillna("") == ""]
    bindings, below = (
        real[real["family"] == name].reset_index(drop=True) for name in (BINDING, BELOW)
    )
    assert (bindings["site"] == below["site"]).all()
    assert (bindings["seed"] == below["seed"]).all()
    unseen = {f"below_withheld{end}": below[f"r2_withheld{end}"] for end in ("", "_low", "_high")}
    return bindings.assign(below=below["r2"], **unseen)


def _of_agreement(turns: pd.DataFrame) -> pd.DataFrame:
    estimates = []
    for seed in turns["seed"].unique():
        seed_turns = turns[turns["seed"] == seed].set_index(["place", "edit"])
        estimates.append(
            estimate(
                "b-agreement",
                seed,
                read_interval(seed_turns.loc["none", "attractor"].squeeze(), "turned"),
            )
        )
        by_layer = {
            key: seed_turns.loc[key].set_index("layer")
            for key in dict.fromkeys(seed_turns.index)
            if key[0] != "none"
        }
        at_subject = by_layer["subject", "exchange"].loc[0]
        estimates.append(estimate("b-subject", seed, read_interval(at_subject, "turned")))
        for layer, row in by_layer["last", "attractor"].iterrows():
            estimates.append(
                estimate("b-attractor", seed, read_interval(row, "turned"), str(layer))
            )
        for layer, row in by_layer["last", "vector"].iterrows():
            attractor_row = by_layer["last", "attractor's vector"].loc[layer]
            estimates.append(
                estimate(
                    "b-verb",
                    seed,
                    minus_independent(
                        *(read_interval(share, "turned") for share in (row, attractor_row))
                    ),
                    str(layer),
                )
            )
    return pd.DataFrame(estimates)


def _of_period(gains: pd.DataFrame, replaced: pd.DataFrame) -> pd.DataFrame:
    estimates = []
    for seed, seed_gains in gains.groupby("seed"):
        layers = seed_gains["site"].str.extract(r"\.(\d+)\.")[0].astype(int)
        for layer, (_, row) in zip(layers, seed_gains.iterrows(), strict=True):
            below = read_interval(row, "below_withheld")
            estimates.append(
                estimate(
                    "b-withheld",
                    int(str(seed)),
                    minus_independent(read_interval(row, "r2_withheld"), below),
                    str(layer),
                )
            )
            estimates.append(
                estimate("b-learnt", int(str(seed)), read_interval(row, "learned"), str(layer))
            )
        halves = [seed_gains[(layers >= HALF) == late] for late in (False, True)]
        estimates.append(estimate("b-early", int(str(seed)), _between(*halves)))
    for _, row in replaced[replaced["edit"] == "bindings − additive"].iterrows():
        value = read_interval(row, "divergence")
        estimates.append(estimate("b-substitution", int(row["seed"]), value, str(row["layer"])))
    return pd.DataFrame(estimates)


def _between(early: pd.DataFrame, late: pd.DataFrame) -> Interval:
    """The mean learned gain of the first layers minus that of the last, with the layers' mean half-width."""
    value = float(early["learned"].mean() - late["learned"].mean())
    early_half, late_half = (
        float((layers["learned_high"] - layers["learned_low"]).mean()) / 2
        for layers in (early, late)
    )
    half = float(np.hypot(early_half, late_half))
    return Interval(value, value - half, value + half)
