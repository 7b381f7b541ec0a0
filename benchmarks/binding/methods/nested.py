"""Nested decomposition (ours): fillers, roles and few-dimensional bindings, one penalty a block, by `tp.decompose`."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tprprobe as tp
from benchmarks.binding.structure import MAKES_VECTORS, Array, Fitted, Structure, Swaps
from tprprobe.analyses.decomposition import binds

TITLE, PRIMARY = "nested decomposition (ours)", "states"
GRID: dict[str, list[Any]] = {}  # rank and penalties are chosen by itself
CANNOT = MAKES_VECTORS


@contextlib.contextmanager
def store_of(states: Array, structure: Structure) -> Iterator[tuple[Any, dict[str, Any]]]:
    """A store of vectors, a row a sequence; of means a row a token, each with its sequence's vector."""
    sequences = structure.sequences
    table: dict[str, Any] = {"sample": range(len(states)), "sequence": map(" ".join, sequences)}
    if structure.shares:
        tokens = [(i, j, f) for i, s in enumerate(sequences) for j, f in enumerate(s)]
        table = dict(zip(("sample", "position", "token"), zip(*tokens, strict=True), strict=True))
        states = states[list(table["sample"])]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "states.npz"
        np.savez(file, state=states.astype(np.float32))
        pd.DataFrame(table).to_csv(file.with_suffix(".csv"), index=False)
        options = {"unit": "mean"} if structure.shares else {}
        yield tp.import_store(file, Path(scratch) / "store"), options


def fit(states: Array, structure: Structure, _swaps: Swaps, seed: int) -> Fitted:
    def roles(fillers: Any) -> list[str]:
        return structure.scheme(tuple(fillers))

    with store_of(states, structure) as (store, options):
        result = tp.decompose(store, "state", roles, seed=seed, **options)

    def encode(structure: Structure) -> Array:
        return result.encode(structure.sequences)

    row = result.scores[(result.scores["control"] == "") & (result.scores["family"] == "factored")]
    return Fitted(
        lambda _, structure: encode(structure),
        lambda swaps: replace_pairs(swaps, structure, encode, result.project_out),
        int(row["parameters"].iloc[0]),
        binds(row.iloc[0].to_dict()),
    )


def replace_pairs(
    swaps: Swaps,
    structure: Structure,
    encode: Callable[[Structure], Array],
    project_out: Callable[[Array], Array],
) -> Array:
    """The vectors with the binding that is added less the one that is taken; of a pair that no fitted vector has, with
    what no fitted binding explains of the donor, too.
    """
    is_new = np.array([[pair not in structure.known] for _, pair in swaps.pairs])
    change = encode(swaps.after) - encode(swaps.before)
    return swaps.states + change + np.where(is_new, project_out(swaps.donors - swaps.states), 0)


def name_roles(states: Array, structure: Structure) -> str:
    with store_of(states, structure) as (store, options):
        return tp.search_roles(store, "state", **options).found
