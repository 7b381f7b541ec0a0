"""A Markdown table of how fast the whole grid of probes is trained together and one by one.

    python benchmarks/probing.py [--samples 200] [--width 64] [--layers 6] [--tasks pos dep srl nel]
        [--limit 3] [--alone 12] [--folder DIR]

A made-up store of ``layers`` × {role, filler, tpr} vectors, with four tasks whose labels are a noisy
function of the words. The grid is every vector × task × {real, control task}. Together: one run. One
by one: the same probes, each in a run of its own that reads the store for itself, as jiant does; of
these ``alone`` are timed, spread over the grid, and their mean is scaled to all. Scores must agree.
Every run has the same schedule of ``limit`` epochs; both are timed in this process, one thread each.
The first rows are the grid together under rising budgets of memory: how far the process then grew beyond
what it had held before (a tiny run came first, so that everything is imported). The last row is the grid
together on twice as many samples: time against tokens.
"""

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import pandas as pd
import torch
from rich.console import Console

from tprprobe.analyses.probing import Schedule, probe
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

BUDGETS = (128, 512, 2048)  # MB
KINDS, WORDS, LENGTH = ("role", "filler", "tpr"), 200, 12
SETTINGS = {"estimator": "span-conv", "information": False, "controls": ("control",)}


def make_store(folder: Path, samples: int, layers: int, width: int) -> Store:
    """A store whose vectors are noisy embeddings of its words."""
    rng = np.random.default_rng(0)
    words = rng.integers(WORDS, size=(samples, LENGTH))
    names = [f"encoder.{layer}.self.{kind}" for layer in range(layers) for kind in KINDS]
    table = rng.normal(size=(WORDS, width)).astype(np.float32)
    spec = SiteSpec(("source", "d_model"), (width,))
    writer = StoreWriter.create(folder, dict.fromkeys(names, spec), {"model": "made"})
    vectors = table[words.ravel()]
    noise = rng.normal(size=vectors.shape).astype(np.float32)
    values = {name: vectors + noise * (1 + i / len(names)) for i, name in enumerate(names)}
    writer.append(values, tokens_of(words))
    writer.finish()
    return open_store(folder)


def tokens_of(words: np.ndarray) -> pd.DataFrame:
    """The token table: of word w the tag w mod 17, a head on its right, entities, arguments."""
    rows = []
    for sample, sentence in enumerate(words.tolist()):
        for i, word in enumerate(sentence):
            head = min(i + 1 + word % 3, LENGTH - 1)
            rows.append(
                {
                    "sample": sample,
                    "word": i,
                    "token": f"w{word}",
                    "pos": f"T{word % 17}",
                    "dep": f"D{(word + sentence[head]) % 9}[{i},{i + 1})[{head},{head + 1})",
                    "nel": f"E{word % 5}[{i},{min(i + 2, LENGTH)})" if word % 4 == 0 else "",
                    "srl": f"A{word % 6}[{i},{i + 1})[{head},{LENGTH})" if word % 3 == 0 else "",
                }
            )
    return pd.DataFrame(rows).assign(side="source", position=lambda table: table["word"])


def timed(store: Store, tasks: list[str], schedule: Schedule, **more: object) -> tuple:
    start = time.perf_counter()
    rows = probe(store, tasks, schedule=schedule, **{**SETTINGS, **more})
    return rows, time.perf_counter() - start


def peak() -> float:
    """MB that the process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bound(store: Store, tasks: list[str], schedule: Schedule) -> list[dict]:
    """The grid together within budgets, the smallest first as a peak never falls."""
    held, found = peak(), []
    for budget in BUDGETS:
        rows, seconds = timed(store, tasks, schedule, budget=budget * 2**20)
        trained = rows["control"].isin(["real", "control"]).sum()
        row = {"run": f"together, budget {budget:,} MB", "probes": trained}
        row |= {"seconds": f"{seconds:.1f}", "grew by MB": f"{peak() - held:.0f}"}
        found.append(row | {"tokens": len(store.tokens)})
    return found


def compare(store: Store, tasks: list[str], schedule: Schedule, alone: int) -> list[dict]:
    """The grid together, and some of its probes one by one."""
    rows, together = timed(store, tasks, schedule)
    trained = rows[rows["control"].isin(["real", "control"])].reset_index(drop=True)
    places = np.unique(np.linspace(0, len(trained) - 1, alone).astype(int))
    seconds, apart = [], []
    for _, row in trained.iloc[places].iterrows():
        one = {"sites": row["site"], "controls": (), "budget": 1}
        if row["control"] == "control":  # trained beside the real one, in turn: half of the time
            one["controls"] = ("control",)
        found, taken = timed(store, [row["task"]], schedule, **one)
        seconds.append(taken / (1 + (row["control"] == "control")))
        same = found[(found["control"] == row["control"]) & (found["site"] == row["site"])]
        apart.append(abs(float(same["f1"].iloc[0]) - float(row["f1"])))
    scaled = float(np.mean(seconds)) * len(trained)
    tokens = len(store.tokens)
    return [
        {"run": "together", "tokens": tokens, "probes": len(trained), "seconds": f"{together:.1f}"},
        {
            "run": f"one by one ({len(places)} timed)",
            "tokens": tokens,
            "probes": len(trained),
            "seconds": f"{scaled:.1f}",
            "times": f"{scaled / together:.1f}",
            "largest difference of F1": f"{max(apart):.1e}",
        },
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--tasks", nargs="+", default=["pos", "dep", "srl", "nel"])
    parser.add_argument("--limit", type=int, default=3)
    parser.add_argument("--alone", type=int, default=12)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    schedule = Schedule(limit=given.limit)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        timed(make_store(Path(folder) / "tiny", 40, 1, 8), given.tasks, schedule)
        store = make_store(Path(folder) / "one", given.samples, given.layers, given.width)
        table = bound(store, given.tasks, schedule)
        table += compare(store, given.tasks, schedule, given.alone)
        twice = make_store(Path(folder) / "two", 2 * given.samples, given.layers, given.width)
        _, seconds = timed(twice, given.tasks, schedule)
    row = {"run": "together", "tokens": len(twice.tokens), "probes": table[0]["probes"]}
    table.append(row | {"seconds": f"{seconds:.1f}"})
    columns = [
        "run",
        "tokens",
        "probes",
        "seconds",
        "times",
        "largest difference of F1",
        "grew by MB",
    ]
    found = pd.DataFrame(table, columns=columns).fillna("").astype(str)
    lines = [columns, ["---"] * len(columns), *found.to_numpy().tolist()]
    Console(soft_wrap=True).print("\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main()
