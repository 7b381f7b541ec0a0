"""Commands killed at random moments and resumed, the resumed ones too, end in what they would have made.

``extract`` and ``train PLAN`` are also run by two processes, one or both of which are killed.
"""

import csv
import gzip
import io
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from planted import sentences, soaked
from planted.bindings import STATE, left, plant_bindings
from planted.foreign import save_foreign
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
PLAN = """
name = "tiny"
seeds = [0, 1]
test = [{ data = "DATA:arithmetic__mixed", split = "interpolate" }]
[variants.outer]
binding = "outer"
[variants.plain]
[recipe]
batch_size = 6
evaluate_every = 4
save_every = 4
[recipe.model]
architecture = "tp-transformer"
d_model = 8
n_heads = 2
n_layers = [1, 1]
d_ff = 16
[[recipe.stages]]
steps = 30
learning_rate = 0.01
mix = [{ data = "DATA:arithmetic__mixed", split = "train-easy" }]
[[recipe.evaluate]]
data = "DATA:arithmetic__mixed"
split = "interpolate"
n = 9
"""
CLOCKED = ("seconds",)  # columns that the clock writes
CLOCKS = {"state.pt", "tensorboard"}  # what is only to go on with, and begins anew
MAX_TIMES = 9  # kills of a command in a run of `make soak`
PAUSE, PATIENCE = 0.2, 600  # between two tries while a killed command's child writes; tries
IS_BEING_WRITTEN = "is being written by another process"


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


def _numbers(places: Places, lines: int = 400) -> Path:
    rng = random.Random(0)
    rows = [
        f"{' '.join(str(rng.randrange(10)) for _ in range(4))}\t"
        f"{' '.join(f'{rng.gauss(0, 1):.6f}' for _ in range(8))}\n"
        for _ in range(lines)
    ]
    return _written(places, f"{lines}.txt", "".join(rows))


def _imported(places: Places) -> Path:
    from tprprobe import import_store

    path = places.made / "imported"
    return path if path.exists() else import_store(_numbers(places), path, "tpdn").path


def _foreign(places: Places) -> list[Any]:
    """A model of transformers and texts that it reads."""
    folder = places.made / "bert"
    if not folder.exists():
        save_foreign("bert", folder)
    pairs = product(
        ("cats", "dogs", "birds"), ("see", "like", "hear"), ("dog", "cat", "bird"), "ab"
    )
    lines = [f"the {a} {b} the {c} {d}" for a, b, c, d in pairs]
    return [f"hf:{folder}", "--data", _written(places, "texts.txt", "\n".join(lines))]


def _bound(places: Places) -> Path:
    path = places.made / "bound"
    return path if path.exists() else plant_bindings(path, left, n=120, ranks=(4, 2)).path


class Killed(NamedTuple):
    """A command that is killed: its words, how OUT is given, and by how many processes it is run."""

    words: Callable[[Places], list[Any]]
    out: str = "--out"
    ending: str = ""
    processes: int = 1
    ranks: bool = False
    resumes: bool = True  # else a command that was killed is begun anew


def _asked(places: Places, split: str = "interpolate") -> list[Any]:
    return ["--data", f"{places.questions}:arithmetic__mixed", "--split", split]


def _extracting(places: Places) -> list[Any]:
    return ["extract", "--ckpt", places.checkpoint, *_asked(places, "train-easy")]


def _many(places: Places) -> list[Any]:
    """Questions enough for two processes."""
    data = ["--data", "mathematics:arithmetic__mixed", "--split", "small", "-n", "1100"]
    return ["extract", "--ckpt", places.checkpoint, *data, "--attention-samples", "4"]


COMMANDS = {
    "extract": Killed(_extracting),
    "extract by two processes": Killed(_many, processes=2, ranks=True),
    "train": Killed(
        lambda places: ["train", _written(places, "r.toml", f'name = "t"\n{TRAINING}')]
    ),
    "train PLAN": Killed(lambda places: ["train", _written(places, "p.toml", PLAN)]),
    "train PLAN by two processes": Killed(
        lambda places: ["train", _written(places, "p.toml", PLAN)], processes=2
    ),
    "name": Killed(lambda places: ["name", _store(places), "--site", LAST, "--k", 3]),
    "probe": Killed(lambda places: ["probe", "pos", _labelled(places)]),
    "intervene": Killed(
        lambda places: ["intervene", _written(places, "s.toml", SWEEP), "--ckpt", places.checkpoint]
    ),
    "import": Killed(
        lambda places: ["import", _numbers(places, 20000), "OUT", "--format", "tpdn"], ""
    ),
    "decompose": Killed(
        lambda places: ["decompose", _imported(places), "--site", "encoding", "--roles", "left"]
    ),
    "examine": Killed(lambda places: ["examine", *_foreign(places), "--layers", 1]),
    "cluster": Killed(
        lambda places: ["cluster", _store(places), "--site", LAST, "--k", 3], resumes=False
    ),
    "roles": Killed(lambda places: ["roles", _bound(places), "--site", STATE]),
    "report": Killed(lambda places: ["report", _store(places)], ending=".html", resumes=False),
}


def _run(words: list[str], log: str, rank: int | None) -> None:
    """In a process of its own."""
    with open(log, "w") as log_stream:
        os.dup2(log_stream.fileno(), 2)
    sys.argv = ["tprprobe", *words]
    if rank is not None:
        os.environ |= {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "0"}
    from tprprobe.cli import main

    main()


def _begin(command: Killed, words: list[str], log: Path) -> list[Any]:
    processes = []
    for number in range(command.processes):
        rank = number if command.ranks else None
        arguments = (words, f"{log}{number}", rank)
        processes.append(SERVER.Process(target=_run, args=arguments))
        processes[-1].start()
    return processes


def _wait(processes: list[Any], seconds: float) -> bool:
    """True if all have ended before so many seconds."""
    end = time.monotonic() + seconds
    for process in processes:
        process.join(max(0.0, end - time.monotonic()))
    return not any(process.is_alive() for process in processes)


def _complete(command: Killed, words: list[str], log: Path) -> float:
    """How long a command took that ended well; what a killed one's child still writes is waited for."""
    for _ in range(PATIENCE):
        begun = time.monotonic()
        processes = _begin(command, words, log)
        for process in processes:
            process.join()
        logs = [Path(f"{log}{number}").read_text() for number in range(len(processes))]
        if not any(process.exitcode for process in processes):
            return time.monotonic() - begun
        assert IS_BEING_WRITTEN in "".join(logs), logs
        time.sleep(PAUSE)
    raise AssertionError("it was written for ever")


def _contents(place: Path) -> dict[str, Any]:
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    names = {path: str(path.relative_to(place)) for path in files}
    compared = {path: name for path, name in names.items() if not CLOCKS & {*Path(name).parts}}
    return {name: _content(path, place) for path, name in compared.items()}


def _content(path: Path, place: Path) -> Any:
    """The bytes of a file, the same wherever its folder lies; of tables without what the clock says."""
    if path.name.endswith((".csv", ".csv.gz")):
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        rows = csv.DictReader(io.StringIO(text, newline=""))
        return [{name: row[name] for name in row if name not in CLOCKED} for row in rows]
    if path.name.endswith(".done.json"):
        return {**json.loads(path.read_text()), "seconds": 0, "command": ""}
    return path.read_bytes().replace(str(place).encode(), b"")


def _leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob(".*") if path.name.endswith((".lock", ".parts"))]


def _kill(name: str, times: int, seed: object, places: Places, folder: Path) -> int:
    """How often a command and its resumed runs were killed, which then ended in the same files."""
    command = COMMANDS[name]
    folder.mkdir()
    undisturbed, killed = (folder / f"{stem}{command.ending}" for stem in ("whole", "killed"))
    command_words = [str(word) for word in command.words(places)]

    def words(out: Path, resume: bool) -> list[str]:
        full_words = [str(out) if word == "OUT" else word for word in command_words]
        full_words += [command.out, str(out)] if command.out else []
        return [*full_words, *(["--resume"] if resume and command.resumes else [])]

    took = _complete(Killed(command.words), words(undisturbed, False), folder / "log")
    shared = command.processes > 1 and not command.ranks  # by processes that are told to go on
    expected, rng, remaining, begun = (
        _contents(undisturbed),
        random.Random(f"{name} {seed}"),
        times,
        shared,
    )
    while remaining:
        if not command.resumes and killed.exists():  # it was finished before it was killed
            assert _contents(killed) == expected, (name, seed, remaining)
            _remove(killed)
        processes = _begin(command, words(killed, begun), folder / "log")
        if _wait(processes, rng.uniform(0.02, took)):
            log_text = "".join((folder / f"log{i}").read_text() for i in range(len(processes)))
            if any(process.exitcode for process in processes):
                assert IS_BEING_WRITTEN in log_text, log_text
                time.sleep(PAUSE)
                continue
            assert _contents(killed) == expected, (name, seed, remaining)
            _remove(killed)
            begun = shared
            continue
        alive_processes = [process for process in processes if process.is_alive()]
        for process in alive_processes if rng.random() < 0.5 else alive_processes[:1]:
            os.kill(process.pid or 0, signal.SIGKILL)
            remaining -= 1
        for process in processes:  # under a starter, the others of a group are ended too
            if command.ranks and process.is_alive():
                os.kill(process.pid or 0, signal.SIGKILL)
            process.join()
        begun = shared or _is_begun(killed, command)
    if command.resumes or not killed.exists():
        _complete(command, words(killed, begun), folder / "log")
    assert _contents(killed) == expected, (name, seed)
    assert not _leftovers(folder)
    return times


def _is_begun(out: Path, command: Killed) -> bool:
    parts_folder = out.with_name(f".{out.name}.parts")  # of an extraction by several processes
    return out.exists() or parts_folder.exists() or Path(f"{out}.parts").exists()


def _remove(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink()


@pytest.fixture(scope="module")
def places(checkpoint, questions, tmp_path_factory) -> Places:
    return Places(checkpoint, questions, tmp_path_factory.mktemp("places"))


def test_killed_commands_go_on_to_the_same_results(places, tmp_path):
    _kill("extract", 1, 0, places, tmp_path / "kills")


@pytest.mark.soak
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_killed_many_times_go_on_to_the_same_results(name, places, tmp_path, capsys):
    for tries in soaked.ahead("kills", name, MAX_TIMES, MAX_TIMES):
        killed = _kill(name, len(tries), tries.start, places, tmp_path / str(tries.start))
        soaked.add("kills", name, soaked.Tried(killed))
    with capsys.disabled():
        print(f"{name}: killed {soaked.so_far('kills', name).tried} times so far, the same results")
