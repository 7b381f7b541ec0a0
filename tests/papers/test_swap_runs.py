"""Swaps by a recipe: bad recipes, tables, going on after a cut, the figure."""

import pandas as pd
import pytest

from tprpapers.swaps.donor_roles import DONORS
from tprpapers.swaps.swap_recipes import SwapRecipe, read_recipe
from tprpapers.swaps.swap_runs import run_swaps
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.files.settings import read_toml
from tprprobe.interventions.sweep_recipes import read_recipe as read_sweep


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sites = ['a']\nedits = ['zero']\nswaps = ['place']", "unknown key 'sites'"),
        ("swaps = ['places']", "did you mean 'place'"),
        ("swaps = ['place']\ndonors = true", r"donors needs swaps = \['polarity'\]"),
    ],
)
def test_a_bad_recipe_is_one_line(tmp_path, text, message):
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_recipe(path)
    assert "\n" not in str(error.value)


def test_recipes_that_ship_can_be_read(root):
    recipes = sorted((root / "benchmarks" / "interventions").glob("*.toml"))
    assert len(recipes) == 2
    for path in recipes:
        assert read_recipe(path) if "swaps" in read_toml(path) else read_sweep(path)


def test_swaps_by_a_recipe_and_their_figure(fluent, divisions, tmp_path):
    recipe = SwapRecipe(n=8, reference=6, swaps=["polarity", "argument"], whole=True, donors=True)
    out = tmp_path / "swaps"
    table = run_swaps(fluent, divisions, recipe, out)
    assert set(table["model"]) == {"tiny", "untrained:tiny"}
    assert set(table.query("vectors != 'hidden'")["layer"]) == {-1}
    places = set(table.query("kind == 'polarity'")["at"])
    assert set(DONORS) < places
    pd.testing.assert_frame_equal(table, run_swaps(fluent, divisions, recipe, out, resume=True))
    everything = table.assign(subset="answered")  # a tiny model answers nothing
    everything.to_csv(out / "swaps.csv", index=False)
    figure = catalogue.make("swap", swaps=[out])
    assert len(figure.axes) == table["kind"].nunique()  # a panel a kind that was exchanged
    catalogue.write_figure("swap", None, [out], {}, tmp_path / "swap.pdf")


def test_examples_without_a_pair_are_one_line(fluent, make_data, tmp_path):
    data = make_data([("2 + 3", "5"), ("4 + 4", "8")])
    recipe = SwapRecipe(n=2, swaps=["polarity"])
    with pytest.raises(InputError, match="none of 2 examples of listed has a pair of: polarity"):
        run_swaps(fluent, data, recipe, tmp_path / "none")
    assert not (tmp_path / "none").exists()
