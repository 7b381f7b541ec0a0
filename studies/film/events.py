"""When each event of the film happens: moments over seeds, comparisons of moments, and the predictions' outcomes."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from studies.film.filmed_models import SEEDS, VARIANTS, Filmed
from studies.film.film_questions import EVENTS
from tprprobe.analyses.moments import find_curves, find_moments, pair_controls
from tprprobe.files.settings import read_toml
from tprprobe.statistics import Interval

HERE = Path(__file__).parent
MEASURED, MOMENTS, PREDICTIONS = (
    HERE / name for name in ("measured.csv", "moments.csv", "predictions.toml")
)
PRESENT, LEARNT = "present", "learnt"  # beyond shuffled pairs; beyond the first step's network, too


def collect(runs: Path) -> pd.DataFrame:
    """What all runs answered, a row a variant, seed, step, event and control."""
    found = []
    for variant in VARIANTS:
        for seed in SEEDS:
            file = runs / Filmed(variant, seed).name / "lapse/film.csv"
            table = pd.read_csv(file).assign(seed=seed, control=lambda t: t["control"].fillna(""))
            found.append(table.assign(variant=variant))
    return pd.concat(found, ignore_index=True).round(5)


def pairs_of(measured: pd.DataFrame, variant: str, sense: str) -> pd.DataFrame:
    """The events of a variant beside their controls; ``learnt``: the first step's network among them."""
    table = measured[measured["variant"] == variant].drop(columns="variant")
    if sense == LEARNT:
        keys = ["seed", "kind"]
        first = table[(table["control"] == "") & (table["step"] == table["step"].min())]
        steps = table[["seed", "step", "kind"]].drop_duplicates()
        untrained = steps.merge(first.drop(columns="step"), on=keys).assign(control="first step")
        table = pd.concat([table, untrained], ignore_index=True)
    return pair_controls(table, variant).rename(columns={"row": "event"}).assign(row=lambda t: t["event"])  # fmt: skip


def tell_moments(measured: pd.DataFrame) -> pd.DataFrame:
    """A row a variant, sense and event: the moment over all seeds, and that of every seed alone."""
    found = []
    for variant in VARIANTS:
        for sense in (PRESENT, LEARNT):
            pairs = pairs_of(measured, variant, sense).drop(columns="event")
            alone = {
                f"seed_{seed}": find_moments(of).set_index("row")["step"]
                for seed, of in pairs.groupby("seed")
            }
            table = find_moments(pairs).set_index("row")[["step"]].assign(**alone)
            found.append(table.reset_index().assign(variant=variant, sense=sense))
    table = pd.concat(found, ignore_index=True).rename(columns={"row": "event"})
    return table[
        ["variant", "sense", "event", *(c for c in table if c.startswith(("step", "seed")))]
    ]
