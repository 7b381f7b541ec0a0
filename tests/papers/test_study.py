"""Matched studies: the same data for every variant, resumed and shared runs, crossed intervals."""

import fcntl
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from tprpapers.study import shared_data
from tprpapers.study.comparisons import (
    Answers,
    compare_variants,
    over_seeds,
    subsets,
)
from tprpapers.study.plans import read_plan
from tprpapers.study.records import FILES, Study, load_study
from tprpapers.study.runner import run_study
from tprprobe.data import load_data
from tprprobe.data.vocabularies.characters import characters
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate
from tprprobe.statistics import Interval

MIX = 'data = "mathematics:arithmetic__add_or_sub+arithmetic__mixed", split = "small"'
PLAN = f"""
name = "tiny"
seeds = [0, 1]
longest = 24
test = [{{ {MIX}, n = 30 }}]

[variants.transformer]
architecture = "transformer"

[variants.outer]
binding = "outer"

[recipe]
batch_size = 8
evaluate_every = 2
save_every = 1

[recipe.model]
architecture = "tp-transformer"
d_model = 8
n_heads = 2
n_layers = [1, 1]
d_ff = 16

[[recipe.stages]]
steps = 4
learning_rate = 0.01
mix = [{{ {MIX}, n = 32 }}]

[[recipe.evaluate]]
{MIX.replace(", ", chr(10))}
n = 20
"""


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "tiny.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def finished(plan_file, tmp_path_factory):
    return run_study(read_plan(plan_file), tmp_path_factory.mktemp("study") / "out")


def test_a_study_has_a_run_for_every_variant_and_seed(finished):
    study = load_study(finished)
    assert list(study.runs["run"]) == ["transformer-0", "transformer-1", "outer-0", "outer-1"]
    assert set(study.runs["run"]) <= set(study.examples)
    sizes = study.runs.groupby("variant")["parameters"].unique().str[0]
    assert sizes["outer"] > sizes["transformer"]
    last_steps = study.curves.query("metric == 'exact_match'").groupby("run")["step"].max()
    assert set(last_steps) == {4}


def test_longer_questions_are_kept_out_of_training_and_tested_apart(finished):
    study = load_study(finished)
    longer = study.examples["longer"] == 1
    assert 0 < longer.sum() < len(longer)
    assert ((study.examples["source"].str.len() > 24) == longer).all()
    [file] = (finished / "data").glob("*.pt")
    values, offsets, _, _, indices, lengths = torch.load(file, weights_only=True)
    assert 0 < len(indices) == len(lengths) < 32
    symbols = characters()
    for i in indices.tolist():
        assert len(symbols.decode(values[offsets[i] : offsets[i + 1]].tolist())) <= 24


def test_a_study_that_was_cut_off_ends_as_if_it_was_not(finished, plan_file, tmp_path):
    interrupted = tmp_path / "cut"
    not_collected = shutil.ignore_patterns("*s.csv")
    shutil.copytree(finished, interrupted, ignore=not_collected)
    for name in ("outer-0", "transformer-1"):
        shutil.rmtree(interrupted / "runs" / name)
    run_study(read_plan(plan_file), interrupted, resume=True)
    expected, resumed = load_study(finished), load_study(interrupted)
    pd.testing.assert_frame_equal(expected.examples, resumed.examples)
    curves = [study.curves.drop(columns="seconds") for study in (expected, resumed)]
    pd.testing.assert_frame_equal(*curves)


def test_a_run_that_another_process_holds_is_passed_over(finished, plan_file, tmp_path):
    busy = tmp_path / "busy"
    shutil.copytree(finished, busy, ignore=shutil.ignore_patterns("*s.csv"))
    (busy / "runs" / "outer-1" / "answers.json").unlink()
    with (busy / "runs" / "outer-1" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run_study(read_plan(plan_file), busy, resume=True)
    assert "outer-1" not in set(load_study(busy).runs["run"])
    run_study(read_plan(plan_file), busy, resume=True)
    assert "outer-1" in set(load_study(busy).runs["run"])


def test_a_folder_of_a_study_is_not_overwritten(finished, plan_file):
    with pytest.raises(InputError, match="--resume goes on"):
        run_study(read_plan(plan_file), finished)
    for override in ("seeds=[0]", "longest=20", "variants.outer.binding='hadamard'"):
        with pytest.raises(InputError, match=rf"another run \(its {override[:5]}"):
            run_study(read_plan(plan_file, [override]), finished, resume=True)


def test_a_study_goes_on_from_its_tables(finished, plan_file, tmp_path, monkeypatch):
    """Runs in the tables are not trained again, and their rows stay as they are, to the byte."""
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(plan_file, copy / "plan.toml")
    for name in FILES:
        shutil.copy(finished / name, copy)
    with pytest.raises(InputError, match="--resume goes on"):
        run_study(read_plan(plan_file), copy)
    monkeypatch.setattr(shared_data, "load_data", None)  # questions are those of the table
    run_study(read_plan(plan_file), copy, resume=True)
    for name in FILES:
        assert (copy / name).read_bytes() == (finished / name).read_bytes()
    with pytest.raises(InputError, match=r"another run \(its longest\)"):
        run_study(read_plan(plan_file, ["longest=20"]), copy, resume=True)
    overrides = ["seeds=[0, 1, 2]", "variants.ones={roles='one'}"]
    run_study(read_plan(plan_file, overrides), copy, resume=True)
    trained = {path.name for path in (copy / "runs").iterdir()}
    assert trained == {"transformer-2", "outer-2", "ones-0", "ones-1", "ones-2"}
    study, before = load_study(copy), load_study(finished)
    assert study.variants == ["transformer", "outer", "ones"]
    assert study.seeds("outer", "ones") == [0, 1, 2]
    pd.testing.assert_frame_equal(study.examples[list(before.examples)], before.examples)
    rows = (copy / FILES[0]).read_text().splitlines()
    assert set((finished / FILES[0]).read_text().splitlines()) < set(rows)
    assert len(rows) == 1 + 9
    assert len(study.curves) * 4 == len(before.curves) * 9


DOCUMENTS = """
name = "tiny-documents"
seeds = [0]
test = [
    { data = "english:depth=1,sentences=4-6", split = "test", n = 6 },
    { data = "english:depth=1,sentences=4-6", split = "compositional", n = 5 },
]
[variants.t5]
architecture = "t5"
[variants.tpt-d]
roles = "discrete"
n_roles = 4
[recipe]
batch_size = 4
subwords = { size = 300, texts = 20, max_source = 128, max_target = 24 }
[recipe.model]
architecture = "tpt"
d_model = 8
n_heads = 2
d_head = 4
n_layers = [1, 1]
d_ff = 16
[[recipe.stages]]
steps = 2
learning_rate = 0.01
mix = [{ data = "english:depth=1,sentences=4-6", split = "train", n = 16 }]
"""


def test_a_study_of_documents_has_every_score_of_every_summary(tmp_path):
    (tmp_path / "plan.toml").write_text(DOCUMENTS)
    plan = read_plan(tmp_path / "plan.toml")
    study = load_study(run_study(plan, tmp_path / "out"))
    assert study.examples["module"].value_counts().to_dict() == {"test": 6, "compositional": 5}
    assert {"exact_match", "rougeL", "grammatical", "faithful"} <= set(study.measures)
    model = load_model(tmp_path / "out" / "runs" / "tpt-d-0" / "model")
    rows = evaluate(model, load_data("english:depth=1,sentences=4-6", split="test", n=6))
    for measure in ("exact_match", "rougeL", "novel2"):
        scores = study.scores(measure)["tpt-d-0"][:6].to_numpy()
        assert scores == pytest.approx(rows[measure].to_numpy(float), abs=1e-4, nan_ok=True)
    table = compare_variants(study, "t5").set_index(["measure", "variant", "set"])
    gain = study.scores("rougeL")[["tpt-d-0", "t5-0"]][6:].mean()
    difference = table.loc[("rougeL", "tpt-d", "compositional"), "difference"]
    assert difference == pytest.approx(gain["tpt-d-0"] - gain["t5-0"])
    resumed = run_study(plan, tmp_path / "out", resume=True)  # as it is, to the last byte
    pd.testing.assert_frame_equal(load_study(resumed).examples, study.examples)
    with pytest.raises(InputError, match="longest = 3 is of questions"):
        run_study(read_plan(tmp_path / "plan.toml", ["longest=3"]), tmp_path / "other")


def _planted(rights, rng, seeds=range(4)):
    """A study of two variants whose runs are right with these shares."""
    n = 400
    questions = pd.DataFrame(
        {"module": ["a", "b"] * (n // 2), "source": map(str, range(n)), "target": "1"}
    ).assign(longer=0, discordant=0)
    rows = [(v, s) for v in rights for s in seeds]
    for variant, seed in rows:
        questions[f"{variant}-{seed}"] = (rng.random(n) < rights[variant]).astype(int)
    runs = pd.DataFrame(rows, columns=["variant", "seed"])
    names = runs["variant"] + "-" + runs["seed"].astype(str)
    runs = runs.assign(run=names, gigaflops=2.0, steps=10, parameters=9, seconds=1.0)
    runs.loc[runs["variant"] == "b", "gigaflops"] = 4.0
    curves = pd.concat(
        [runs.assign(metric="exact_match", step=step, value=step / 10) for step in (5, 10)]
    )
    return Study("planted", runs, curves, questions)


def test_differences_find_what_was_planted():
    rng = np.random.default_rng(0)
    study = _planted({"transformer": 0.5, "b": 0.7, "same": 0.5}, rng)
    table = compare_variants(study).set_index(["variant", "set"])
    better, equal = table.loc[("b", "all")], table.loc[("same", "all")]
    assert 0 < better["difference_low"] < 0.2 < better["difference_high"]
    assert equal["difference_low"] < 0 < equal["difference_high"]
    assert table.loc[("transformer", "all"), "difference"] == 0
    rows = subsets(study)["a"]
    assert Answers(study, rows).difference("b", "same").value == pytest.approx(
        study.examples.loc[rows, [f"b-{s}" for s in range(4)]].to_numpy().mean()
        - study.examples.loc[rows, [f"same-{s}" for s in range(4)]].to_numpy().mean()
    )


def _simulated(rng, seeds=3, questions=150, between=0.03, alike=0.0, variants="abcd"):
    """A study of variants that are equally good: runs and questions differ, and what they share."""
    easy = rng.normal(0.5, 0.2, questions)
    names = [f"{v}-{s}" for v in variants for s in range(seeds)]
    order = rng.normal(0, alike, seeds)
    rights = {
        name: rng.random(questions) < easy + rng.normal(0, between) + order[int(name[-1])]
        for name in names
    }
    table = pd.DataFrame({name: right.astype(int) for name, right in rights.items()})
    runs = pd.DataFrame(
        {"run": names, "variant": [n[0] for n in names], "seed": [int(n[-1]) for n in names]}
    )
    return Answers(Study("simulated", runs, runs, table), np.ones(questions, bool))


LONG = pytest.mark.soak
SIMULATED = [
    pytest.param({"between": 0.06}, id="seeds dominate"),
    pytest.param({"between": 0.0}, id="questions dominate", marks=LONG),
    pytest.param({"between": 0.03, "alike": 0.1}, id="seeds alike", marks=LONG),
    pytest.param({"seeds": 5}, id="five seeds", marks=LONG),
]


@pytest.mark.parametrize("settings", SIMULATED)
def test_intervals_of_contrasts_cover_the_truth(settings):
    rng = np.random.default_rng(7)
    weights = {"a": 0.5, "b": 0.5, "c": -0.5, "d": -0.5}
    intervals = [_simulated(rng, **settings).contrast(weights) for _ in range(200)]
    covered = np.mean([interval.low <= 0 <= interval.high for interval in intervals])
    assert 0.91 <= covered <= 0.99  # 95 % ± three standard errors


def test_the_interval_says_its_degrees_of_freedom():
    rng = np.random.default_rng(0)
    of_two_variants = _simulated(rng, seeds=3, between=0.5, variants="ab").difference("a", "b")
    of_four_variants = _simulated(rng, seeds=3, between=0.5, variants="abcd").difference("a", "b")
    assert of_two_variants.df == pytest.approx(2, rel=0.1)  # (2 variants − 1) × (3 seeds − 1)
    assert of_four_variants.df == pytest.approx(6, rel=0.1)
    of_one_seed = _simulated(rng, seeds=1).difference("a", "b")
    assert np.isnan([of_one_seed.low, of_one_seed.high]).all()
    assert np.isfinite(of_one_seed.value)


def test_the_figure_is_drawn_from_the_folder(finished, tmp_path):
    path = catalogue.write_figure("matched-study", sources=[finished], out=tmp_path / "m.pdf")
    assert path.stat().st_size > 10_000
    with pytest.raises(InputError, match=r"has no runs\.csv"):
        catalogue.write_figure("matched-study", sources=[tmp_path], out=tmp_path / "n.pdf")


def test_an_interval_over_seeds_covers_the_truth_and_no_less_than_it_says():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(400):
        seeds, noise = rng.normal(0, 0.02, 3), rng.normal(0, 0.01)  # the examples are the same
        estimates = [Interval(v + noise, v + noise - 0.0196, v + noise + 0.0196) for v in seeds]
        mean = over_seeds(estimates, 1000)
        covered += mean.low <= 0 <= mean.high
    assert covered >= 0.95 * 400
    assert over_seeds(estimates[:1], 1000) == estimates[0]
