"""A Markdown table of how fast dumps are imported and exported, from and to disk.

    python benchmarks/dumps.py [--mb 256] [--folder DIR]

Made-up vectors of width 1,024: requests of 512 tokens × 4 layers in bfloat16 (vLLM), contexts of 128 tokens
in float32 (SAELens), sentences of 32 words × 4 layers in float32 (NeuroX, HDF5), arrays in float32. The page cache of
what is read is dropped before (``posix_fadvise``). MB are those of the vectors as the source has them.
Every row is measured in a process of its own, which has imported and exported a vector before; memory is the peak of that process above what it held before.
"""

import argparse
import json
import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from rich.console import Console
from rich.progress import track
from safetensors.torch import save_file
from store import drop_cache  # beside this script

import tprprobe as tp

WIDTH, LAYERS = 1024, 4


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def write_vllm(folder: Path, size: int) -> None:
    folder.mkdir()
    states = torch.from_numpy(numbers(512, LAYERS, WIDTH)).bfloat16()
    for request in range(size // (states.numel() * 2)):
        tensors = {"hidden_states": states, "token_ids": torch.arange(512) + request}
        save_file(tensors, folder / f"{request}.safetensors")


def write_saelens(folder: Path, size: int) -> None:
    folder.mkdir()
    acts = numbers(64, 128, WIDTH)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(acts.reshape(-1)), WIDTH)
    rows = pa.ListArray.from_arrays(pa.array(np.arange(65) * 128, pa.int32()), vectors)
    ids = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(64 * 128, dtype=np.int32)), 128)
    batch = pa.record_batch({"blocks.0.hook_mlp_out": rows, "token_ids": ids})
    with pa.ipc.new_stream(str(folder / "data.arrow"), batch.schema) as writer:
        for _ in range(size // acts.nbytes):
            writer.write_batch(batch)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))


def write_neurox(path: Path, size: int) -> None:
    acts, index = numbers(LAYERS, 32, WIDTH), {}
    with h5py.File(path, "w") as file:
        for sentence in range(size // acts.nbytes):
            file.create_dataset(str(sentence), data=acts)
            index[" ".join([f"w{sentence}", *["x"] * 31])] = str(sentence)
        told = file.create_dataset("sentence_to_index", (1,), dtype=h5py.special_dtype(vlen=str))
        told[0] = json.dumps(index)


def write_npz(path: Path, size: int) -> None:
    rows = size // (LAYERS * WIDTH * 4)
    block = numbers(rows, WIDTH)
    arrays = {f"layers.{layer}.hidden": block for layer in range(LAYERS)}
    np.savez(path, allow_pickle=False, **arrays)
    samples = np.arange(rows) // 64
    pd.DataFrame({"sample": samples, "token": "x"}).to_parquet(path.with_suffix(".parquet"))


def copy(source: Path, out: Path) -> None:
    """What reading and writing take by themselves."""
    with open(source, "rb") as read, open(out, "wb") as written:
        shutil.copyfileobj(read, written, 2**21)


def bring(source: Path, out: Path) -> None:
    tp.import_store(source, out)


def take(store: Path, out: Path) -> None:
    tp.export_store(tp.open_store(store), out)


def measure(action: Callable[[], None]) -> tuple[float, float, float]:
    """Seconds, processor seconds and MB of one run in this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, worked = time.perf_counter(), time.process_time()
    action()
    seconds, work = time.perf_counter() - start, time.process_time() - worked
    return seconds, work, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def warm(folder: Path) -> None:
    """Imports what imports and exports need, which is no part of a rate."""
    shutil.rmtree(folder / "warmed", ignore_errors=True)
    tp.import_store(folder / "warm.txt", folder / "warmed")
    tp.export_store(tp.open_store(folder / "warmed"), folder / "warmed" / "one.npz")
    tp.export_store(tp.open_store(folder / "warmed"), folder / "warmed" / "two")


def timed(action: Callable[[], None], folder: Path) -> tuple[float, float, float]:
    drop_cache(folder)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(warm, (folder,))
        return pool.apply(measure, (action,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--mb", type=int, default=256, help="of each dump")
    parser.add_argument("--folder", default=None, help="where the files are made (and removed)")
    given = parser.parse_args()
    size = given.mb * 10**6
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        (folder / "warm.txt").write_text("a\t1 2\n")
        write_vllm(folder / "vllm", size)
        write_saelens(folder / "saelens", size)
        write_neurox(folder / "neurox.hdf5", size)
        write_npz(folder / "arrays.npz", size)
        steps = {
            "a plain copy of the .npz": partial(copy, folder / "arrays.npz", folder / "copy"),
            "import vLLM's, bfloat16": partial(bring, folder / "vllm", folder / "s1"),
            "import SAELens's": partial(bring, folder / "saelens", folder / "s2"),
            "import NeuroX's HDF5": partial(bring, folder / "neurox.hdf5", folder / "s3"),
            "import .npz": partial(bring, folder / "arrays.npz", folder / "s4"),
            "export to .npz": partial(take, folder / "s4", folder / "one.npz"),
            "export to .safetensors": partial(take, folder / "s4", folder / "two.safetensors"),
            "export to a datasets folder": partial(take, folder / "s4", folder / "three"),
        }
        print("| step | MB | s | MB/s | processor s | MB/s of it | memory MB |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for title, action in track(steps.items(), console=Console(stderr=True)):
            seconds, work, memory = timed(action, folder)
            rates = f"{seconds:.2f} | {given.mb / seconds:.0f} | {work:.2f} | {given.mb / work:.0f}"
            print(f"| {title} | {given.mb} | {rates} | {memory:.0f} |")


if __name__ == "__main__":
    main()
