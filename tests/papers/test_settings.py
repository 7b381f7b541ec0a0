"""Keys of recipes, plans and sweeps that would change nothing, or that there are not, are refused in a line."""

import pytest

from tprpapers.study.plans import Plan
from tprpapers.swaps.swap_recipes import SwapRecipe
from tprprobe.errors import InputError
from tprprobe.files.settings import parse, read_toml
from tprprobe.interventions.sweep_recipes import Recipe as Sweep
from tprprobe.training.recipes import Optimizer, Recipe, Stage, SubwordSettings

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
SWEEP, SWAPS = {"sites": ["*"], "edits": ["zero"]}, {"swaps": ["polarity"]}
REFUSED = [  # what changes nothing beside these settings
    (Stage, {**STAGE, "decay": "adafactor"}, {"warmup": 1}),
    (SubwordSettings, {"file": "g"}, {"size": 9, "texts": 9}),
    (Optimizer, {"name": "adafactor"}, {"betas": [0.1, 0.2], "eps": 0.1, "weight_decay": 0.1}),
    (Recipe, RECIPE, {"patience": 2}),
    (Recipe, {**RECIPE, "words": {"threshold": 2}}, {"subwords": {}, "units": "symbols"}),
    (Recipe, {**RECIPE, "subwords": {"size": 400}}, {"words": {}, "units": "symbols"}),
    (Sweep, SWEEP, {"clusters": [2]}),
    (SwapRecipe, SWAPS, {"reference": 3}),
    (SwapRecipe, {**SWAPS, "donors": True}, {"swaps": ["place"]}),
]


@pytest.mark.parametrize(
    ("kind", "values"),
    [(kind, {**base, key: value}) for kind, base, keys in REFUSED for key, value in keys.items()],
)
def test_a_key_that_would_change_nothing_is_refused(kind, values):
    with pytest.raises(InputError) as error:
        parse(kind, values, "here")
    assert "\n" not in str(error.value)


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
