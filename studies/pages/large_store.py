"""A store of more than a million words: the time, bytes and memory to extract and to cluster it.

Every command is a process of its own on one thread, so that its memory is its own.
"""

import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from studies.pages.unbinding_section import KS, SEED, SITES, place, read_stores
from studies.templates import fill
from tprpapers.huang import figures as huang
from tprpapers.huang import unbinding_tables as tables
from tprpapers.huang.unbinding import compare_ks, load_learnt, read_words
from tprprobe.console import stderr
from tprprobe.errors import InputError
from tprprobe.store import Store, open_store

MODEL, DATA, SPLIT, CAPTIONS = "tpgn-scenes", "scenes:persons=colored,captions=1", "train", 140_000
STORE, COSTS = "large", "costs.csv"  # in the folder of runs
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


def summarize_large_store(runs: Path) -> str:
    """The costs of the store and of its clusters, and what its centers make of the counted words."""
    about: dict[str, Any] = {"data": DATA, "split": SPLIT, "captions": CAPTIONS, "model": MODEL}
    try:
        folder = place(MODEL, STORE, runs)
        if not (folder / COSTS).is_file():
            measure_costs(folder)
        counted = read_stores(MODEL, runs)[0]
    except InputError as error:
        return fill(Path(__file__).parent, "large_store.md.j2", **about, error=error)
    costs, store = pd.read_csv(folder / COSTS), open_store(folder / STORE)
    about |= _sizes(store)
    words = read_words(counted, seed=SEED)
    clusters = [load_learnt(words, folder / f"clusters-{k}", k) for k in KS]
    told = tables.stability_table(
        compare_ks(words, clusters), huang.note_learnt(words, clusters[0])
    )
    return fill(
        Path(__file__).parent,
        "large_store.md.j2",
        **about,
        error=None,
        costs=costs.to_dict("records"),
        extraction=costs.iloc[0],
        stability=told.markdown(),
    )


def _sizes(store: Store) -> dict[str, Any]:
    """Words, vectors, their width, and the bytes of the store's files."""
    (site,) = store.select(SITES)
    samples = store.tokens_of(site)["sample"].to_numpy()
    return {
        "vectors": len(samples),
        "words": int((samples[:-1] == samples[1:]).sum()),
        "width": math.prod(store.specs[site].shape),
        "bytes": sum(file.stat().st_size for file in store.path.rglob("*") if file.is_file()),
    }


def measure_costs(folder: Path) -> None:
    """The store and its clusters, made anew in a folder, and a table of what each command cost."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    store, (site,) = folder / STORE, SITES
    extraction = ["extract", "--ckpt", MODEL, "--data", DATA, "--split", SPLIT]
    extraction += ["-n", str(CAPTIONS), "--target", "generated", "--sites", site, "--no-control"]
    commands = {"extract": [*extraction, "--out", str(store)]}
    for k in KS:
        command = ["cluster", str(store), "--site", site, "--k", str(k), "--raw"]
        commands[f"cluster --k {k}"] = [*command, "--out", str(folder / f"clusters-{k}")]
    rows = [{"command": name} | run_alone(command) for name, command in commands.items()]
    pd.DataFrame(rows).to_csv(folder / COSTS, index=False)


def run_alone(command: Sequence[str]) -> dict[str, float]:
    """Processor seconds, seconds and the most bytes of memory of a ``tprprobe`` command.

    Raises: InputError where the command fails.
    """
    stderr.print(f"tprprobe {' '.join(command)} …")
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "tprprobe", *command],
        stdout=subprocess.DEVNULL,
        env=os.environ | ONE_THREAD,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise InputError(f"tprprobe {' '.join(command)} ended with {process.returncode}")
    return {
        "processor_seconds": used.ru_utime + used.ru_stime,
        "seconds": time.monotonic() - began,
        "memory": used.ru_maxrss * 1024.0,
    }
