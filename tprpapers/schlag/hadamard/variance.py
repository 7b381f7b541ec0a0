"""Variance of v ⊗ r, the full tensor product of filler and role, that d numbers keep: head by head."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int

from tprpapers.schlag.hadamard import bases
from tprpapers.schlag.hadamard.bases import Basis, Second
from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bounds, group_sums, replicate_totals
from tprprobe.store import Store

DRAWS, ROWS_AT_ONCE = 5, 512
BASES = ("own", "principal", "repeated pairs", "orthonormal pairs", "random pairs")

Vectors = Float64[np.ndarray, "row d_head"]


@dataclass(frozen=True, eq=False)
class Bound:
    """Fillers and roles of one head at some positions, with the question of each.

    As read from a store each of their dimensions has mean square 1: the model computes the same for
    any factor between a dimension of v, of r and the column of W_o that reads their product.
    """

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


@dataclass(frozen=True, eq=False)
class Captured:
    """The share of one head's v ⊗ r that bases keep on held-out positions, summed by question."""

    energy: Float64[np.ndarray, "question basis"]
    total: Float64[np.ndarray, " question"]
    directions: list[int]
    positions: int


def capture_variance(
    store: Store,
    pattern: str = "encoder.*.self.role",
    seed: int = 0,
    positions: int = 20_000,
) -> pd.DataFrame:
    """The share of E|v ⊗ r|² that d directions capture, v and r of width d: a row per head and basis.

    basis        own (the model's diagonal, what the Hadamard product keeps) · principal (no d
                 directions capture more) · repeated pairs (the best pairs m ⊗ n, vectors may
                 repeat) · orthonormal pairs (the paper's form at its best) · random pairs (the
                 same form, the mean of five draws)
    captured     E|P vec(v ⊗ r)|² / E|v ⊗ r|², about the origin as in the paper, on questions that
                 the basis was not fitted to
    of_best      the same as a share of what the principal directions capture
    _low, _high  95 % intervals of both, over these questions
    directions   of the basis: d, or fewer where they capture all
    untrained    the randomly initialized twin; no such rows where the store has no control
    Where there are several heads, rows without head, layer and site are their mean, by ``stack``.
    At most ``positions`` a head, drawn at random. Every dimension of v and of r has mean square 1,
    so that the shares do not depend on factors that the model leaves open. Source: schlag Sec. 7.

    Raises:
        InputError: no such roles, or fillers of another shape beside them.
    """
    rows, by_stack = [], defaultdict(list)
    for place, bound in read_heads(store, pattern, positions, seed):
        captured = _capture(bound, seed)
        stack = place["site"].partition(".")[0]
        by_stack[place["untrained"], stack].append(captured)
        rows += [place | {"stack": stack} | row for row in _describe([captured], seed)]
    for (untrained, stack), heads in by_stack.items():
        place = {"untrained": untrained, "stack": stack}
        rows += [place | row for row in _describe(heads, seed) if len(heads) > 1]
    return pd.DataFrame(rows).astype({"layer": "Int64", "head": "Int64"})


def read_heads(
    store: Store, pattern: str, positions: int, seed: int
) -> Iterator[tuple[dict[str, Any], Bound]]:
    """Every head of the role sites that match and have fillers, in the store and in its control, with its fillers and roles."""
    for untrained, source in ((False, store), (True, store.control)):
        if source is not None:
            sites = source.select(pattern)
            bound_sites = [site for site in sites if _beside(site) in source.sites]
            for site in bound_sites or sites:
                for head, bound in enumerate(_read(source, site, positions, seed)):
                    place = {"layer": layer_of(site), "site": site, "head": head}
                    yield place | {"untrained": untrained}, bound


def _beside(site: str) -> str:
    """The site of the fillers of some roles."""
    return f"{site.rpartition('.')[0]}.filler"


def _read(store: Store, site: str, positions: int, seed: int) -> Iterator[Bound]:
    """The roles of every head of a site, and the fillers, at randomly chosen positions."""
    filler = store.select(_beside(site))[0]
    shapes = [store.specs[name].shape for name in (site, filler)]
    if len(shapes[0]) != 2 or shapes[0] != shapes[1]:
        raise InputError(
            f"{site} is {shapes[0]} a token and {filler} {shapes[1]}: both must be head × d_head"
        )
    tokens = store.tokens_of(site)
    is_drawn = np.zeros(len(tokens), bool)
    rng = np.random.default_rng(seed)
    is_drawn[rng.permutation(len(tokens))[:positions]] = True
    questions = pd.factorize(tokens["question" if "question" in tokens else "sample"])[0][is_drawn]
    for head in range(shapes[0][0]):
        fillers, roles = (
            np.concatenate([block[is_drawn[rows]] for rows, block in store.iterate(name, head)])
            for name in (filler, site)
        )
        yield Bound(_unit(fillers), _unit(roles), questions)


def _unit(vectors: Float[np.ndarray, "row d_head"]) -> Vectors:
    """The vectors with mean square 1 in every dimension that is not 0 throughout."""
    vectors = vectors.astype(np.float64)
    size = np.sqrt(np.square(vectors).mean(0))
    return vectors / np.where(size == 0, 1.0, size)


def _capture(bound: Bound, seed: int) -> Captured:
    order = np.random.default_rng(seed).permutation(bound.questions.max() + 1)
    is_test = order[bound.questions] % 2 == 1
    test, second = bound[is_test], second_moment(bound[~is_test])
    total = np.square(test.fillers).sum(1) * np.square(test.roles).sum(1)
    bases_by_name = fit_bases(second, seed).values()
    energies = [
        np.mean([_measure_energy(test, basis) for basis in fitted_bases], axis=0)
        for fitted_bases in bases_by_name
    ]
    sums = group_sums(np.stack([*energies, total], 1), test.questions)
    directions = [fitted_bases[0].shape[1] for fitted_bases in bases_by_name]
    return Captured(sums[:, :-1], sums[:, -1], directions, len(total))


def _describe(heads: Sequence[Captured], seed: int) -> Iterator[dict[str, Any]]:
    """One row per basis: the share it captures, as a mean over heads read at the same positions."""
    sums = np.concatenate([np.column_stack([head.energy, head.total]) for head in heads], axis=1)
    values = _shares(sums.sum(0, keepdims=True), len(heads))[:, 0]
    replicates = _shares(replicate_totals(sums, seed=seed), len(heads))
    intervals = bounds(replicates.swapaxes(0, 1), len(sums))
    for index, basis in enumerate(BASES):
        row: dict[str, Any] = {"basis": basis}
        for name, value, (low, high) in zip(
            ("captured", "of_best"), values[:, index], intervals[:, :, index].T, strict=True
        ):
            row |= {name: value, f"{name}_low": low, f"{name}_high": high}
        yield row | {
            "directions": heads[0].directions[index],
            "positions": heads[0].positions,
            "questions": len(sums),
        }


def _shares(
    totals: Float64[np.ndarray, "replicate term"], n_heads: int
) -> Float64[np.ndarray, "2 replicate basis"]:
    """The captured share, and that share relative to the best basis, both means over heads."""
    by_head = totals.reshape(len(totals), n_heads, -1)
    energy, total = by_head[..., :-1], by_head[..., -1:]
    best = energy[..., [BASES.index("principal")]]
    return np.stack([np.mean(energy / total, axis=1), np.mean(energy / best, axis=1)])


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
    fitted_bases = (
        [bases.diagonal(width)],
        [bases.principal(second, width)],
        [bases.repeated_pairs(second, width, seed)],
        [bases.orthonormal_pairs(second)],
        [bases.random_pairs(width, rng) for _ in range(DRAWS)],
    )
    return dict(zip(BASES, fitted_bases, strict=True))


def _measure_energy(bound: Bound, basis: Basis) -> Float64[np.ndarray, " row"]:
    """|P vec(v ⊗ r)|² at every position."""
    energy = np.empty(len(bound.questions))
    for rows, tensors in bound.tensors():
        energy[rows] = np.square(tensors @ basis).sum(1)
    return energy
