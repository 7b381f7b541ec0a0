"""What tiny networks give, as numbers that were checked: `python tests/planted/networks.py` writes them again.

They were first written when the networks agreed with their equations, written out in numpy.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tprpapers.mccoy.bottleneck import CODERS
from tprprobe.models import build
from tprprobe.site.hooks import capture

FILE = Path(__file__).parents[1] / "golden/networks.json"
SOURCE = torch.tensor([[4, 9, 5, 10, 6, 4], [7, 11, 6, 7, 1, 1]])
TARGET = torch.tensor([[2, 9, 8], [2, 11, 5]])
SIZES = {"vocab_size": 15, "d_embedding": 6, "d_role": 4, "d_model": 7}
TRANSFORMER = {"vocab_size": 15, "d_model": 8, "n_heads": 2, "n_layers": (2, 1), "d_ff": 12}
T5 = TRANSFORMER | {"d_head": 4, "n_roles": 3, "pad": 1, "sos": 2, "eos": 3}
IMAGES = {"vocab_size": 15, "d_model": 3, "d_embedding": 4, "d_features": 6}
CASES: dict[str, dict[str, Any]] = {
    "cnn-lstm": IMAGES,
    "tpgn": IMAGES,
    "tpgn bare": IMAGES | {"biases": False, "cells": "features"},
    "tpgn tied": IMAGES | {"output": "tied", "d_embedding": 9},
    "fast-weight-memory": SIZES | {"n_reads": 2},
    **dict.fromkeys(("tpr-rnn", "aid", "d3"), SIZES),
    "soft-tpr": SIZES | {"d_role": 8, "d_filler": 5},
    "tree-machine": {"vocab_size": 15, "d_filler": 5, "n_levels": 4, "d_model": 8, "d_ff": 8},
    **{
        f"bottleneck {coder}": {"d_model": 8, "d_ff": 12, "d_embedding": 5, "n_heads": 2}
        | {"n_layers": 1, "encoder": coder, "decoder": coder}
        for coder in CODERS
    },
    "tp-n2f": {"vocab_size": 15, "d_embedding": 6},
    "lstm": {"vocab_size": 15, "d_model": 7},
    "lstm thinking": {"vocab_size": 15, "d_model": 7, "thinking_steps": 3},
    "transformer": TRANSFORMER,
    "transformer torch": TRANSFORMER | {"initialization": "torch"},
    "tp-transformer": TRANSFORMER,
    "tp-transformer outer": TRANSFORMER | {"binding": "outer"},
    "tp-transformer xavier": TRANSFORMER | {"initialization": "xavier"},
    "t5": T5,
    "tpt": T5,
    "tpt inside": T5 | {"after_residual": False},
}


def digest(tensor: Tensor) -> float:
    """A tensor's product with a random direction."""
    direction = np.random.default_rng(0).normal(size=tensor.numel())
    return float(direction @ tensor.double().numpy().ravel() / tensor.numel() ** 0.5)


@torch.no_grad()
def measure(case: str) -> dict[str, float]:
    """The digests of the weights as they are initialized; of logits and sites with larger ones."""
    model: Any = build({"architecture": case.split()[0], **CASES[case]}, seed=3).double().eval()
    start = {f"start {name}": digest(weights) for name, weights in model.named_parameters()}
    for weights in [*model.parameters(), getattr(model, "mean", torch.empty(0))]:
        noise = np.random.default_rng(1).normal(size=weights.shape)
        weights += 0.3 * torch.from_numpy(noise)
    source = torch.tensor([[4, 5, 6, 7, 8, 9, 10, 11]]) if case == "tree-machine" else SOURCE
    if CASES[case].get("d_features"):
        source = torch.from_numpy(np.random.default_rng(2).normal(size=(2, 6)))
    with capture(model, "*") as acts:
        logits = model(source, TARGET[: len(source)]).clamp(min=-100)  # some mask what is no answer
    return start | {name: digest(values) for name, values in {"logits": logits, **acts}.items()}


if __name__ == "__main__":
    numbers = {case: {k: round(v, 8) for k, v in measure(case).items()} for case in CASES}
    FILE.write_text("{\n" + ",\n".join(f'"{c}": {json.dumps(n)}' for c, n in numbers.items()) + "\n}\n")  # fmt: skip
