"""Commands killed at random moments and resumed, the resumed ones too, end in what they would have made."""

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
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from planted import soaked
from planted.commands import COMMANDS, fill_places, plant_places
from planted.recipes import arithmetic

SERVER = get_context("forkserver")  # which imports everything once
SERVER.set_forkserver_preload(
    ["tprprobe.cli", "torch", "pandas", "xarray", "zarr", "sklearn.cluster"]
)
CLOCKED = ("seconds",)  # columns that the clock writes
CLOCKS = {"state.pt", "tensorboard"}  # what is only to go on with, and begins anew
MAX_TIMES = 9  # kills of a command in a run of `make soak`
PAUSE, PATIENCE = 0.2, 600  # between two tries while a killed command's child writes; tries
IS_BEING_WRITTEN = "is being written by another process"


ENDINGS = {"report": ".html"}
ANEW = {"cluster", "report"}  # what was killed is begun anew
KILLED = ("extract", "name", "probe", "decompose", "examine", "roles", "cluster", "report")


@pytest.fixture(scope="module")
def commands(questions, tmp_path_factory) -> dict[str, list[str]]:
    """The words of every command that is killed, which writes OUT."""
    folder = plant_places(tmp_path_factory.mktemp("places"))
    recipe = arithmetic(questions).model_dump(exclude_defaults=True)
    plan = {"name": "tiny", "seeds": [0, 1], "test": recipe["evaluate"], "recipe": dict(recipe)}
    plan |= {"variants": {"outer": {"binding": "outer"}, "plain": {}}}
    del plan["recipe"]["name"]
    for name, settings in (("recipe", recipe), ("plan", plan)):
        (folder / f"{name}.toml").write_text(tomli_w.dumps(settings))
    rng = random.Random(0)
    rows = [
        f"{rng.randrange(10)} {rng.randrange(10)}\t{rng.random()} 1 {i}\n" for i in range(20_000)
    ]
    (folder / "vectors.txt").write_text("".join(rows))
    out = ["--out", "OUT"]
    words = {name: [name, *COMMANDS[name]] for name in KILLED}
    words["report"] += out
    words |= {
        "train": ["train", folder / "recipe.toml", *out],
        "train PLAN": ["train", folder / "plan.toml", *out],
        "import": ["import", folder / "vectors.txt", "OUT", "--format", "tpdn"],
    }
    return {name: fill_places(command, folder, Path("OUT")) for name, command in words.items()}


def _run(words: list[str], log: str) -> None:
    """In a process of its own."""
    with open(log, "w") as log_stream:
        os.dup2(log_stream.fileno(), 2)
    sys.argv = ["tprprobe", *words]
    from tprprobe.cli import main

    main()


def _begin(words: list[str], log: Path) -> Any:
    process = SERVER.Process(target=_run, args=(words, str(log)))
    process.start()
    return process


def _complete(words: list[str], log: Path) -> float:
    """How long a command took that ended well; what a killed one's child still writes is waited for."""
    for _ in range(PATIENCE):
        begun = time.monotonic()
        process = _begin(words, log)
        process.join()
        if not process.exitcode:
            return time.monotonic() - begun
        assert IS_BEING_WRITTEN in log.read_text(), log.read_text()
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


def _kill(name: str, command: list[str], times: int, seed: object, folder: Path) -> None:
    """Kills a command and its resumed runs, which then end in the same files."""
    folder.mkdir()
    undisturbed, killed = (
        folder / f"{stem}{ENDINGS.get(name, '')}" for stem in ("whole", "killed")
    )
    resumes = name not in ANEW

    def words(out: Path, resume: bool) -> list[str]:
        full_words = [str(out) if word == "OUT" else word for word in command]
        return [*full_words, *(["--resume"] if resume and resumes else [])]

    took = _complete(words(undisturbed, False), folder / "log")
    expected, rng, begun = _contents(undisturbed), random.Random(f"{name} {seed}"), False
    remaining = times
    while remaining:
        if not resumes and killed.exists():  # it was finished before it was killed
            assert _contents(killed) == expected, (name, seed, remaining)
            _remove(killed)
        process = _begin(words(killed, begun), folder / "log")
        process.join(rng.uniform(0.02, took))
        if process.is_alive():
            os.kill(process.pid or 0, signal.SIGKILL)
            process.join()
            remaining -= 1
            begun = _is_begun(killed)
        elif process.exitcode:
            assert IS_BEING_WRITTEN in (folder / "log").read_text()
            time.sleep(PAUSE)
        else:
            assert _contents(killed) == expected, (name, seed, remaining)
            _remove(killed)
            begun = False
    if resumes or not killed.exists():
        _complete(words(killed, begun), folder / "log")
    assert _contents(killed) == expected, (name, seed)
    assert not _leftovers(folder)


def _is_begun(out: Path) -> bool:
    return out.exists() or Path(f"{out}.parts").exists()


def _remove(place: Path) -> None:
    shutil.rmtree(place) if place.is_dir() else place.unlink()


def test_killed_commands_go_on_to_the_same_results(commands, tmp_path):
    _kill("extract", commands["extract"], 1, 0, tmp_path / "kills")


@pytest.mark.soak
@pytest.mark.parametrize("name", [*KILLED, "train", "train PLAN", "import"])
def test_commands_killed_many_times_go_on_to_the_same_results(name, commands, tmp_path, capsys):
    for tries in soaked.ahead("kills", name, MAX_TIMES, MAX_TIMES):
        _kill(name, commands[name], len(tries), tries.start, tmp_path / str(tries.start))
        soaked.add("kills", name, soaked.Tried(len(tries)))
    with capsys.disabled():
        print(f"{name}: killed {soaked.so_far('kills', name).tried} times so far, the same results")
