"""How much of v ⊗ r, the full tensor product of filler and role, d numbers keep: head by head."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from tprprobe.approximation import bases
from tprprobe.approximation.bases import Basis, Second
from tprprobe.errors import InputError
from tprprobe.sitenames import layer_of
from tprprobe.statistics import bootstrap_ratio, group_sums
from tprprobe.store import Store

POSITIONS, DRAWS, ROWS_AT_ONCE = 20_000, 5, 512

Vectors = Float64[np.ndarray, "row d_head"]


@dataclass(frozen=True, eq=False)
class Bound:
    """Fillers and roles of one head at some positions, with the question of each."""

    fillers: Vectors
    roles: Vectors
    questions: Int[np.ndarray, " row"]

    def __getitem__(self, rows: np.ndarray) -> "Bound":
        return Bound(self.fillers[rows], self.roles[rows], self.questions[rows])

    def tensors(self) -> Iterator[tuple[slice, Float64[np.ndarray, "_row pair"]]]:
        """vec(v ⊗ r), a few rows at a time."""
        for start in range(0, len(self.questions), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            tensor = self.fillers[rows, :, None] * self.roles[rows, None, :]
            yield rows, tensor.reshape(len(tensor), -1)


def capture_variance(
    store: Store, pattern: str = "encoder.*.self.role", seed: int = 0
) -> pd.DataFrame:
    """The share of E|v ⊗ r|² that d directions capture, v and r of width d: a row a head and basis.

    basis        own (the model's diagonal, what the Hadamard product keeps) · principal (no d
                 directions capture more) · repeated pairs (the best pairs m ⊗ n, vectors may
                 repeat) · orthonormal pairs (the paper's form at its best) · random pairs (the
                 same form, the mean of five draws)
    captured     E|P vec(v ⊗ r)|² / E|v ⊗ r|², about the origin as in the paper, on questions that
                 the basis was not fitted to; low, high: 95 % interval over these
    directions   of the basis: d, or fewer where they capture all
    untrained    the randomly initialised twin; no such rows where the store has no control
    At most 20,000 positions a head. The share depends on the scale of every dimension of v and r,
    which the model leaves open up to a factor between v, r and W_o.
    Source: schlag Sec. 7; science.md §4.7.

    Raises:
        InputError: no such roles, or fillers of another shape beside them.
    """
    return pd.DataFrame(
        [
            place | row
            for place, bound in read_heads(store, pattern, POSITIONS, seed)
            for row in _capture(bound, seed)
        ]
    )


def read_heads(
    store: Store, pattern: str, positions: int, seed: int
) -> Iterator[tuple[dict[str, Any], Bound]]:
    """Every head of the role sites that match, of the store and of its control: where, and what."""
    for untrained, each in ((False, store), (True, store.control)):
        if each is not None:
            for site in each.select(pattern):
                for head, bound in enumerate(_read(each, site, positions, seed)):
                    place = {"layer": layer_of(site), "site": site, "head": head}
                    yield place | {"untrained": untrained}, bound


def _read(store: Store, site: str, positions: int, seed: int) -> Iterator[Bound]:
    """The roles of every head of a site, and the fillers, at randomly chosen positions."""
    filler = store.select(f"{site.rpartition('.')[0]}.filler")[0]
    shapes = [store.specs[name].shape for name in (site, filler)]
    if len(shapes[0]) != 2 or shapes[0] != shapes[1]:
        raise InputError(
            f"{site} is {shapes[0]} a token and {filler} {shapes[1]}: both must be head × d_head"
        )
    tokens = store.tokens_of(site)
    chosen = np.zeros(len(tokens), bool)
    rng = np.random.default_rng(seed)
    chosen[rng.permutation(len(tokens))[:positions]] = True
    questions = pd.factorize(tokens["question" if "question" in tokens else "sample"])[0][chosen]
    for head in range(shapes[0][0]):
        parts = [
            np.concatenate([block[chosen[rows]] for rows, block in store.iterate(name, head)])
            for name in (filler, site)
        ]
        yield Bound(parts[0].astype(np.float64), parts[1].astype(np.float64), questions)


def _capture(bound: Bound, seed: int) -> Iterator[dict[str, object]]:
    order = np.random.default_rng(seed).permutation(bound.questions.max() + 1)
    is_test = order[bound.questions] % 2 == 1
    test, second = bound[is_test], second_moment(bound[~is_test])
    total = np.square(test.fillers).sum(1) * np.square(test.roles).sum(1)
    for name, found in fit_bases(second, seed).items():
        kept = np.mean([_kept(test, basis) for basis in found], axis=0)
        sums = group_sums(np.stack([kept, total], 1), test.questions)
        share = bootstrap_ratio(sums[:, 0], sums[:, 1], seed=seed)
        yield {
            "basis": name,
            "captured": share.value,
            "low": share.low,
            "high": share.high,
            "directions": found[0].shape[1],
            "positions": len(total),
            "questions": len(sums),
        }


def second_moment(bound: Bound) -> Second:
    """E[vec(v ⊗ r) vec(v ⊗ r)ᵀ]."""
    size = bound.fillers.shape[1] ** 2
    total = np.zeros((size, size))
    for _, tensors in bound.tensors():
        total += tensors.T @ tensors
    return total / len(bound.questions)


def fit_bases(second: Second, seed: int = 0) -> dict[str, list[Basis]]:
    """The bases that are compared, by name; of random pairs there are several."""
    width = round(len(second) ** 0.5)
    rng = np.random.default_rng(seed)
    return {
        "own": [bases.diagonal(width)],
        "principal": [bases.principal(second, width)],
        "repeated pairs": [bases.repeated_pairs(second, width, seed)],
        "orthonormal pairs": [bases.orthonormal_pairs(second)],
        "random pairs": [bases.random_pairs(width, rng) for _ in range(DRAWS)],
    }


def _kept(bound: Bound, basis: Basis) -> Float64[np.ndarray, " row"]:
    """|P vec(v ⊗ r)|² at every position."""
    kept = np.empty(len(bound.questions))
    for rows, tensors in bound.tensors():
        kept[rows] = np.square(tensors @ basis).sum(1)
    return kept
