"""Faults of the world and of data, each put before every command that it concerns."""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from planted.exchanges import without_checksums
from planted.questions import HIDDEN, LAST, SITES, tokens_of

from tprprobe.files.writing import alone
from tprprobe.store import StoreWriter

N_SAMPLES = 24
COMMANDS: dict[str, list[object]] = {
    "inspect": ["inspect", "STORE", "--verify"],
    "cluster": ["cluster", "STORE", "--site", LAST, "--head", 0, "--k", 3, "--out", "OUT"],
    "name": ["name", "STORE", "--site", LAST, "--k", 3, "--out", "OUT"],
    "decompose": ["decompose", "STORE", "--site", HIDDEN, "--roles", "left", "--rank", "2x2", "--out", "OUT"],
    "roles": ["roles", "STORE", "--site", HIDDEN, "--fields", "left", "--out", "OUT"],
    "probe": ["probe", "pos", "STORE", "--sites", HIDDEN, "--out", "OUT"],
    "export": ["export", "STORE", "OUT.npz"],
    "report": ["report", "STORE"],
}  # fmt: skip


def _made(
    samples: int,
    change: Callable[[np.ndarray], np.ndarray] | None = None,
    question: str = "",
    tag: str = "",
) -> Any:
    """What writes a store of questions, its vectors changed."""

    def make(path: Path) -> None:
        rng = np.random.default_rng(0)
        sites = {name: spec for name, spec in SITES.items() if not spec.is_attention}
        writer = StoreWriter.create(
            path, sites, {"model": "made", "data": {"name": "made", "split": "test"}}
        )
        for sample in range(samples):
            text = question or f"({rng.integers(1, 400)}/{rng.integers(1, 400)})/(-{sample + 1}/3)."
            table = tokens_of(sample, text, "1")
            tags = table["token"].str.isdigit().map({True: "NUM", False: "SYM"})
            table = table.assign(word=table["position"], pos=tag if tag else tags)
            count = table["side"].value_counts()
            values = {n: rng.normal(size=(count[s.rows], *s.shape)) for n, s in sites.items()}
            writer.append({n: change(v) if change else v for n, v in values.items()}, table)
        writer.finish()

    return make


def _twice(path: Path) -> None:
    """A store whose token table has a column twice, as other programs may write it."""
    import pyarrow.parquet as pq

    _made(N_SAMPLES)(path)
    without_checksums(path)
    file = path / "tokens.parquet"
    table = pq.read_table(file)
    pq.write_table(table.append_column("token", table["token"]), file)
    manifest = json.loads((path / "manifest.json").read_text()) | {
        "token_bytes": file.stat().st_size
    }
    (path / "manifest.json").write_text(json.dumps(manifest))


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file grows beyond so many bytes; Python would leave cut bytecode of what is imported meanwhile."""
    before, compiled = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = compiled
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _full_disk(_: Path) -> AbstractContextManager[None]:
    return files_of_at_most(300)


@contextmanager
def _another_writer(folder: Path) -> Iterator[None]:
    """The results are being written by another process."""
    with alone(folder / "out"), alone(folder / "out.npz"), alone(folder / "store"):
        yield


@contextmanager
def _stopped(_: Path) -> Iterator[None]:
    """The process is asked to end while the command works."""
    import matplotlib.pyplot  # noqa: F401  an import that a signal cuts off stays half done

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGPROF)
    before = {number: signal.getsignal(number) for number in numbers}
    signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    signal.setitimer(signal.ITIMER_PROF, 0.3)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _nothing(_: Path) -> Any:
    return nullcontext()


SIGNAL = "a signal"
RARE = (SIGNAL, "another writer")  # only in `make soak`

# fault → (what writes the store, what holds while the command runs, whether OUT cannot be written)
FAULTS: dict[str, tuple[Any, Any, bool]] = {
    "none": (_made(N_SAMPLES), _nothing, False),
    "folder that cannot be written": (_made(N_SAMPLES), _nothing, True),
    "full disk": (_made(N_SAMPLES), _full_disk, False),
    "another writer": (_made(N_SAMPLES), _another_writer, False),
    SIGNAL: (_made(N_SAMPLES), _stopped, False),
    "a column twice": (_twice, _nothing, False),
    "one question, again and again": (_made(N_SAMPLES, question="(1/2)/(3/4)."), _nothing, False),
    "one class": (_made(N_SAMPLES, tag="NN"), _nothing, False),
    "all vectors the same": (_made(N_SAMPLES, np.ones_like), _nothing, False),
    "all vectors zero": (_made(N_SAMPLES, np.zeros_like), _nothing, False),
    "fewer vectors than clusters": (_made(1, question="1"), _nothing, False),
    "one sample": (_made(1), _nothing, False),
    "no samples": (_made(0), _nothing, False),
    "numbers that are not finite": (_made(N_SAMPLES, lambda v: v * np.nan), _nothing, False),
}


def plant_each(folder: Path) -> Callable[[str], Path]:
    """The store that a fault is put before, by the fault's name; each is written once, to be copied."""

    @cache
    def planted(fault: str) -> Path:
        FAULTS[fault][0](folder / fault)
        return folder / fault

    return planted


def run(
    command: str, fault: str, folder: Path, call: Callable[[list[str]], tuple[int, list[str]]]
) -> tuple[int, list[str]]:
    """The exit code of a command under a fault, before the store in a folder, and the lines in which it says why."""
    _, during, closed = FAULTS[fault]
    out = Path("/proc/tprprobe") if closed else folder / "out"
    words = [
        str(word).replace("STORE", str(folder / "store")).replace("OUT", str(out))
        for word in COMMANDS[command]
    ]
    with during(folder):
        return call(words)


def run_main(monkeypatch: Any, *words: object) -> int:
    """The exit code of the program in this process."""
    from tprprobe.cli import main

    monkeypatch.setattr(sys, "argv", ["tprprobe", *map(str, words)])
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def call_main(words: Iterable[object], monkeypatch: Any, capsys: Any) -> tuple[int, list[str]]:
    """The exit code of the program in this process, and what it says of itself."""
    code = run_main(monkeypatch, *words)
    lines = capsys.readouterr().err.splitlines()
    return code, [line for line in lines if line.startswith("tprprobe:")]
