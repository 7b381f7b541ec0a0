"""Commands killed at random moments and resumed, the resumed ones too, end in what they would have made."""

import csv
import io
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from planted import sentences
from planted.questions import LAST, plant

SERVER = get_context("forkserver")  # which imports everything once
SERVER.set_forkserver_preload(
    ["tprprobe.cli", "torch", "pandas", "xarray", "zarr", "sklearn.cluster"]
)
TRAINING = """
batch_size = 6
evaluate_every = 4
save_every = 4
[model]
architecture = "tp-transformer"
d_model = 8
n_heads = 2
n_layers = [1, 1]
d_ff = 16
[[stages]]
steps = 40
learning_rate = 0.01
mix = [{ data = "DATA:arithmetic__mixed", split = "train-easy" }]
[[evaluate]]
data = "DATA:arithmetic__mixed"
split = "interpolate"
n = 9
"""
SWEEP = """
data = "DATA:arithmetic__mixed"
n = 8
reference = 8
sites = ["encoder.*.self.role"]
edits = ["zero", "mean"]
strengths = [0.5, 1.0]
"""
CLOCKED = ("seconds",)  # columns that the clock writes
CLOCKS = {"state.pt", "tensorboard"}  # what is only to go on with, and begins anew


class Places(NamedTuple):
    """Where the commands read."""

    checkpoint: Path
    questions: str
    made: Path


def _store(places: Places) -> Path:
    path = places.made / "store"
    return path if path.exists() else plant(path, 24).path


def _labelled(places: Places) -> Path:
    path = places.made / "labelled"
    return path if path.exists() else sentences.plant(path, 40).path


def _written(places: Places, name: str, text: str) -> Path:
    path = places.made / name
    path.write_text(text.replace("DATA", places.questions))
    return path


def _numbers(places: Places) -> Path:
    rng = random.Random(0)
    lines = [
        f"{' '.join(str(rng.randrange(10)) for _ in range(4))}\t"
        f"{' '.join(f'{rng.gauss(0, 1):.6f}' for _ in range(8))}\n"
        for _ in range(400)
    ]
    return _written(places, "v.txt", "".join(lines))


def _imported(places: Places) -> Path:
    from tprprobe import import_store

    path = places.made / "imported"
    return path if path.exists() else import_store(_numbers(places), path, "tpdn").path


COMMANDS: dict[str, Callable[[Places], list[Any]]] = {
    "extract": lambda at: [
        "extract", "--ckpt", at.checkpoint, "--data", f"{at.questions}:arithmetic__mixed",
        "--split", "train-easy",
    ],
    "train": lambda at: ["train", _written(at, "r.toml", f'name = "t"\n{TRAINING}')],
    "name": lambda at: ["name", _store(at), "--site", LAST, "--k", 3],
    "probe": lambda at: ["probe", "pos", _labelled(at)],
    "intervene": lambda at: ["intervene", _written(at, "s.toml", SWEEP), "--ckpt", at.checkpoint],
    "decompose": lambda at: ["decompose", _imported(at), "--site", "encoding", "--roles", "left"],
}  # fmt: skip


def _run(words: list[str], log: str) -> None:
    """In a process of its own."""
    with open(log, "w") as said:
        os.dup2(said.fileno(), 2)
        sys.argv = ["tprprobe", *words]
        from tprprobe.cli import main

        main()


def _command(words: list[Any], log: Path, seconds: float | None = None) -> float | None:
    """How long a command took that ended well; None if it was killed after some seconds."""
    begun = time.monotonic()
    process = SERVER.Process(target=_run, args=([*map(str, words)], str(log)))
    process.start()
    process.join(seconds)
    if process.is_alive():
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        return None
    assert not process.exitcode, log.read_text()
    return time.monotonic() - begun


def _contents(folder: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(folder)): _content(path)
        for path in folder.rglob("*")
        if path.is_file() and not CLOCKS & {*path.relative_to(folder).parts}
    }


def _content(path: Path) -> Any:
    """The bytes of a file; of a table without what the clock says."""
    if path.suffix != ".csv":
        return path.read_bytes()
    rows = csv.DictReader(io.StringIO(path.read_text()))
    return [{name: row[name] for name in row if name not in CLOCKED} for row in rows]


def _kill(name: str, times: int, seed: int, places: Places, folder: Path) -> None:
    """Kills a command and its resumed runs so many times, then lets it end."""
    words = COMMANDS[name](places)
    folder.mkdir()
    whole, killed, log = folder / "whole", folder / "killed", folder / "log"
    took = _command([*words, "--out", whole], log) or 0.0
    expected, rng, left = _contents(whole), random.Random(f"{name} {seed}"), times
    while left:
        out = [*words, "--out", killed, *(["--resume"] if killed.exists() else [])]
        if _command(out, log, rng.uniform(0.02, took)) is None:
            left -= 1
        else:
            assert _contents(killed) == expected, (name, seed, left)
            shutil.rmtree(killed)
    _command([*words, "--out", killed, *(["--resume"] if killed.exists() else [])], log)
    assert _contents(killed) == expected, (name, seed)


@pytest.fixture(scope="module")
def places(checkpoint, questions, tmp_path_factory) -> Places:
    return Places(checkpoint, questions, tmp_path_factory.mktemp("places"))


@pytest.mark.parametrize(("name", "times"), [("extract", 2), ("train", 2)])
def test_killed_commands_go_on_to_the_same_results(name, times, places, tmp_path):
    _kill(name, times, 0, places, tmp_path / "kills")


@pytest.mark.soak
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_killed_many_times_go_on_to_the_same_results(name, places, tmp_path, capsys):
    for seed in range(1, 5):
        _kill(name, 5, seed, places, tmp_path / str(seed))
    with capsys.disabled():
        print(f"{name}: killed 20 times, the results are those of a run that was not")
