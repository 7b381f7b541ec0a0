"""Do the intervals of our decomposition hold the truth? Many small draws of a planted TPR and of an additive null.

The truth of R² is that of the fit on very many other sequences; the truth of the bindings' gain in the null is 0.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import tprprobe as tp
from benchmarks.binding.methods.nested import store_of
from benchmarks.binding.schemes import left
from benchmarks.binding.structure import Structure
from benchmarks.binding.subjects.planted import additive, bind, draw_sequences
from tprprobe.statistics import wilson

DRAWS, N_TRAIN, FRESH, NOISE = 20, 1200, 2000, 0.3
INNER: dict[str, Callable] = {"planted TPR": partial(bind, ranks=(3, 2)), "additive null": additive}


def draw_one(name: str, seed: int) -> dict[str, float]:
    """A draw's interval of R² and of the bindings' gain, and the R² of its fit on fresh sequences."""
    rng = np.random.default_rng((seed, 11))
    run = INNER[name](rng, "abcdef")
    draws = draw_sequences(rng, "abcdef", (3, 4, 5), N_TRAIN + FRESH)
    sequences = tuple(draws[i] for i in rng.permutation(len(draws)))  # short ones are drawn first
    clean = run(sequences)
    scale = np.sqrt(NOISE / (1 - NOISE) * clean.var(0).sum() / clean.shape[1])
    states = clean + rng.normal(size=clean.shape) * scale
    with store_of(states[:N_TRAIN], Structure(sequences[:N_TRAIN], left)) as (store, _):
        result = tp.decompose(store, "state", lambda s: left(tuple(s)), seed=seed)
    row = result.scores.query("control == '' and family == 'factored'").iloc[0]
    fresh = states[N_TRAIN:]
    errors = np.sum((fresh - result.encode(sequences[N_TRAIN:])) ** 2)
    truth = 1 - errors / np.sum((fresh - states[:N_TRAIN].mean(0)) ** 2)
    return {"truth": truth, **row[["r2_low", "r2_high", "gain_low"]]}


def calibrate(draws: int = DRAWS) -> pd.DataFrame:
    """How often an interval holds the truth, with intervals of that."""
    rows = list[dict[str, Any]]()
    for name in INNER:
        frame = pd.DataFrame([draw_one(name, seed) for seed in range(draws)])
        checks = {"R² of new sequences is in its interval": frame["truth"].between(frame["r2_low"], frame["r2_high"])}  # fmt: skip
        if name == "additive null":
            checks["the gain of bindings is 0, and 0 is in its interval"] = frame["gain_low"] <= 0
        for check, right in checks.items():
            share = wilson(int(right.sum()), draws).columns("share")
            rows.append({"draws of": name, "what": check, "n": draws, **share})
    return pd.DataFrame(rows)
