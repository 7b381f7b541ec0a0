"""Whatever values options have, every command ends in a result or in one line."""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from planted import soaked
from planted.commands import COMMANDS, fill_places, plant_places
from planted.damage import Outcome
from planted.faults import call_main

from tprprobe.cli import app
from tprprobe.figures.catalogue import list_figures

INTEGERS = ["-1", "0", "1", "3", "65536", "-2147483649", "9" * 400, "1.5", "nan", "x", "", "٣"]
REAL = [*INTEGERS, "1e-320", "1e308", "-inf", "inf"]
TEXTS = ["", " ", "x", "*", "encoder.*", "encoder.-1.hidden", "a,b", "a=b", "[1]", "{", "\udc80", "é\u202e\n", "../..", "-",
         "/proc/self/mem", "STORE", "STORE/manifest.json", "PIPE", "nothing.png", "1x", "4x2", "1:2", "9" * 5000]  # fmt: skip
ALWAYS, SOAK = range(2), 60
QUICK = [
    "inspect",
    "cluster",
    "export",
    "predict",
    "figure",
    "docs",
    "convert",
]  # of all commands in `make soak`
FIGURES = sorted(entry.name for entry in list_figures())


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Path:
    """A folder with what the commands read."""
    return plant_places(tmp_path_factory.mktemp("places"))


def _draw(command: str, rng: random.Random) -> list[str]:
    """The words of a command, of which one or two options have any values."""
    main: Any = typer.main.get_command(app)
    params = main.get_command(typer.Context(main), command).params
    options = [
        option for option in params if option.param_type_name == "option" and option.name != "help"
    ]
    words = [str(word) for word in COMMANDS[command]]
    for option in rng.sample(options, min(len(options), rng.choice([1, 1, 2]))):
        kind = option.type.name
        values = INTEGERS if "int" in kind else REAL if "float" in kind else [*TEXTS, "0", "-1"]
        words += [max(option.opts, key=len), *([] if option.is_flag else [rng.choice(values)])]
    if command == "figure" and rng.random() < 0.3:
        words += [rng.choice(["--colour", "--site", "--names", "--n", "--top"]), rng.choice(TEXTS)]
    if rng.random() < 0.1 and words:  # what the command needs is another thing
        words[0] = rng.choice([text for text in TEXTS if text[:1] != "-"])
    return [rng.choice(FIGURES) if word == "NAME" else word for word in words]


def _try(
    places: Path, command: str, seeds: range, seed: int, monkeypatch: Any, capsys: Any
) -> Outcome:
    outcome = Outcome()
    for number in seeds:
        rng = random.Random(f"{command} {seed} {number}")
        folder = Path(shutil.copytree(places, places.parent / f"{command}-{seed}-{number}"))
        os.mkfifo(folder / "pipe")
        words = [command, *_draw(command, rng)]
        full_words = fill_places(words, folder, folder / "out")
        full_words = [word.replace("PIPE", str(folder / "pipe")) for word in full_words]

        def read(_: Path, full_words: list[str] = full_words) -> None:
            code, lines = call_main(full_words, monkeypatch, capsys)
            if (code, len(lines)) not in ((0, 0), (2, 1), (2, 0)):
                raise RuntimeError(f"{code}: {lines}")
            outcome.refused += code == 2

        monkeypatch.chdir(folder)
        outcome.read(read, folder, f"{number}, {words}")
        monkeypatch.chdir(places)
        shutil.rmtree(folder)
    return outcome


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", QUICK)
def test_an_option_of_any_value_is_a_result_or_one_line(command, places, monkeypatch, capsys):
    assert not _try(places, command, ALWAYS, 0, monkeypatch, capsys).faults


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("command", COMMANDS)
def test_many_options_of_any_value_are_results_or_one_line(
    command, places, monkeypatch, capsys, soaking
):
    n_cases, seed = soaking(SOAK)
    faults = []
    for seeds in soaked.ahead("options", command, n_cases, 20, seed):
        outcome = _try(places, command, seeds, seed, monkeypatch, capsys)
        counts = soaked.Tried(len(seeds), outcome.refused, len(outcome.faults), outcome.hangs)
        soaked.add("options", command, counts, seed)
        faults += outcome.faults
    assert not faults, "\n".join(faults)
