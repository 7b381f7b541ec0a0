"""Do the intervals of our decomposition hold the truth? Many small draws of a planted TPR and of an additive null.

The truth of R² is that of the fit on very many other sequences; the truth of the bindings' gain in the null is 0.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tprprobe as tp
from benchmarks.binding.methods.nested import store_of
from benchmarks.binding.schemes import left
from benchmarks.binding.structure import Structure
from benchmarks.binding.subjects.planted import additive, bind, draw_sequences
from tprprobe.files.runs import KeptRun, write_table
from tprprobe.statistics import wilson

DRAWS, FITTED, FRESH, NOISE = 20, 1200, 2000, 0.3
INNER: dict[str, Callable] = {"planted TPR": partial(bind, ranks=(3, 2)), "additive null": additive}


def draw_one(name: str, seed: int) -> dict[Any, Any]:
    """A draw's interval of R² and of the bindings' gain, and the R² of its fit on fresh sequences."""
    rng = np.random.default_rng((seed, 11))
    run = INNER[name](rng, "abcdef")
    drawn = draw_sequences(rng, "abcdef", (3, 4, 5), FITTED + FRESH)
    sequences = tuple(drawn[i] for i in rng.permutation(len(drawn)))  # short ones are drawn first
    clean = run(sequences)
    scale = np.sqrt(NOISE / (1 - NOISE) * clean.var(0).sum() / clean.shape[1])
    states = clean + rng.normal(size=clean.shape) * scale
    fitted = Structure(sequences[:FITTED], left)
    with store_of(states[:FITTED], fitted) as (store, _):
        found = tp.decompose(store, "state", lambda s: left(tuple(s)), seed=seed)
    scores = found.scores[(found.scores["control"] == "") & (found.scores["family"] == "factored")]
    fresh = states[FITTED:]
    errors = np.sum((fresh - found.encode(sequences[FITTED:])) ** 2)
    truth = 1 - errors / np.sum((fresh - states[:FITTED].mean(0)) ** 2)
    ends = ("r2_low", "r2_high", "gain_low", "gain_high")
    return {"draws of": name, "seed": seed, "truth": truth, **scores.iloc[0][[*ends]].to_dict()}


def calibrate(out: Path, draws: int = DRAWS) -> pd.DataFrame:
    """The table ``calibration.csv``: how often an interval holds the truth, with intervals of that."""
    kept, drawn = KeptRun.open(out / "draws", {"version": 2}, True, "draws.json", "draws.json"), []
    for name in INNER:
        for seed in range(draws):
            one = partial(draw_one, name, seed)
            part = kept.part(
                f"{name.replace(' ', '_')}-{seed}", lambda one=one: {"d": pd.DataFrame([one()])}
            )
            part.finish()
            drawn.append(part.read("d"))
    found, rows = pd.concat(drawn, ignore_index=True), []
    for name, of in found.groupby("draws of", sort=False):
        held = {
            "R² of new sequences is in its interval": of["truth"].between(
                of["r2_low"], of["r2_high"]
            )
        }
        if name == "additive null":
            held["the gain of bindings is 0, and 0 is in its interval"] = of["gain_low"] <= 0
        for what, right in held.items():
            interval = wilson(int(right.sum()), len(right))
            rows.append(
                {"draws of": name, "what": what, "n": len(right), **interval.columns("share")}
            )
    table = pd.DataFrame(rows)
    write_table(out / "calibration.csv", table)
    return table
