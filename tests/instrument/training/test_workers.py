"""Processes that torchrun starts train as one: by Adam, by Muon, and captions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tomli_w
import torch
from planted import train_each
from planted.recipes import arithmetic, captioning, weights

from tprprobe.training.logs import read_log
from tprprobe.training.loop import train
from tprprobe.training.recipes import Recipe

CLOSE = {  # how close weights are
    "adam": {"rtol": 1e-4, "atol": 2e-5},
    "captions": {"rtol": 1e-4, "atol": 2e-5},
    "muon": {"rtol": 1e-3, "atol": 2e-4},
}


@pytest.fixture(scope="module")
def recipes(questions) -> dict[str, Recipe]:
    """Also with a last batch of one example; Adam's ε keeps rounding from becoming a step."""
    plain, scenes = arithmetic(questions).stages, captioning().stages[:1]
    short = [
        {**stage.model_dump(), "steps": steps, "learning_rate": 1e-3}
        for stage, steps in zip(plain, (6, 2), strict=True)
    ]
    adam = {"batch_size": 13, "stages": plain[:1], "optimizer": {"eps": 1e-3, "clip": 1.0}}
    scene = {"batch_size": 13, "stages": scenes, "optimizer": {"eps": 1e-3, "clip": 5.0}}
    return {
        "adam": arithmetic(questions, **adam),
        "captions": captioning(**scene),
        "muon": arithmetic(questions, batch_size=16, stages=short, optimizer={"name": "muon"}),
    }


@pytest.fixture(scope="module")
def together(recipes, root, tmp_path_factory) -> Path:
    """A folder of a run by each recipe, of two processes; importing takes them longest."""
    folder = tmp_path_factory.mktemp("together")
    for name, recipe in recipes.items():
        (folder / f"{name}.toml").write_text(tomli_w.dumps(recipe.model_dump(exclude_none=True)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    process = subprocess.run(
        [*command, train_each.__file__, str(folder)],
        env=environment | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return folder


@pytest.mark.parametrize("name", CLOSE)
def test_two_processes_train_as_one(recipes, together, tmp_path, name):
    train(recipes[name], tmp_path / "one")
    single, two = weights(tmp_path / "one" / "model"), weights(together / name / "model")
    for key, tensor in single.items():
        torch.testing.assert_close(two[key], tensor, **CLOSE[name], msg=key)
    logs = [read_log(out) for out in (tmp_path / "one", together / name)]
    assert [row["metric"] for row in logs[1]] == [row["metric"] for row in logs[0]]
    expected, final = ([row for row in log if row["metric"] == "loss"][-1] for log in logs)
    assert int(final["step"]) == recipes[name].steps
    assert float(final["value"]) == pytest.approx(float(expected["value"]), rel=1e-2)
