"""The authors' own encodings and decoder, from a checkout of tommccoy1/tpdn."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64

from tprpapers.worlds.sequences import SYMBOLS
from tprprobe.data.vocabularies.characters import SPECIALS, SymbolTable
from tprprobe.errors import InputError
from tprprobe.files.lines import read_lines
from tprprobe.models import build

TRAIN, TESTED = "data/example.data_from_dev", "data/example.data_from_test"
STACKS = ("encoder", "decoder")


def check_checkout(folder: Path) -> None:
    """Checks that the folder is a checkout.

    Raises:
        InputError: it lacks a file.
    """
    required = [TRAIN, TESTED, *(f"models/{stack}_example.weights" for stack in STACKS)]
    if missing := [name for name in required if not (folder / name).is_file()]:
        raise InputError(
            f"{folder} lacks {missing[0]}: git clone https://github.com/tommccoy1/tpdn {folder}"
        )


def load_authors(folder: Path) -> Any:
    """The network that made the encodings; rows of special symbols, which theirs lacks, are zero."""
    model: Any = build({"architecture": "bottleneck"}).eval()
    state = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    for stack in STACKS:
        path = folder / "models" / f"{stack}_example.weights"
        for name, value in torch.load(path, "cpu", weights_only=True).items():
            state[f"{stack}.{name}"][-len(value) :] = value
    model.load_state_dict(state)
    model.vocabulary, model.name = SymbolTable((*SPECIALS, *SYMBOLS["digits"])), "tpdn-example"
    return model


def read_encodings(file: Path) -> tuple[list[list[str]], Float64[np.ndarray, "sequence d_model"]]:
    """The sequences of a file and their encodings."""
    lines = [line.split("\t") for _, line in read_lines(file) if line.strip()]
    return [line[0].split() for line in lines], np.array([line[1].split() for line in lines], float)
