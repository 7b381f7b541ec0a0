"""A Markdown table: streamed k-means beside scikit-learn's MiniBatchKMeans fed from memory.

    python benchmarks/kmeans.py [--vectors 1200000] [--width 625] [--k 10] [--folder DIR]

A store of vectors around 40 centers, with a spectrum inside and between clusters as wide as what
unbinding vectors show, is clustered by `tprprobe.cluster` (2 seeds, labels and inertia of both)
in a process of its own, whose largest memory is measured. MiniBatchKMeans runs twice on the same
vectors in memory, with its defaults, and with a pass over all vectors and no early stop. Times are
of the process (CPU), so that other processes matter less; reading is included, writing is not.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import MiniBatchKMeans

from tprprobe.analyses.clustering import cluster
from tprprobe.store import SiteSpec, StoreWriter, open_store

SITE, GROUPS, SEEDS, ROWS = "word.unbinding", 40, 2, 16384
WAYS = {
    "MiniBatchKMeans, defaults": {},
    "MiniBatchKMeans, one pass": {"max_no_improvement": None, "max_iter": 1},
}


def write_store(path: Path, vectors: int, width: int) -> None:
    """A store of such vectors in captions of ten words."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(GROUPS, width)).astype(np.float32) / np.sqrt(np.arange(1, width + 1))
    scale = (0.7 / np.sqrt(np.arange(1, width + 1))).astype(np.float32)
    writer = StoreWriter.create(
        path, {SITE: SiteSpec(("target", "d_model"), (width,))}, {"model": "made"}
    )
    for start in range(0, vectors, 10 * ROWS):
        rows = np.arange(start, min(start + 10 * ROWS, vectors))
        values = rng.standard_normal((len(rows), width), np.float32) * scale
        values += centers[rng.integers(GROUPS, size=len(rows))]
        table = pd.DataFrame({"side": "target", "sample": rows // 10, "position": rows % 10})
        writer.append({SITE: values}, table.assign(token="x"))
    writer.finish()


def streamed(path: Path, k: int) -> float:
    """The inertia that `cluster` finds."""
    return cluster(open_store(path), SITE, k=k, raw=True, n_seeds=SEEDS).inertia


def in_memory(path: Path, k: int, **settings: Any) -> float:
    """The lowest inertia that as many runs of MiniBatchKMeans find; reading into memory is not timed."""
    global untimed
    vectors = open_store(path).read(SITE)
    untimed = time.process_time()
    return min(
        float(MiniBatchKMeans(k, random_state=seed, **settings).fit(vectors).inertia_)
        for seed in range(SEEDS)
    )


untimed = 0.0  # processor seconds of this process when its vectors were in memory


def _run(
    work: Callable[..., float], path: Path, k: int, settings: dict[str, Any], queue: Any
) -> None:
    start = time.process_time()
    inertia = work(path, k, **settings)
    seconds = time.process_time() - (untimed or start)
    queue.put((seconds, inertia, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20))


def measure(
    work: Callable[..., float], path: Path, k: int, **settings: Any
) -> tuple[float, float, float]:
    """CPU seconds, inertia and GiB at most of a fresh process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_run, args=(work, path, k, settings, queue))
    process.start()
    result = queue.get()
    process.join()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    for name, default in (("vectors", 1_200_000), ("width", 625), ("k", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        path = Path(folder) / "store"
        write_store(path, args.vectors, args.width)
        rows = {"`tprprobe.cluster`, streamed": measure(streamed, path, args.k)}
        for name, settings in WAYS.items():
            rows[f"{name}, from memory"] = measure(in_memory, path, args.k, **settings)
    min_inertia = min(inertia for _, inertia, _ in rows.values())
    print(f"{args.vectors:,} vectors of {args.width}, k = {args.k}, {SEEDS} seeds\n")
    print("| | CPU seconds | inertia above the least | GiB at most |\n|---|---:|---:|---:|")
    for name, (seconds, inertia, gib) in rows.items():
        print(f"| {name} | {seconds:.1f} | {inertia / min_inertia - 1:.3%} | {gib:.2f} |")


if __name__ == "__main__":
    main()
