"""``python -m benchmarks.binding.operations``: is the operation named that binds, and no other one?

States are sums of bindings by an operation that is drawn anew by seed, in a basis of their own, with noise; a run that was
cut off goes on.
"""

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import typer
from scipy.linalg import dft

from benchmarks.binding.shares import Cell, Draws, Out, Part, Seed, counts_of, run
from benchmarks.binding.structure import Array
from tprprobe.analyses.decomposition.operation_scores import UnitParts, score_operations
from tprprobe.analyses.decomposition.operation_tables import find_operations
from tprprobe.analyses.decomposition.unit_vectors import UnitVectors
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.pairs import Pairs
from tprprobe.evaluation.splits import Provenance
from tprprobe.files.runs import KeptRun
from tprprobe.statistics import wilson

MANIFEST, VERSION = "operations.json", 1
FILLERS, ROLES, WIDTH, SAMPLES = 30, 6, 12, 1500
R2 = (0.9, 0.5)  # the share of the states' variance that is no noise
NONE = ""
TITLES = {
    "additive": "additive",
    "outer product 4×3": "outer product",
    "Hadamard product": "Hadamard product",
    "circular convolution": "circular convolution",
    "rotation of planes": "rotation",
    "orthogonal maps": "rotation",
    "matrix a role": "matrix a role",
    "free table": NONE,
}
RAW, ROTATED, FOURIER = "raw", "rotated", "Fourier"
BASES = {RAW: tuple(TITLES)}  # in which an operation is planted; most ask for no basis
BASES |= {ROTATED: ("Hadamard product", "circular convolution", "rotation of planes")}
BASES |= {FOURIER: ("Hadamard product", "circular convolution")}


def plant(truth: str, rng: np.random.Generator) -> Array:
    """V [filler, role, d] of an operation, or a free one."""
    f, r = rng.normal(size=(FILLERS, WIDTH)), rng.normal(size=(ROLES, WIDTH))
    if truth == "additive":
        return f[:, None] + r
    if truth == "outer product 4×3":
        return np.einsum("fj,rk,jkd->frd", f[:, :4], r[:, :3], rng.normal(size=(4, 3, WIDTH)))
    if truth == "Hadamard product":
        return f[:, None] * r
    if truth == "circular convolution":
        return np.fft.irfft(np.fft.rfft(f)[:, None] * np.fft.rfft(r), WIDTH)
    if truth == "rotation of planes":
        angles = np.arange(ROLES)[:, None] * 100.0 ** -np.linspace(0, 1, WIDTH // 2)
        turned = (f[:, ::2] + 1j * f[:, 1::2])[:, None] * np.exp(1j * angles)
        return np.stack([turned.real, turned.imag], -1).reshape(FILLERS, ROLES, WIDTH)
    if truth == "orthogonal maps":
        return np.einsum("fd,rde->fre", f, np.linalg.qr(rng.normal(size=(ROLES, WIDTH, WIDTH)))[0])
    if truth == "matrix a role":
        return np.einsum("fk,rkd->frd", f[:, :4], rng.normal(size=(ROLES, 4, WIDTH)))
    return rng.normal(size=(FILLERS, ROLES, WIDTH))


def draw_basis(basis: str, rng: np.random.Generator) -> Array:
    """An orthogonal matrix, whose rows are the axes of the operation."""
    if basis == ROTATED:
        return np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    if basis == FOURIER:  # Hartley's, which is real
        waves = dft(WIDTH, "sqrtn")
        return waves.real + waves.imag
    return np.eye(WIDTH)


def list_cells(seed: int) -> dict[str, Cell]:
    """What is drawn, by name: an operation in a basis, with an R²."""
    in_bases = [(truth, basis) for basis, truths in BASES.items() for truth in truths]
    return {f"{t}, {b} basis, R² {r2}": partial(measure, t, b, r2, seed) for r2 in R2 for t, b in in_bases}  # fmt: skip


def measure(
    truth: str, basis: str, r2: float, seed: int, rng: np.random.Generator, _n: int
) -> Iterator[dict]:
    """One draw of a cell: which operation is named, and how well every one predicts unseen pairs."""
    table = plant(truth, rng) @ draw_basis(basis, rng)
    sequences = [rng.integers(FILLERS, size=rng.integers(2, ROLES + 1)) for _ in range(SAMPLES)]
    states = np.array([table[words, np.arange(len(words))].sum(0) for words in sequences])
    states += rng.normal(size=states.shape) * np.sqrt(states.var(0).mean() * (1 - r2) / r2)
    begun = time.process_time()
    scores = score_operations(divide(sequences, seed), UnitVectors.of(states), list(find_operations().values()), seed)  # fmt: skip
    seconds = time.process_time() - begun
    named = "".join(scores.loc[scores["is_named"], "operation"])
    row = {"draw": 0, "truth": TITLES[truth], "named": named, "seconds": seconds}
    yield row | dict(zip(scores["operation"], scores["r2"], strict=True))


def divide(sequences: list[np.ndarray], seed: int) -> UnitParts:
    """The sequences in parts, as a command divides them."""
    counts = counts_of(sequences)
    rows = np.arange(len(sequences))
    origin = Provenance(rows, rows.astype(np.uint64)[:, None])
    names = pd.Index(range(FILLERS)), pd.Index(range(ROLES))
    pairs = Pairs(*names, counts.filler_of, counts.role_of)
    return UnitParts.divide([pairs], counts.pairs, origin, seed)


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """Per cell: how often the operation that binds is named, another one, and none; and the mean R² of each."""
    table = []
    for cell, frame in rows.groupby("cell", sort=False):
        is_right, is_named = frame["named"] == frame["truth"], frame["named"] != NONE
        right = wilson(int(is_right.sum()), len(frame))
        counts = {"draws": len(frame), "right": int(is_right.sum()), "wrong": int((is_named & ~is_right).sum()),
                  "none": int((~is_named).sum())}  # fmt: skip
        wrong = frame.loc[is_named & ~is_right, "named"].value_counts()
        wrong_names = ", ".join(f"{title} {n}" for title, n in wrong.items())
        means = frame[[kind.title for kind in find_operations().values()]].mean().to_dict()
        table.append({"cell": cell, **counts, "right_low": right.low, "right_high": right.high, "others": wrong_names,
                      **means, "seconds": frame["seconds"].mean()})  # fmt: skip
    return pd.DataFrame(table)


def main(
    out: Out = Path("runs/operations"), draws: Draws = 20, seed: Seed = 0, cells: Part = ""
) -> None:
    """Measure how often the operation that binds is named."""
    folder = KeptRun.open(out, {"version": VERSION, "seed": seed}, True, MANIFEST, MANIFEST)
    frame = run(folder, list_cells(seed), cells, draws, seed).fillna({"truth": NONE, "named": NONE})
    typer.echo(summarize(frame).round(3).to_string(index=False))


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"benchmarks.binding.operations: {error}")
