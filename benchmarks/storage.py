"""A Markdown table of what a store's types and compression cost: bytes, time, and what analyses find.

    python benchmarks/storage.py [-n 300] [--folder DIR]

Two stores are extracted: questions by `tpt-c-arithmetic`, reports by `tpt-d-english`. Each is written
again in every type and compression, and read whole; times are processor time of this process for
float32 bytes (what the reader gets), the median of three. Compression loses nothing, so effects are
measured once a type: clusters of the last layer's roles beside those of float32 (adjusted mutual
information, the lowest of four heads; another seed of k-means on the same numbers says what that is
worth), R² of reconstruction, mean F1 of linear probes for parts of speech.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from sklearn.metrics import adjusted_mutual_info_score

import tprprobe as tp
from tprprobe.store import Store, StoreWriter, open_store

ROLES, LAYER, K, HEADS = "encoder.-1.self.role", -1, 20, 4
ARITHMETIC = (ROLES, "encoder.-1.self.value", "encoder.-1.self.input", "encoder.*.hidden")
ENGLISH = ("encoder.-1.hidden", "encoder.-1.self.role")
FORMATS = [
    (dtype, compression)
    for dtype in ("float32", "float16", "bfloat16")
    for compression in ("none", "lz4", "zstd")
    if (dtype, compression) != ("bfloat16", "none")
]
ROUNDS = 3


def keep(store: Store, path: Path, dtype: str, compression: str) -> float:
    """Processor seconds of writing the store's vectors again, in blocks of samples."""
    shutil.rmtree(path, ignore_errors=True)
    specs = {name: spec.kept_as(dtype, compression) for name, spec in store.specs.items()}
    table, seconds = store.tokens, 0.0
    samples = table["sample"].to_numpy()
    vectors = {name: store.read(name) for name in specs}
    sides = {name: samples[table["side"] == spec.rows] for name, spec in specs.items()}
    model = {"model": store.manifest["model"]}
    start = time.process_time()
    writer = StoreWriter.create(path, specs, model)
    seconds += time.process_time() - start
    for block_start in range(0, store.samples, 64):
        ends = [block_start, min(block_start + 64, store.samples)]
        rows = {name: v[slice(*np.searchsorted(sides[name], ends))] for name, v in vectors.items()}
        tokens = table.iloc[slice(*np.searchsorted(samples, ends))]
        start = time.process_time()
        writer.append(rows, tokens)
        seconds += time.process_time() - start
    start = time.process_time()
    writer.finish()
    return seconds + time.process_time() - start


def read(path: Path) -> float:
    """Processor seconds of reading all vectors of a store."""
    store = open_store(path)
    start = time.process_time()
    for site in store.sites:
        store.read(site)
    return time.process_time() - start


def clusters(store: Store, seed: int = 0) -> list[np.ndarray]:
    """The labels of every head's roles."""
    return [tp.cluster(store, ROLES, head=head, k=K, seed=seed).labels for head in range(HEADS)]


def agreement(labels_a: list[np.ndarray], labels_b: list[np.ndarray]) -> float:
    """The lowest adjusted mutual information of the heads."""
    return min(adjusted_mutual_info_score(a, b) for a, b in zip(labels_a, labels_b, strict=True))


def r2(store: Store) -> float:
    """The held-out R² of the last layer's state from one head's values, all questions."""
    rows = tp.reconstruct(store, layer=LAYER)
    head_rows = rows.query("predictor == 'heads' and split == 'held_out' and penalty == 'cv'")
    return float(head_rows.loc[head_rows["unit"] == "question"].sort_values("n")["r2"].iloc[-1])


def f1(store: Store) -> float:
    """The mean F1 of linear probes for parts of speech."""
    rows = tp.probe(store, "pos", sites=list(ENGLISH), estimator="linear", controls=())
    return float(rows["f1"].mean())


def extracted(folder: Path, n: int) -> tuple[Store, Store]:
    """The vectors of questions and of reports, in float32."""
    questions = tp.load_data("mathematics:arithmetic__mixed", split="small-test", n=n, seed=1)
    arithmetic = tp.extract(
        tp.load_model("tpt-c-arithmetic"), questions, ARITHMETIC, folder / "a", control=False
    )
    reports = tp.load_data(
        "english:version=1,depth=1,sentences=4-6", split="test", n=n // 3, seed=1
    )
    english = tp.extract(
        tp.load_model("tpt-d-english"), reports, ENGLISH, folder / "e", control=False
    )
    return arithmetic, english


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("-n", type=int, default=300, help="questions; a third as many reports")
    parser.add_argument("--folder", default=None, help="where the files are made (and removed)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        arithmetic, english = extracted(folder, arguments.n)
        labels = clusters(arithmetic)
        repeated = agreement(labels, clusters(arithmetic, seed=1))
        size = float(arithmetic.summary["bytes"].sum())
        print(f"\n{size / 1e6:.1f} MB of float32; another seed of k-means: AMI {repeated:.3f}\n")
        rows, effects = [], {}
        for dtype, compression in track(FORMATS, console=Console(stderr=True)):
            path, english_path = folder / "kept", folder / "other"
            write = statistics.median(
                keep(arithmetic, path, dtype, compression) for _ in range(ROUNDS)
            )
            seconds = statistics.median(read(path) for _ in range(ROUNDS))
            keep(english, english_path, dtype, compression)
            arithmetic_store, words = open_store(path), open_store(english_path)
            if dtype not in effects:
                effect = {"clusters": agreement(labels, clusters(arithmetic_store))}
                effects[dtype] = effect | {"R²": r2(arithmetic_store), "F1": f1(words)}
            rows.append({
                "type": dtype, "compression": compression,
                "bytes": arithmetic_store.summary["bytes"].sum() / size,
                "write MB/s": size / 1e6 / write, "read MB/s": size / 1e6 / seconds,
                **effects[dtype],
            })  # fmt: skip
        print("| " + " | ".join(rows[0]) + " |\n|---|---|---:|---:|---:|---:|---:|---:|")
        for row in rows:
            cells = [
                f"{v:.0f}" if "MB/s" in k else f"{v:.4f}" if isinstance(v, float) else str(v)
                for k, v in row.items()
            ]
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
