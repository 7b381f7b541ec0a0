"""Nested decomposition (ours): fillers, roles and few-dimensional bindings, one penalty a block, by `tp.decompose`."""

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tprprobe as tp
from benchmarks.binding.structure import Array, Structure, Swaps

TITLE, PRIMARY = "nested decomposition (ours)", "states"
GRID: dict[str, list[Any]] = {}  # rank and penalties are chosen by itself
CANNOT: dict[str, str] = {}


@contextlib.contextmanager
def store_of(states: Array, structure: Structure) -> Iterator[tuple[Any, dict[str, str]]]:
    """A store of vectors, a row a sequence; of means a row a token, each with its sequence's vector."""
    lengths = [len(s) for s in structure.sequences]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "states.npz"
        table: dict[str, Any] = {
            "sample": range(len(states)),
            "sequence": map(" ".join, structure.sequences),
        }
        if structure.shares:
            states = states.repeat(lengths, 0)
            tokens = [f for s in structure.sequences for f in s]
            table = {"sample": np.arange(len(lengths)).repeat(lengths), "token": tokens}
            table["position"] = np.concatenate([np.arange(n) for n in lengths])
        np.savez(file, state=states.astype(np.float32))
        pd.DataFrame(table).to_csv(file.with_suffix(".csv"), index=False)
        store = tp.import_store(file, Path(scratch) / "store")
        yield store, {"unit": "mean"} if structure.shares else {}


@dataclass
class Nested:
    """A decomposition, and whether its bindings gain more than chance over fillers and roles."""

    fit: Any
    parameters: int
    claims: bool

    def predict(self, _states: Array, structure: Structure) -> Array:
        return self.fit.encode(structure.sequences)

    def swap(self, swaps: Swaps) -> Array:
        change = self.fit.encode(swaps.after.sequences) - self.fit.encode(swaps.before.sequences)
        return swaps.states + change


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int) -> Nested:
    def roles(fillers: Any) -> list[str]:
        return structure.scheme(tuple(fillers))

    with store_of(states, structure) as (store, options):
        found = tp.decompose(store, "state", roles, seed=seed, **options)
    scores: Any = found.scores[found.scores["control"] == ""].set_index("family")
    row = scores.loc["factored"]
    return Nested(found, int(row["parameters"]), bool(row["gain_low"] > 0))


def name_roles(states: Array, structure: Structure) -> str:
    with store_of(states, structure) as (store, options):
        return tp.search_roles(store, "state", **options).found
