"""Recipes of a second's training, runs by them that are cut off, and what a run leaves."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tprprobe.files.settings import parse
from tprprobe.models import load_model
from tprprobe.training import loop
from tprprobe.training.logs import COLUMNS, read_log
from tprprobe.training.loop import Run, train
from tprprobe.training.recipes import Recipe

TINY = {"architecture": "tp-transformer", "d_model": 16, "n_heads": 2, "d_ff": 16}
TINY |= {"n_layers": [1, 1]}
OFTEN = {"evaluate_every": 4, "save_every": 4}
CAPTIONERS = {
    "tpgn": {"architecture": "tpgn", "d_model": 5, "d_embedding": 6},
    "cnn-lstm": {"architecture": "cnn-lstm", "d_model": 12, "d_embedding": 6},
}


def arithmetic(questions: str, model: dict[str, Any] | None = None, **settings: Any) -> Recipe:
    """Twelve steps of one mix and eight of another, evaluated and saved every fourth."""

    def stage(steps: int, module: str, **options: Any) -> dict[str, Any]:
        mix = [{"data": f"{questions}:arithmetic__{module}", "split": "train-easy"}]
        return {"steps": steps, "learning_rate": 0.01, "mix": mix, **options}

    stages = [stage(12, "add_or_sub", warmup=3), stage(8, "mixed", decay="cosine")]
    base = {
        "name": "tiny",
        "batch_size": 6,
        "model": model if "architecture" in (model or {}) else {**TINY, **(model or {})},
        "stages": stages,
        "evaluate": [{"data": f"{questions}:arithmetic__mixed", "split": "interpolate", "n": 9}],
    }
    return parse(Recipe, base | OFTEN | settings, "recipe")


def captioning(kind: str = "tpgn", **settings: Any) -> Recipe:
    """Eight steps on 24 scenes and four on others, evaluated and saved every fourth."""
    stages = [
        {"steps": 8, "learning_rate": 0.01, "mix": [{"data": "scenes", "split": "train", "n": 24}]},
        {"steps": 4, "learning_rate": 0.01, "mix": [{"data": "scenes", "split": "dev", "n": 12}]},
    ]
    base = {
        "name": f"tiny-{kind}",
        "batch_size": 16,
        "model": CAPTIONERS[kind],
        "words": {"threshold": 2},
        "stages": stages,
        "evaluate": [{"data": "scenes", "split": "dev", "n": 6}],
        "optimizer": {"clip": 5.0},
    }
    return parse(Recipe, base | OFTEN | settings, "recipe")


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint."""
    return load_model(folder).state_dict()


def state(out: Path) -> dict[str, Any]:
    """What a run keeps to go on from."""
    return torch.load(out / loop.STATE, weights_only=True)


def figures(out: Path) -> list[dict[str, Any]]:
    """The log without what the clock says."""
    return [{key: row[key] for key in COLUMNS if key != "seconds"} for row in read_log(out)]


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal bit for bit, through all containers."""
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.equal(b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


class Killed(BaseException):
    """What ends a run in the middle."""


def killed_at(step: int, monkeypatch: Any, *args: Any, **options: Any) -> None:
    """Train until the step has begun."""
    update = Run.update

    def until(self: Run, *batch: Any) -> None:
        if self.step == step:
            raise Killed
        update(self, *batch)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "update", until)
        with pytest.raises(Killed):
            train(*args, **options)
