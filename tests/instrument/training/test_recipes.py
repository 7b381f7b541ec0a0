"""Recipes: read, overridden, checked key by key; and the shipped ones."""

import tomllib
from pathlib import Path

import pytest
import tomli_w

from tprprobe.errors import InputError
from tprprobe.files.settings import parse
from tprprobe.models.listing import list_presets
from tprprobe.training.recipes import Mix, Recipe, read_recipe

ROOT = Path(__file__).parents[3]
SHIPPED = sorted((ROOT / "models").glob("*/recipe.toml"))
RECIPE = """
name = "tiny"
batch_size = 8

[model]
architecture = "tp-transformer"
d_model = 16
n_layers = [2, 1]

[[stages]]
steps = 20
learning_rate = 1e-3
mix = [{ data = "mathematics:arithmetic__mixed", split = "small", n = 50, repeat = 2 }]

[[stages]]
steps = 10
learning_rate = 5e-4
decay = "cosine"
mix = [{ data = "mathematics:arithmetic__div" }]

[[evaluate]]
data = "mathematics:arithmetic__mixed"
split = "small-test"
"""


@pytest.fixture
def path(tmp_path) -> Path:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return tmp_path / "recipe.toml"


def test_a_recipe_is_read_with_its_defaults(path):
    recipe = read_recipe(path)
    assert (recipe.name, recipe.batch_size, recipe.steps) == ("tiny", 8, 30)
    assert (recipe.precision, recipe.seed, recipe.evaluate_every) == ("fp32", 0, 1000)
    assert recipe.stages[0].mix == [
        Mix(data="mathematics:arithmetic__mixed", split="small", n=50, repeat=2)
    ]
    assert (recipe.stages[0].decay, recipe.stages[1].decay) == ("constant", "cosine")
    assert recipe.evaluate[0].split == "small-test"


def test_overrides_reach_every_place(path):
    recipe = read_recipe(
        path,
        [
            "batch_size=64",
            "name=other name",
            "model.d_model=32",
            "model.roles=none",
            "stages.0.steps=5",
            "stages.1.mix.0.n=7",
            "stages.-1.decay='constant'",
            "optimizer.betas=[0.5, 0.9]",
            "evaluate=[]",
        ],
    )
    assert (recipe.batch_size, recipe.name) == (64, "other name")
    assert (recipe.model["d_model"], recipe.model["roles"]) == (32, "none")
    assert [stage.steps for stage in recipe.stages] == [5, 10]
    assert (recipe.stages[1].mix[0].n, recipe.stages[1].decay) == (7, "constant")
    assert recipe.optimizer.betas == (0.5, 0.9)
    assert recipe.evaluate == []


def test_what_training_saves_is_the_recipe_again(path, tmp_path):
    recipe = read_recipe(path, ["optimizer.name=muon"])
    saved = tomli_w.dumps(recipe.model_dump(exclude_none=True))
    assert parse(Recipe, tomllib.loads(saved), "saved") == recipe


def refusal(path: Path, *overrides: str) -> str:
    with pytest.raises(InputError) as refused:
        read_recipe(path, list(overrides))
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("batchsize=3", "unknown key 'batchsize'; did you mean 'batch_size'"),
        ("stages.1.learnig_rate=1", "did you mean 'stages.1.learning_rate'"),
        ("=3", "unknown key ''"),
        ("batch_size=0", "batch_size: Input should be greater than 0 (given: 0)"),
        ("batch_size=many", "batch_size: Input should be a valid integer"),
        ("optimizer.name=sgd", "optimizer.name: unknown optimizer 'sgd'"),
        ("optimizer.betas=[0.9, 1.0]", "optimizer.betas.1: Input should be less than 1"),
        ("stages=[]", "stages: List should have at least 1 item"),
        ("batch_size", "--set 'batch_size': give key=value"),
        ("stages.7.steps=1", "the recipe has no place 'stages.7.steps'"),
    ],
)
def test_wrong_keys_and_values_are_refused_with_the_nearest(override, message, path):
    assert message in refusal(path, override)


def test_recipes_are_shipped():
    presets = {path.parent.name for path in SHIPPED} & {*list_presets()}
    by_data = {"tpgn", "cnn-lstm"}
    by_task = {
        name
        for name, preset in list_presets().items()
        if preset.settings["architecture"] == "bottleneck"
    }
    assert presets >= {*list_presets()} - by_data - by_task
