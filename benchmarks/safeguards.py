"""What checksums and locks cost an extraction: a Markdown table of paired runs.

    python benchmarks/safeguards.py [--questions 2000] [--pairs 12]

Encoder roles of the shipped model, to a new store; runs with both, without checksums and without the lock take turns, in
an order that changes from round to round. Processor seconds; the overhead is the median over rounds, its 95 % interval
that of the sign test. The store without checksums has zeros in their place.
"""

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.progress import track
from scipy.stats import binom

from tprprobe.cli.allocator import keep_freed_memory
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.extraction import blocks, extract
from tprprobe.files.writing import write_file
from tprprobe.models import load_model
from tprprobe.store import manifests

MODEL, DATA, SPLIT = "tpt-c-arithmetic", "mathematics:arithmetic__mul", "small-test"
ROLES = "encoder.*.self.role"


@contextlib.contextmanager
def unlocked(_path: Path) -> Iterator[None]:
    yield


def without(part: str) -> contextlib.AbstractContextManager[object]:
    """A block in which extractions go without a safeguard, or with all of them."""
    if part == "checksums":
        return patch.multiple(
            manifests, _extend=lambda _c, _d: 0, sum_file=lambda _: manifests.EMPTY
        )
    if part == "the lock":
        return patch.object(blocks, "alone", unlocked)
    return contextlib.nullcontext()


def seconds(model: object, data: Dataset) -> float:
    """Processor seconds of an extraction, from texts to a finished store."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        extract(model, data, ROLES, Path(folder) / "store", attention_samples=0, control=False)  # type: ignore[arg-type]
        return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=12)
    given = parser.parse_args()
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        data = load_data(DATA, split=SPLIT, n=given.questions)
        lines = "".join(f"{each.source}\n{each.target}\n" for each in data)
        write_file(Path(folder) / "interpolate" / "arithmetic__mul.txt", lines)
        model, data = load_model(MODEL), load_data(folder)
        parts = ["", "checksums", "the lock"]
        seconds(model, data)  # imports
        taken: dict[str, list[float]] = {part: [] for part in parts}
        for number in track(range(given.pairs), console=Console(stderr=True)):
            for part in parts if number % 2 else parts[::-1]:
                with without(part):
                    taken[part].append(seconds(model, data))
    print("| overhead of | processor s with | without | overhead | 95 % interval |")
    print("|---|---:|---:|---:|---:|")
    cut = max(0, int(binom.ppf(0.025, given.pairs, 0.5)) - 1)  # pairs beyond either bound
    for part in parts[1:]:
        more = np.sort(np.divide(taken[""], taken[part]) - 1)
        bounds = f"{more[cut]:+.1%} to {more[-1 - cut]:+.1%}"
        medians = f"{np.median(taken['']):.2f} | {np.median(taken[part]):.2f}"
        print(f"| {part} | {medians} | {np.median(more):+.1%} | {bounds} |")


if __name__ == "__main__":
    main()
