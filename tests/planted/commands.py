"""Commands of a second, what they read, and the folder of it."""

import json
from collections.abc import Iterable
from pathlib import Path

from planted import sentences
from planted.bindings import STATE, left, plant_bindings
from planted.foreign import save_foreign
from planted.questions import LAST, plant

COMMANDS: dict[str, list[object]] = {
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
    "extract": ["--ckpt", "MODEL", "--data", "LINES", "--out", "OUT"],
    "intervene": ["--ckpt", "MODEL", "--text", "the dog sees a cat", "--exchange", "dog,cat", "--out", "OUT"],
    "eval": ["--ckpt", "MODEL", "--data", "ASKED", "--out", "OUT"],
    "examine": ["MODEL", "--data", "LINES", "--layers", 1, "--out", "OUT"],
    "trajectory": ["MODEL", "--ask", "cluster --site decoder.0.hidden", "--data", "LINES", "--out", "OUT"],
    "import": ["STORE", "OUT"],
    "figure": ["NAME", "--store", "STORE", "--out", "OUT.png"],
    "docs": ["stores"],
    "models": [],
    "convert": ["MODEL", "OUT"],
    "binding": ["--seed", 1],
}  # fmt: skip
PLACES = {
    "STORE": "store", "WORDS": "words", "BOUND": "bound", "LINES": "lines.txt", "ASKED": "asked.jsonl",
}  # fmt: skip


def plant_places(folder: Path) -> Path:
    """What the commands read, in a folder that may be copied."""
    plant(folder / "store", 12)
    sentences.plant(folder / "words", 20)
    plant_bindings(folder / "bound", left, n=60, ranks=(4, 2))
    save_foreign("gpt2", folder / "model", "causal")
    (folder / "lines.txt").write_text("the dog sees cats\na cat sees the dogs\n" * 6)
    question = {"document": "the dog sees cats and a dog", "summary": "a dog"}
    (folder / "asked.jsonl").write_text(f"{json.dumps(question)}\n" * 3)
    return folder


def fill_places(words: Iterable[object], folder: Path, out: Path) -> list[str]:
    """The words of a command that reads in the folder and writes ``out``."""
    places = {name: str(folder / place) for name, place in PLACES.items()}
    places |= {"MODEL": f"hf:{folder / 'model'}", "OUT": str(out)}
    filled = [str(word) for word in words]
    for name, place in places.items():
        filled = [word.replace(name, place) for word in filled]
    return filled
