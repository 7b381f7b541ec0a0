"""A question to all checkpoints of a training: tables, curves, moments, identical weights, resuming, bad input."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from planted.cli import run_command
from planted.recipes import arithmetic

from tprprobe import trajectory
from tprprobe.errors import InputError
from tprprobe.evaluation.results import load_results, melt
from tprprobe.files.runs import PARTS_FOLDER
from tprprobe.training.loop import train
from tprprobe.trajectory import find_checkpoints, find_curves, find_onsets, pair_controls


@pytest.fixture(scope="module")
def trained(questions, tmp_path_factory):
    """A run with checkpoints of steps 1, 4 and 20, and one more, 21, that has the weights of 20."""
    out = tmp_path_factory.mktemp("trained")
    train(arithmetic(questions, keep_spaced=3, evaluate=[]), out)
    assert sorted(int(checkpoint.name) for checkpoint in (out / "steps").iterdir()) == [1, 4, 20]
    shutil.copytree(out / "steps" / "20", out / "steps" / "21")
    return out


@pytest.fixture(scope="module")
def finished(trained, questions, tmp_path_factory):
    """The words of a trajectory of two analyses, its folder last, and what came of it."""
    words = [trained, "--ask", "decompose --site encoder.0.hidden --family additive"]
    words += ["--data", f"{questions}:arithmetic__mixed"]
    words += ["--ask", f"eval --data {questions}:arithmetic__mixed --split interpolate -n 5"]
    words += ["--split", "interpolate", "-n", 24, "--twin", "none", "--sites", "encoder.0.*"]
    words += ["--out", tmp_path_factory.mktemp("trajectory") / "run"]
    return words, run_command("trajectory", *words, "--json")


def test_every_checkpoint_is_asked_and_identical_weights_once(finished):
    words, result = finished
    report, folder = json.loads(result.stdout), words[-1]
    assert report.keys() == {"results", "curves", "onsets"}
    rows = [row for row in report["results"] if row["run"] == "eval-2"]
    assert sorted({row["step"] for row in rows}) == [1, 4, 20, 21]
    assert result.stderr.count("identical weights, measured once") == 1
    assert "steps/20" in result.stderr.split("measured once")[1]
    table = load_results(folder).select(run="decompose").table
    twins = [table[table["step"] == step].drop(columns="step") for step in (20, 21)]
    pd.testing.assert_frame_equal(*(twin.reset_index(drop=True) for twin in twins))
    assert {"trajectory.json", "trajectory.pdf"} <= {file.name for file in folder.iterdir()}
    assert not (folder / PARTS_FOLDER).exists()


def test_a_finished_run_is_read_and_nothing_is_loaded(finished, monkeypatch):
    words, result = finished
    with pytest.raises(InputError, match="--resume"):
        run_command("trajectory", *words)
    monkeypatch.setattr(trajectory, "load_model", None)
    reread = run_command("trajectory", *words, "--json", "--resume")
    assert json.loads(reread.stdout) == json.loads(result.stdout)


def test_an_unreadable_checkpoint_can_be_left_out_and_answers_stay(trained, questions, tmp_path):
    good, bad = trained / "steps" / "1", tmp_path / "bad2"
    shutil.copytree(trained / "steps" / "4", bad)
    (bad / "model.safetensors").write_bytes(b"{")
    options = ["--ask", f"eval --data {questions}:arithmetic__mixed -n 2", "--out", tmp_path / "a"]
    with pytest.raises(InputError, match="leave out") as error:
        run_command("trajectory", good, bad, *options)
    assert "\n" not in str(error.value)
    run_command("trajectory", good, *options, "--resume")
    assert set(load_results(tmp_path / "a").table["step"]) == {1}
    with pytest.raises(InputError, match="other checkpoints"):
        run_command("trajectory", good, bad, *options, "--resume")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ("nothing --site x", "no such command"),
        ("decompose", "site"),
        ("decompose --site x --strange 1", "strange"),
        ("decompose STORE2 --site x", "STORE"),
        ("inspect", "no results"),
        ("train", "no results"),
        ("decompose --site 'x", "quotation"),
        ("", "no such command"),
    ],
)
def test_a_line_that_cannot_be_asked_is_refused_before_anything_is_read(ask, message, tmp_path):
    with pytest.raises(InputError, match=f"(?i){message}") as error:
        run_command("trajectory", tmp_path / "nowhere", "--ask", ask, "--out", tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_checkpoints_of_folders_and_of_lists(tmp_path):
    for name in ("a/steps/5", "a/steps/10", "b/checkpoint-7"):
        (tmp_path / name).mkdir(parents=True)
    a, b = tmp_path / "a", tmp_path / "b"
    checkpoints = find_checkpoints([str(a), str(b), "hf:pythia@step512", "hf:pythia@step8"])
    assert [(checkpoint.seed, checkpoint.step) for checkpoint in checkpoints] == [
        (0, 5),
        (0, 10),
        (1, 7),
        (2, 8),
        (2, 512),
    ]
    assert [checkpoint.step for checkpoint in find_checkpoints(["one", "two"])] == [1, 2]
    assert find_checkpoints([f"hf:{b}"])[0].name == f"hf:{b}/checkpoint-7"
    (a / "steps" / "step5").mkdir()
    with pytest.raises(InputError, match="occurs twice"):
        find_checkpoints([str(a)])


def long(rows):
    """The long table of rows with a column r2."""
    names = {name: name for name in ("step", "seed", "family", "control")}
    return melt(pd.DataFrame(rows), names)


def rows(step, seed, value, control, family="bag"):
    """A measured row and its control's, each with an interval of .1 on both sides."""
    for name, x in (("", value), ("shuffled", control), ("shuffled more", control - 1), ("pca", 9)):
        ends = {"r2": x, "r2_low": x - 0.1, "r2_high": x + 0.1}
        yield {"step": step, "seed": seed, "family": family, "control": name, **ends}


def test_a_moment_is_where_the_interval_stays_above_the_strongest_control():
    values = {1: 0.0, 2: 0.9, 4: 0.05, 8: 0.2, 16: 0.5}
    table = long([row for step, x in values.items() for row in rows(step, 0, x, 0.0)])
    pairs = pair_controls(table, "ask")
    curve = find_curves(pairs)
    assert curve["difference"].tolist() == pytest.approx(list(values.values()))
    assert curve["difference_low"].iloc[-1] == pytest.approx(0.5 - 0.1 * np.sqrt(2))
    (moment,) = find_onsets(pairs).to_dict("records")
    assert moment["step"] == moment["first"] == moment["last"] == 8  # 2 passes, 4 does not
    table = table[table["control"] == ""].assign(value=-1.0, low=-1.1, high=-0.9)
    assert find_onsets(pair_controls(table, "ask"))["step"].isna().all()


def test_several_series_have_students_interval_and_their_range_of_moments():
    late = {0: 4, 1: 8, 2: 8}
    table = long(
        [r for seed, onset in late.items() for s in (2, 4, 8, 16) for r in rows(s, seed, float(s >= onset), 0.0)]
    )  # fmt: skip
    pairs = pair_controls(table, "ask")
    curve = find_curves(pairs).set_index("step")
    assert curve.loc[16, "value_low"] == curve.loc[16, "value_high"] == 1
    assert curve.loc[4, "value"] == pytest.approx(1 / 3)
    assert curve.loc[4, "value_low"] == pytest.approx(1 / 3 - 4.3027 / 3, abs=1e-3)
    (moment,) = find_onsets(pairs).to_dict("records")
    assert (moment["step"], moment["first"], moment["last"]) == (8, 4, 8)


def test_the_old_name_of_the_command_says_the_new_one(finished):
    words, result = finished
    renamed = run_command("lapse", *words, "--json", "--resume")
    assert "lapse is now trajectory" in renamed.stderr
    assert json.loads(renamed.stdout) == json.loads(result.stdout)
