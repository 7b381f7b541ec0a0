"""Every key of recipes, plans, sweeps and tasks changes something, or is refused."""

from collections.abc import Mapping
from typing import Any

import pytest

from tprpapers.study.plans import Plan
from tprpapers.swaps.swap_recipes import SwapRecipe
from tprprobe.analyses.probing.task import Task
from tprprobe.errors import InputError
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.interventions.sweep_recipes import Recipe as Sweep
from tprprobe.training.recipes import Mix, Optimizer, Recipe, Stage, SubwordSettings, WordSettings

MIX = {"data": "mathematics:arithmetic__div"}
STAGE = {"steps": 1, "learning_rate": 0.1, "mix": [MIX]}
RECIPE = {"name": "a", "model": {"preset": "tpgn"}, "stages": [STAGE]}
PLAN = {
    "name": "a",
    "seeds": [0],
    "recipe": {"model": {"architecture": "tp-transformer"}, "stages": [STAGE]},
    "variants": {"one": {}},
    "test": [MIX],
}
TASK = {"name": "a", "title": "A", "spans": 1}
SWEEP, SWAPS = {"sites": ["*"], "edits": ["zero"]}, {"swaps": ["polarity"]}
DONORS = {**SWAPS, "donors": True}
CHANGED_VALUES: dict[type[Settings], Mapping[str, Any]] = {
    Mix: {"data": "english", "split": "train", "n": 3, "seed": 1, "repeat": 2},
    Stage: {
        "steps": 2, "learning_rate": 0.2, "warmup": 1, "decay": "cosine", "mix": [MIX, MIX],
    },
    SubwordSettings: {"file": "f", "size": 9, "texts": 9, "max_source": 9, "max_target": 9},
    WordSettings: {"threshold": 9, "glove": "f"},
    Optimizer: {
        "name": "muon", "betas": [0.1, 0.2], "eps": 0.1, "weight_decay": 0.1, "clip": 1.0,
    },
    Recipe: {
        "name": "b", "model": {"preset": "cnn-lstm"}, "stages": [STAGE, STAGE], "batch_size": 2,
        "precision": "bf16", "seed": 1, "optimizer": {"name": "muon"}, "label_smoothing": 0.1,
        "subwords": {}, "words": {}, "evaluate": [MIX], "evaluate_every": 2, "save_every": 2,
        "keep_every": 2,
        "keep_spaced": 3, "patience": 2, "units": "symbols",
    },
    Plan: {
        "name": "b", "seeds": [1], "longest": 9, "recipe": {"model": {}, "stages": [STAGE]},
        "variants": {"two": {}}, "test": [{"data": "english"}],
    },
    Sweep: {
        "data": "english", "split": "train", "n": 3, "reference": 3, "seed": 1, "sites": ["a"],
        "edits": ["one"], "heads": "all", "together": True, "strengths": [0.5], "clusters": [2],
    },
    SwapRecipe: {
        "data": "english", "split": "train", "n": 3, "reference": 3, "seed": 1, "swaps": ["place"],
        "whole": True, "donors": True,
    },
    Task: {
        "name": "b", "title": "B", "spans": 2, "labels": ["x"], "unscored": ["x"], "column": "c",
        "source": "s",
    },
}  # fmt: skip
BASES: list[tuple[type[Settings], Mapping[str, Any], set[str]]] = [  # and what each refuses
    (Mix, MIX, set()),
    (Stage, STAGE, set()),
    (Stage, {**STAGE, "decay": "adafactor"}, {"warmup"}),
    (SubwordSettings, {}, set()),
    (SubwordSettings, {"file": "g"}, {"size", "texts"}),
    (WordSettings, {}, set()),
    (Optimizer, {}, set()),
    (Optimizer, {"name": "adafactor"}, {"betas", "eps", "weight_decay"}),
    (Recipe, RECIPE, {"patience"}),
    (Recipe, {**RECIPE, "words": {"threshold": 2}}, {"subwords", "units", "patience"}),
    (Recipe, {**RECIPE, "subwords": {"size": 400}}, {"units", "words", "patience"}),
    (Plan, PLAN, set()),
    (Sweep, SWEEP, {"clusters"}),
    (SwapRecipe, SWAPS, {"reference"}),
    (SwapRecipe, DONORS, {"swaps"}),
    (Task, TASK, set()),
]
CASES = [
    (kind, base, key, refused)
    for kind, base, refused in BASES
    for key in kind.model_fields
    if base.get(key) != CHANGED_VALUES[kind][key]
]


@pytest.mark.parametrize(("kind", "base", "key", "refused"), CASES)
def test_a_key_changes_the_settings_or_is_refused(kind, base, key, refused):
    values = {**base, key: CHANGED_VALUES[kind][key]}
    if key in refused:
        with pytest.raises(InputError) as error:
            parse(kind, values, "here")
        assert "\n" not in str(error.value)
    else:
        assert parse(kind, values, "here") != parse(kind, base, "here")


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Sweep, {**SWEEP, "head": "all"}, "unknown key 'head'; did you mean 'heads'"),
        (Recipe, {**RECIPE, "evaluate": [{**MIX, "repeat": 2}]}, "repeat changes nothing in what"),
        (Plan, {**PLAN, "test": [{**MIX, "repeat": 2}]}, "repeat changes nothing in what is tested"),
        (Plan, {**PLAN, "recipe": {"seed": 3}}, r"recipe\.seed is the run's own"),
        (Plan, {**PLAN, "test": [{"dat": 1}]}, r"'test\.0\.dat'; did you mean 'test\.0\.data'"),
        (Recipe, {**RECIPE, "stages": [{"steps": 1}]}, r"stages\.0\.learning_rate: Field required$"),
        (Recipe, {**RECIPE, "stages": [{**STAGE, "decay": "adafactor", "warmup": 3}]}, r"stages\.0: w"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_one_line(kind, values, message):
    with pytest.raises(InputError, match=message) as error:
        parse(kind, values, "here")
    assert "\n" not in str(error.value)


def test_a_default_that_is_written_down_is_accepted():
    """As training does, which saves every setting of its recipe."""
    assert parse(Sweep, {**SWEEP, "strengths": [1.0], "heads": "each"}, "here").sites == ["*"]
    adafactor = parse(Optimizer, {"name": "adafactor"}, "here")
    assert parse(Optimizer, adafactor.model_dump(), "here") == adafactor


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(InputError, match=r"no\.toml: No such file"):
        read_toml(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(InputError, match=r"bad\.toml is not TOML"):
        read_toml(tmp_path / "bad.toml")
