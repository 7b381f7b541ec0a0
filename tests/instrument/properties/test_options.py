"""Whatever values options have, every command ends in a result or in one line."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from planted import sentences, soaked
from planted.bindings import STATE, left, plant_bindings
from planted.damage import Outcome
from planted.faults import call_main
from planted.foreign import save_foreign
from planted.questions import LAST, plant

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
COMMANDS: dict[str, list[object]] = {  # of a store in STORE, or the model in MODEL
    "inspect": ["STORE"],
    "cluster": ["STORE", "--site", LAST, "--k", 3, "--out", "OUT"],
    "name": ["STORE", "--site", LAST, "--k", 3, "--out", "OUT"],
    "export": ["STORE", "OUT.npz"],
    "report": ["STORE"],
    "probe": ["pos", "WORDS", "--out", "OUT"],
    "decompose": ["BOUND", "--site", STATE, "--roles", "left", "--rank", "2x2", "--out", "OUT"],
    "roles": ["BOUND", "--site", STATE, "--out", "OUT"],
    "reconstruct": ["STORE", "--out", "OUT"],
    "predict": ["the dog", "--ckpt", "MODEL"],
    "extract": ["--ckpt", "MODEL", "--data", "LINES", "-n", 4, "--out", "OUT"],
    "intervene": ["--ckpt", "MODEL", "--text", "the dog sees a cat", "--out", "OUT"],
    "eval": ["--ckpt", "MODEL", "--data", "ASKED", "--out", "OUT"],
    "examine": ["MODEL", "--data", "LINES", "--layers", 1, "--out", "OUT"],
    "trajectory": [
        "MODEL",
        "--ask",
        "cluster --site decoder.0.hidden",
        "--data",
        "LINES",
        "--out",
        "OUT",
    ],
    "import": ["STORE", "OUT"],
    "figure": ["NAME", "--store", "STORE", "--out", "OUT.png"],
    "docs": ["stores"],
    "models": [],
    "convert": ["MODEL", "OUT"],
    "binding": ["--seed", 1],
}
FIGURES = sorted(entry.name for entry in list_figures())


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("places")
    plant(folder / "store", 12)
    sentences.plant(folder / "words", 20)
    plant_bindings(folder / "bound", left, n=60, ranks=(4, 2))
    save_foreign("gpt2", folder / "model", "causal")
    (folder / "lines.txt").write_text("the dog sees cats\na cat sees the dogs\n" * 6)
    question = {"document": "the dog sees cats and a dog", "summary": "a dog"}
    (folder / "asked.jsonl").write_text(f"{json.dumps(question)}\n" * 3)
    return folder


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
        names = {
            "STORE": "store",
            "WORDS": "words",
            "BOUND": "bound",
            "MODEL": "hf:",
            "LINES": "lines.txt",
            "ASKED": "asked.jsonl",
        }
        words = [command, *_draw(command, rng)]
        full_words = [
            word.replace("OUT", str(folder / "out")).replace("PIPE", str(folder / "pipe"))
            for word in words
        ]
        os.mkfifo(folder / "pipe")
        for name, path in names.items():
            place = f"hf:{folder / 'model'}" if path == "hf:" else str(folder / path)
            full_words = [word.replace(name, place) for word in full_words]

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
