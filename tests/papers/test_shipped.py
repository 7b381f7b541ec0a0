"""What ships: recipes that parse, and checkpoints that answer as their cards say."""

from typing import Any

import pytest

from tprpapers.scoring.captions.writing import matches
from tprprobe.data import load_data
from tprprobe.files import assets, hub
from tprprobe.files.jsonfiles import read_json
from tprprobe.models import count_parameters, load_model
from tprprobe.models.answers import evaluate, summarize
from tprprobe.training.recipes import read_recipe

FOLDERS = {
    name: folder
    for name, folder in assets.available("models").items()
    if (folder / hub.RECIPE).is_file()  # models/real holds what other people trained
}
TRAINED = [name for name, folder in FOLDERS.items() if (folder / hub.WEIGHTS).is_file()]


@pytest.mark.parametrize("name", FOLDERS)
def test_every_recipe_parses_and_makes_a_model(name):
    recipe = read_recipe(FOLDERS[name] / hub.RECIPE)
    assert recipe.name == name
    assert count_parameters(recipe.model) > 0


@pytest.mark.parametrize("name", TRAINED)
def test_a_checkpoint_answers_as_its_card_says(name, request):
    expected = read_json(FOLDERS[name] / hub.EXPECTED)["recompute"]
    spec = expected["data"]
    if spec.startswith("captions:coco"):
        spec = spec.replace("coco", str(request.getfixturevalue("shared") / "data" / "coco"))
    data = load_data(spec, split=expected["split"], n=expected["n"])
    rows = evaluate(load_model(name), data)
    assert int(_right(rows).sum()) == expected["correct"]
    if "CIDEr-D" in expected:
        cider = summarize(rows)["scores"]["CIDEr-D"]["value"]
        assert cider == pytest.approx(expected["CIDEr-D"], abs=1e-6)
    if "rougeL" in expected:
        assert rows["rougeL"].mean() == pytest.approx(expected["rougeL"], abs=1e-6)


def _right(rows: Any) -> Any:
    if "references" in rows:
        return matches(rows)
    return rows["correct"] if "correct" in rows else rows["exact_match"]


def test_the_checkpoints_are_small():
    files = [file for name in TRAINED for file in FOLDERS[name].iterdir()]
    assert all(file.stat().st_size <= 10e6 for file in files)
    assert sum(file.stat().st_size for file in files) < 50e6
