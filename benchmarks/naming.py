"""Are planted names found, and none where there are none? `python benchmarks/naming.py [STORE]`.

    python benchmarks/naming.py [STORE] [--runs 500] [--cases 12]

Random expressions whose tokens lie around a center a role; a role is the kind of a token and, for
digits, some of its gold fields. F1 of the set of names that are found, and the least F1 of the tokens
that a role's name holds for. (A name needs its cluster in some 35 of the questions it is scored on.) With a store also: how long all of its heads take, and what is found.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from planted.questions import grouping, plant_roles

from tprpapers.worlds.mathematics.polarity_tables import polarity_table
from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.naming import name_all
from tprprobe.analyses.naming.names import UNNAMED, Gold, name_clusters, read_gold
from tprprobe.estimators.clusters.names import build_lattice
from tprprobe.figures.naming import list_names
from tprprobe.store import open_store

SITE = "encoder.0.self.role"
CASES = (  # fields of digits' roles, how the labels come about, what differs from 160 questions
    ((), "k-means", {}),
    ((), "k-means", {"noise": 0.4}),
    (("polarity",), "k-means", {"samples": 240}),
    (("polarity",), "k-means", {"samples": 240, "noise": 0.4}),
    (("polarity",), "k-means", {"samples": 240, "wrong": 0.1}),
    (("polarity",), "k-means", {"samples": 600, "noise": 0.4, "wrong": 0.1}),
    (("place", "polarity"), "k-means", {"samples": 600, "long": 0.5}),
    (("argument",), "k-means", {"samples": 600}),
    (("polarity",), "planted", {"samples": 300, "wrong": 0.2}),
    (("argument",), "planted", {"samples": 600, "wrong": 0.2}),
    (("place", "polarity"), "planted", {"samples": 1000, "long": 0.3}),
    (("place", "polarity"), "planted", {"samples": 1000, "long": 0.3, "wrong": 0.2}),
)
NULLS = ("tokens", "questions", "runs")


class Recovered(NamedTuple):
    """F1 of the set of names, the least F1 of a role's tokens, roles, largest over smallest role."""

    names: float
    tokens: float
    roles: int
    imbalance: float


def recover(folder: Path, fields: tuple[str, ...], labels: str, **options: Any) -> Recovered:
    """How well planted roles are found by their names, beside three fields of noise.

    Labels are k-means' (which merges small clusters: no matter of names) or the planted ones.
    """
    store = plant_roles(folder, *fields, **options)
    gold = read_gold(store)
    planted = grouping(gold.tokens, *fields).to_numpy()
    roles, codes, sizes = np.unique(planted, return_inverse=True, return_counts=True)
    if labels == "planted":
        rng = np.random.default_rng(1)
        moved = np.flatnonzero(rng.random(len(codes)) < options.get("wrong", 0))
        codes[moved] = rng.permutation(codes[moved])
    else:
        codes = cluster(store, SITE, head=0, k=len(roles)).labels
    lattice = build_lattice(gold.described.assign(**_noise(len(planted))))
    names = set(name_clusters(codes, lattice, gold.questions)["name"])
    extensions = [lattice.extension(name) for name in names - {UNNAMED}]
    worst = min(
        max((_f1(extension, planted == role) for extension in extensions), default=0.0)
        for role in roles
    )
    hits = 2 * len(names & set(roles)) / (len(names) + len(roles))
    return Recovered(hits, worst, len(roles), sizes.max() / sizes.min())


def _noise(tokens: int) -> dict[str, Any]:
    """Three fields of 2, 3 and 4 values that mean nothing."""
    rng = np.random.default_rng(0)
    return {
        f"noise {n}": pd.Categorical([f"{value} of {n}" for value in rng.integers(n, size=tokens)])
        for n in (2, 3, 4)
    }


def _f1(predicted: np.ndarray, true: np.ndarray) -> float:
    return 2 * (predicted & true).sum() / (predicted.sum() + true.sum())


def draw(null: str, gold: Gold, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels that gold structure says nothing of: of tokens, of mixtures by question, in runs."""
    n, question = len(gold.tokens), np.unique(gold.questions, return_inverse=True)[1]
    if null == "tokens":
        return rng.integers(k, size=n)
    if null == "questions":
        shares = rng.dirichlet(np.full(k, 0.3), question.max() + 1).cumsum(1)
        return (rng.random((n, 1)) > shares[question, :-1]).sum(1)
    starts = rng.random(n) < 0.2
    starts[np.flatnonzero(np.diff(question, prepend=-1))] = True
    return rng.integers(k, size=starts.sum())[starts.cumsum() - 1]


def count_false(gold: Gold, null: str, runs: int, k: int = 20) -> int:
    """In how many runs anything is named at all."""
    false = 0
    for run in range(runs):
        labels = draw(null, gold, k, np.random.default_rng((1, run)))
        names = name_clusters(labels, gold.lattice, gold.questions, seed=run)
        false += bool((names["name"] != UNNAMED).any())
    return false


def main(path: str | None, runs: int, cases: int) -> None:
    """Prints the tables."""
    print(
        "| planted in digits; labels; options | roles | imbalance | F1 of names | least F1 of tokens |"
    )
    print("|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for number, (fields, labels, options) in enumerate(CASES[:cases]):
            recovered = recover(Path(folder) / str(number), fields, labels, **options)
            options_text = ", ".join(f"{name} {value}" for name, value in options.items())
            case = "; ".join(filter(None, (", ".join(fields) or "nothing", labels, options_text)))
            print(
                f"| {case} | {recovered.roles} | {recovered.imbalance:.0f} : 1 | {recovered.names:.3f} | "
                f"{recovered.tokens:.3f} |",
                flush=True,
            )
        print("\n| no structure: labels drawn for | runs | with a name |\n|---|---|---|")
        gold = read_gold(plant_roles(Path(folder) / "null", samples=200))
        for null in NULLS:
            print(f"| {null} | {runs} | {count_false(gold, null, runs)} |", flush=True)
    if path:
        start, cpu = time.perf_counter(), time.process_time()
        naming = name_all(open_store(path))
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(f"\nAll heads of {path}: {wall:.0f} s, {cpu:.0f} s of processor time.\n")
        print(list_names(naming.asked, None))
        print(polarity_table(naming).markdown())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("store", nargs="?")
    parser.add_argument("--runs", type=int, default=500, help="draws of labels without structure")
    parser.add_argument("--cases", type=int, default=len(CASES), help="planted cases")
    arguments = parser.parse_args()
    main(arguments.store, arguments.runs, arguments.cases)
