"""Processes that are started as torchrun starts them train as one: by Adam, by Muon, and captions."""

import socket
from itertools import permutations
from multiprocessing import get_context
from pathlib import Path

import pytest
import tomli_w
import torch
from planted import train_each
from planted.recipes import arithmetic, captioning, weights

from tprprobe.training.logs import read_log
from tprprobe.training.loop import REPORT_EVERY, train
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
def together(recipes, tmp_path_factory) -> Path:
    """A folder of a run by each recipe, of two processes."""
    folder = tmp_path_factory.mktemp("together")
    for name, recipe in recipes.items():
        (folder / f"{name}.toml").write_text(tomli_w.dumps(recipe.model_dump(exclude_none=True)))
    rows = [f"{letters}\t{letters[::-1]}" for letters in map("".join, permutations("abcde"))]
    (folder / "pairs.tsv").write_text("\n".join(["source\ttarget", *rows]))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared["GLOO_SOCKET_IFNAME"] = "lo"
    server = get_context("forkserver")  # which imports everything once
    server.set_forkserver_preload(["tprprobe.cli", "tprprobe.training.loop"])
    places = [shared | {"RANK": rank, "LOCAL_RANK": rank} for rank in "01"]
    processes = [server.Process(target=train_each.main, args=(folder, place)) for place in places]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    return folder


def test_two_processes_stop_together_when_the_score_of_pairs_gets_no_better(together):
    steps = [int(row["step"]) for row in read_log(together / "pairs")]
    assert max(steps) == 2 * REPORT_EVERY
    assert (together / "pairs" / "model" / "model.safetensors").is_file()


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
