"""A Markdown table of how fast a store is written and read, beside a bare NumPy memory map.

    python benchmarks/store.py [--tokens 100000] [--layers 6] [--width 512] [--folder DIR]

Blocks of 4,096 tokens of Gaussian float32. Cold: the page cache of the files was dropped before
(``posix_fadvise``). Every row is measured in a process of its own; memory is the peak of that
process above what it held before the step, the vectors asked for included.
"""

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track

from tprprobe.store import SiteSpec, StoreWriter, open_store

BLOCK = 4096


def blocks(shape: tuple[int, int, int]) -> Iterator[tuple[int, np.ndarray]]:
    tokens, layers, width = shape
    block = np.random.default_rng(0).normal(size=(layers, BLOCK, width)).astype(np.float32)
    for start in range(0, tokens, BLOCK):
        yield start, block[:, : tokens - start]


def write_store(folder: Path, shape: tuple[int, int, int]) -> None:
    spec = SiteSpec(("source", "head", "d_head"), (8, shape[2] // 8))
    names = [f"encoder.{layer}.self.role" for layer in range(shape[1])]
    writer = StoreWriter.create(folder / "store", dict.fromkeys(names, spec), {})
    for start, block in blocks(shape):
        rows = dict(zip(names, block.reshape(*block.shape[:2], *spec.shape), strict=True))
        size = block.shape[1]
        table = pd.DataFrame(
            {"side": "source", "sample": start // BLOCK, "position": np.arange(size), "token": "x"}
        )
        writer.append(rows, table)
    writer.finish()


def write_memmap(folder: Path, shape: tuple[int, int, int]) -> None:
    tokens, layers, width = shape
    out = np.lib.format.open_memmap(folder / "map.npy", "w+", "f4", (layers, tokens, width))
    for start, block in blocks(shape):
        out[:, start : start + BLOCK] = block
    out.flush()


def read_layer(folder: Path) -> None:
    open_store(folder / "store").read("encoder.-1.self.role")


def read_memmap(folder: Path) -> None:
    np.load(folder / "map.npy", mmap_mode="r")[-1].copy()


def read_head(folder: Path) -> None:
    open_store(folder / "store").read("encoder.-1.self.role", head=0)


def read_rows(folder: Path) -> None:
    store = open_store(folder / "store")
    rows = np.random.default_rng(1).choice(len(store.tokens), 1000, replace=False)
    store.read("encoder.-1.self.role", np.sort(rows))


def stream(folder: Path) -> None:
    store = open_store(folder / "store")
    for site in store.sites:
        for _rows, values in store.iterate(site):
            values.mean()


def drop_cache(folder: Path) -> None:
    os.sync()
    for file in folder.rglob("*"):
        if file.is_file():
            with open(file, "rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(action: Callable[[], None]) -> tuple[float, float]:
    """Seconds and MB of one run in this (fresh) process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    action()
    seconds = time.perf_counter() - start
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    for name, default in (("tokens", 100_000), ("layers", 6), ("width", 512)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", default=None, help="where the files are made (and removed)")
    given = parser.parse_args()
    shape = (given.tokens, given.layers, given.width)
    layer = given.tokens * given.width * 4 / 1e6
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        steps = [
            ("write the store", partial(write_store, folder, shape), layer * given.layers, False),
            (
                "write a memory map",
                partial(write_memmap, folder, shape),
                layer * given.layers,
                False,
            ),
            ("one layer, cold", partial(read_layer, folder), layer, True),
            ("one layer of the map, cold", partial(read_memmap, folder), layer, True),
            ("one layer, warm", partial(read_layer, folder), layer, False),
            ("one head of it, warm", partial(read_head, folder), layer / 8, False),
            ("1,000 of its rows, warm", partial(read_rows, folder), given.width * 4e-3, False),
            ("all layers in blocks, warm", partial(stream, folder), layer * given.layers, False),
        ]
        print("| step | MB | s | MB/s | memory MB |\n|---|---|---|---|---|")
        for title, action, size, cold in track(steps, console=Console(stderr=True)):
            if cold:
                drop_cache(folder)
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, memory = pool.apply(measure, (action,))
            print(f"| {title} | {size:.0f} | {seconds:.2f} | {size / seconds:.0f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
