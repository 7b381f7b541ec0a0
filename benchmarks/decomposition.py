"""Markdown tables: decompositions in closed form beside training by gradient descent, and a large one.

    python benchmarks/decomposition.py [ENCODINGS] [--tokens 1000000] [--folder DIR]

ENCODINGS is a text file of TPDN (``digits<TAB>numbers``); without it encodings are made. Both fit the
same three quarters of the sequences and are tested on the last quarter. Gradient descent is the recipe of
McCoy et al. 2019: fillers and roles of 20 dimensions, Adam 1e-3, batches of 32, up to 100 epochs, until the
loss on a tenth of the sequences has not fallen for ten (after one, it is still far from its end). Seconds are of the process (CPU), one thread.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition import decompose
from tprprobe.analyses.decomposition.families import RoleFit, fit_family
from tprprobe.analyses.decomposition.pair_counts import count_pairs, find_pairs
from tprprobe.analyses.decomposition.pair_moments import moments_of
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.analyses.decomposition.sequence_units import members_of
from tprprobe.files.lines import read_lines
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

SCHEMES = ("bag", "left", "right", "left*right", "wickel", "tree")
TRAINED = ("left", "left*right")
RANK, BATCH, MOST_EPOCHS, PATIENCE = 20, 32, 100, 10
FILLERS, PLACES = 1000, 40

Sequences = list[list[str]]


def read_encodings(file: Path | None) -> tuple[Sequences, np.ndarray]:
    """Sequences and their vectors: of a file, or made of random bindings and noise."""
    if file is not None:
        lines = [line.split("\t") for _, line in read_lines(file) if line.strip()]
        vectors = np.array([line[1].split() for line in lines], float)
        return [line[0].split() for line in lines], vectors
    rng = np.random.default_rng(0)
    sequences = [list(map(str, rng.integers(10, size=rng.integers(1, 7)))) for _ in range(5000)]
    v = rng.normal(size=(10, 6, 6, 60))
    found = [sum(v[int(f), i, len(s) - 1 - i] for i, f in enumerate(s)) for s in sequences]
    return sequences, np.array(found) + rng.normal(size=(5000, 60))


def fit_closed(
    sequences: Sequences, vectors: np.ndarray, roles: str, train: int
) -> tuple[RoleFit, csr_array]:
    """The saturated fit of the first ``train`` sequences, and the counts of all."""
    sample = np.repeat(np.arange(len(sequences)), [len(each) for each in sequences])
    fillers = np.array([each for row in sequences for each in row], object)
    tokens = pd.DataFrame({"sample": sample, "filler": fillers})
    pairs, found = find_pairs(fillers, read_scheme(roles).label(tokens))
    counts = count_pairs(members_of(sample, "sample", "self"), pairs, found)
    moments = moments_of(csr_array(counts[:train]), vectors[:train])
    return fit_family("saturated", moments, pairs, 1e-4), counts


class TensorProductNetwork(torch.nn.Module):
    """W Σ f ⊗ r + b, trained: the network of McCoy et al. 2019."""

    def __init__(self, fillers: int, roles: int, width: int):
        super().__init__()
        self.filler = torch.nn.Embedding(fillers + 1, RANK, padding_idx=fillers)
        self.role = torch.nn.Embedding(roles + 1, RANK, padding_idx=roles)
        self.last = torch.nn.Linear(RANK * RANK, width)

    def forward(self, filler: torch.Tensor, role: torch.Tensor) -> torch.Tensor:
        bound = torch.einsum("btf,btr->bfr", self.filler(filler), self.role(role))
        return self.last(bound.flatten(1))


def fit_by_descent(
    fit: RoleFit, counts: csr_array, vectors: np.ndarray, train: int
) -> tuple[float, int]:
    """The mean squared error on the sequences after ``train``, and the epochs that it took."""
    torch.manual_seed(0)
    of, most = fit.pairs, int(np.diff(counts.indptr).max())
    sizes = len(of.fillers), len(of.roles)
    filler, role = (torch.full((len(vectors), most), size) for size in sizes)
    for row in range(len(vectors)):
        pairs = np.repeat(
            *(
                each[slice(*counts.indptr[row : row + 2])]
                for each in (counts.indices, counts.data.astype(int))
            )
        )
        filler[row, : len(pairs)] = torch.as_tensor(of.filler_of[pairs])
        role[row, : len(pairs)] = torch.as_tensor(of.role_of[pairs])
    e = torch.as_tensor(vectors, dtype=torch.float32)
    network = TensorProductNetwork(*sizes, vectors.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    order, dev = torch.randperm(train), train // 10
    best, at, epoch = float("inf"), 0, 0
    for epoch in range(1, MOST_EPOCHS + 1):
        for rows in order[dev:][torch.randperm(train - dev)].split(BATCH):
            loss = torch.mean((network(filler[rows], role[rows]) - e[rows]) ** 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            rows = order[:dev]
            now = float(torch.mean((network(filler[rows], role[rows]) - e[rows]) ** 2))
        if now < best:
            best, at = now, epoch
        if epoch - at >= PATIENCE:
            break
    with torch.no_grad():
        error = torch.mean((network(filler[train:], role[train:]) - e[train:]) ** 2)
    return float(error), epoch


def write_store(path: Path, tokens: int, width: int = 64) -> Store:
    """Samples of PLACES tokens of FILLERS different fillers, one vector a sample: bindings of ranks
    8 × 8 and noise.
    """
    rng = np.random.default_rng(0)
    f, r, w = (rng.normal(size=size) for size in ((FILLERS, 8), (PLACES, 8), (64, width)))
    sites = {"encoding": SiteSpec(("sample", "d_model"), (width,))}
    writer = StoreWriter.create(path, sites, {"model": "made"})
    samples, step = tokens // PLACES, 1000
    for first in range(0, samples, step):
        n = min(step, samples - first)
        chosen = rng.integers(FILLERS, size=(n, PLACES))
        bound = np.einsum("npj,pk->njk", f[chosen], r).reshape(n, -1) @ w
        table = pd.DataFrame({"side": "source", "token": chosen.ravel().astype(str)})
        table["sample"] = np.repeat(np.arange(first, first + n), PLACES)
        table["position"] = np.tile(np.arange(PLACES), n)
        noise = bound.std() * rng.normal(size=bound.shape)
        writer.append({"encoding": bound + noise}, table)
    writer.finish()
    return open_store(path)


def seconds(call: Callable[[], object]) -> tuple[float, object]:
    """The processor time of a call, and what it returns."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def compare(sequences: Sequences, vectors: np.ndarray) -> None:
    """Prints the first table."""
    train = len(sequences) * 3 // 4
    centred = vectors[train:] - vectors[:train].mean(0)
    print("| roles | pairs | closed form, s | MSE | R² | descent, s | MSE | epochs | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    whole = 0.0
    fit_closed(sequences[:50], vectors[:50], "left", 40)  # what is loaded once
    for roles in SCHEMES:
        spent, found = seconds(lambda roles=roles: fit_closed(sequences, vectors, roles, train))
        fit, counts = found  # pyright: ignore
        errors = (vectors[train:] - fit.predict(csr_array(counts[train:]))) ** 2
        row = f"| {roles} | {len(fit.pairs)} | {spent:.2f} | {errors.mean():.4f} "
        row += f"| {1 - errors.sum() / np.sum(centred**2):.3f} "
        whole += spent
        if roles in TRAINED:
            longer, told = seconds(lambda f=fit, c=counts: fit_by_descent(f, c, vectors, train))
            row += "| {:.1f} | {:.4f} | {} | {:.0f}× |".format(longer, *told, longer / spent)  # pyright: ignore
        else:
            row += "| | | | |"
        print(row, flush=True)
    print(f"\nAll six in closed form: {whole:.1f} s.")


def measure_large(folder: Path, tokens: int) -> None:
    """Prints the second table."""
    store = write_store(folder / "store", tokens)
    print(f"\n{FILLERS} fillers × {PLACES} roles, {tokens} tokens:\n")
    print(
        "| family | rank | s | R² held out | peak memory of the process |\n|---|---|---:|---:|---:|"
    )
    for family in ("saturated", "factored"):
        spent, found = seconds(
            lambda family=family: decompose(store, "encoding", "left", family=family, rank="8x8")
        )
        row = found.scores.iloc[0]  # pyright: ignore
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"| {family} | {row['rank']} | {spent:.0f} | {row['r2']:.3f} | {peak:.2f} GB |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("encodings", type=Path, nargs="?")
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    compare(*read_encodings(given.encodings))
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        measure_large(Path(folder), given.tokens)


if __name__ == "__main__":
    main()
