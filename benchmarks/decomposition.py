"""Markdown tables: decompositions in closed form beside training by gradient descent, and a large one.

    python benchmarks/decomposition.py [ENCODINGS] [--authors DIR] [--tokens 1000000] [--folder DIR]

ENCODINGS is a text file of TPDN (``digits<TAB>numbers``); without it encodings are made. Both fit the
same three quarters of the sequences and are tested on the last quarter. Gradient descent is that of a checkout
of github.com/tommccoy1/tpdn in DIR: its network and its training, fillers and roles of 20 dimensions, Adam 1e-3,
batches of 32 of equal length, up to 100 epochs, with the patience of its command (one evaluation without a smaller
loss on a tenth of the sequences), of its function (ten), and to the end. Seconds are of the process (CPU), one thread.
"""

import argparse
import contextlib
import importlib
import io
import itertools
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition import fit_scheme
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.analyses.decomposition.sequence_units import members_of
from tprprobe.estimators.bindings.families import PAIR, SATURATED, PartFit, RoleFit, make_block
from tprprobe.estimators.bindings.pairs import count_pairs, find_pairs
from tprprobe.estimators.bindings.ridge import Regression
from tprprobe.files.lines import read_lines
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

SCHEMES = ("bag", "left", "right", "left*right", "wickel", "tree")
TRAINED = ("left", "left*right")
RANK, BATCH, MOST_EPOCHS = 20, 32, 100
PENALTY = 1e-4  # of the mean variance of a column
PATIENCES = (1, 10, 10_000)  # of their command, of their function, and all epochs
FILLERS, PLACES, WIDTH = 1000, 40, 64
N_TEST = 1000  # samples that large fits are tested on

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
    encodings = [sum(v[int(f), i, len(s) - 1 - i] for i, f in enumerate(s)) for s in sequences]
    return sequences, np.array(encodings) + rng.normal(size=(5000, 60))


def fit_closed(
    sequences: Sequences, vectors: np.ndarray, roles: str, train: int
) -> tuple[RoleFit, csr_array]:
    """The saturated fit of the first ``train`` sequences, and the counts of all."""
    sample = np.repeat(np.arange(len(sequences)), [len(sequence) for sequence in sequences])
    fillers = np.array([filler for row in sequences for filler in row], object)
    tokens = pd.DataFrame({"sample": sample, "filler": fillers})
    pairs, occurrences = find_pairs(fillers, read_scheme(roles).label(tokens))
    [members] = members_of(sample, "sample", "self")
    counts = count_pairs(members, pairs, occurrences)
    x, e = csr_array(counts[:train]), vectors[:train]
    regression = Regression.of(x, e)
    block = make_block(PAIR, 0, [pairs])
    [table] = regression.solve([block], [PENALTY])
    part_fit = PartFit(pairs, e.shape[1], {PAIR: table})
    return RoleFit(SATURATED, [part_fit], regression.bias(table), {PAIR: PENALTY}), counts


def fit_by_authors(
    checkout: Path, fit: RoleFit, counts: csr_array, vectors: np.ndarray, train: int, patience: int
) -> float:
    """The mean squared error on the sequences after ``train`` of the authors' network, trained by their
    function.
    """
    sys.path.insert(0, str(checkout))
    models, training = (importlib.import_module(name) for name in ("models", "training"))
    torch.manual_seed(0)
    random.seed(0)
    e = torch.as_tensor(vectors, dtype=torch.float32)
    examples = []
    for row, (start, stop) in enumerate(itertools.pairwise(counts.indptr)):
        pairs = np.repeat(counts.indices[start:stop], counts.data[start:stop].astype(int))
        pair_ids = (fit.pairs.filler_of[pairs].tolist(), fit.pairs.role_of[pairs].tolist())
        examples.append((*pair_ids, e[row]))
    sizes = {"n_fillers": len(fit.pairs.fillers), "n_roles": len(fit.pairs.roles)}
    with tempfile.NamedTemporaryFile() as weight_file, contextlib.redirect_stdout(io.StringIO()):
        network = models.TensorProductEncoder(
            **sizes, filler_dim=RANK, role_dim=RANK, final_layer_width=e.shape[1]
        )
        dev, options = train // 10, {"batch_size": BATCH, "print_every": 1000 // BATCH}
        options |= {"patience": patience, "weight_file": weight_file.name}
        training.trainIters_tpr(
            examples[dev:train], examples[:dev], network, MOST_EPOCHS, **options
        )
        network.load_state_dict(torch.load(weight_file.name))
    with torch.no_grad():
        predictions = [
            network(torch.tensor([f]), torch.tensor([r]))[0, 0] for f, r, _ in examples[train:]
        ]
    return float(torch.mean((torch.stack(predictions) - e[train:]) ** 2))


class Planted:
    """Samples of PLACES tokens of FILLERS different fillers, one vector a sample: bindings of ranks
    8 × 8, and as much noise.
    """

    def __init__(self):
        self.rng = np.random.default_rng(0)
        sizes = ((FILLERS, 8), (PLACES, 8), (64, WIDTH))
        self.f, self.r, self.w = (self.rng.normal(size=size) for size in sizes)

    def draw(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The fillers of n new samples, and their vectors."""
        fillers = self.rng.integers(FILLERS, size=(n, PLACES))
        bound = np.einsum("npj,pk->njk", self.f[fillers], self.r).reshape(n, -1) @ self.w
        return fillers, bound + bound.std() * self.rng.normal(size=bound.shape)

    def write(self, path: Path, tokens: int) -> Store:
        """A store of so many tokens."""
        sites = {"encoding": SiteSpec(("sample", "d_model"), (WIDTH,))}
        writer = StoreWriter.create(path, sites, {"model": "made"})
        samples, step = tokens // PLACES, 1000
        for start in range(0, samples, step):
            n = min(step, samples - start)
            fillers, vectors = self.draw(n)
            table = pd.DataFrame({"side": "source", "token": fillers.ravel().astype(str)})
            table["sample"] = np.repeat(np.arange(start, start + n), PLACES)
            table["position"] = np.tile(np.arange(PLACES), n)
            writer.append({"encoding": vectors}, table)
        writer.finish()
        return open_store(path)


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    """The processor time of a call, and what it returns."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def compare(sequences: Sequences, vectors: np.ndarray, authors: Path | None) -> None:
    """Prints the first tables."""
    train = len(sequences) * 3 // 4
    centered = vectors[train:] - vectors[:train].mean(0)
    print("| roles | pairs | closed form, s | MSE | R² |\n|---|---:|---:|---:|---:|")
    spent: dict[str, tuple[float, Any]] = {}
    fit_closed(sequences[:50], vectors[:50], "left", 40)  # what is loaded once
    for roles in SCHEMES:
        spent[roles] = seconds(lambda: fit_closed(sequences, vectors, roles, train))  # noqa: B023
        fit, counts = spent[roles][1]
        errors = (vectors[train:] - fit.predict(csr_array(counts[train:]))) ** 2
        row = f"| {roles} | {len(fit.pairs)} | {spent[roles][0]:.2f} | {errors.mean():.4f} "
        print(f"{row}| {1 - errors.sum() / np.sum(centered**2):.3f} |", flush=True)
    print(f"\nAll six in closed form: {sum(s for s, _ in spent.values()):.1f} s.")
    if authors is not None:
        print("\n| the authors' training | s | MSE | ratio |\n|---|---:|---:|---:|")
        for roles, patience in itertools.product(TRAINED, PATIENCES):
            fit_arguments: Any = (*spent[roles][1], vectors, train, patience)
            longer, error = seconds(lambda: fit_by_authors(authors, *fit_arguments))  # noqa: B023
            row = f"| {roles}, patience {patience} | {longer:.1f} | {error:.4f} "
            print(f"{row}| {longer / spent[roles][0]:.0f}× |", flush=True)


def measure_large(folder: Path, tokens: int) -> None:
    """Prints the last table: fits alone, without controls, and their R² on NEW samples (0.5 is all but noise)."""
    planted = Planted()
    store = planted.write(folder / "store", tokens)
    print(f"\n{FILLERS} fillers × {PLACES} roles, {tokens} tokens:\n")
    print("| family | rank | s | R², new | peak memory of the process |\n|---|---|---:|---:|---:|")
    test_fillers, vectors = planted.draw(N_TEST)
    for family in ("factored", "saturated"):
        spent, fit = seconds(
            lambda family=family: fit_scheme(store, "encoding", "left", family=family, rank="8x8")
        )
        errors = (vectors - fit.encode(test_fillers.tolist())) ** 2
        r2 = 1 - errors.sum() / np.sum((vectors - vectors.mean(0)) ** 2)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        row = f"| {family} | {fit.fit.rank or '–'} | {spent:.0f} | {r2:.3f} "
        print(f"{row}| {peak:.2f} GB |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("encodings", type=Path, nargs="?")
    parser.add_argument("--authors", type=Path)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    compare(*read_encodings(arguments.encodings), arguments.authors)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        measure_large(Path(folder), arguments.tokens)


if __name__ == "__main__":
    main()
