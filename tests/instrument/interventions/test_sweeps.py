"""Sweeps and swaps by a recipe: bad recipes, tables, going on after a cut, the command, the figures."""

import json

import pandas as pd
import pytest
from planted.cli import run_command

from tprprobe import dashboard as views
from tprprobe.data.pairs import encode_pairs
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.interventions import Recipe, read_recipe, sweep
from tprprobe.interventions.sweep_recipes import read_references
from tprprobe.interventions.sweeps import TABLE
from tprprobe.models.answers import exact_matches
from tprprobe.site.hooks import intervene

SITES = ["encoder.*.self.role"]


@pytest.fixture(scope="module")
def recipe():
    edits = ["zero", "mean", "resample", "snap"]
    return Recipe(n=12, reference=6, sites=SITES, edits=edits, clusters=[2], strengths=[0.5, 1.0])


@pytest.fixture(scope="module")
def folder(fluent, divisions, recipe, tmp_path_factory):
    out = tmp_path_factory.mktemp("sweeps") / "roles"
    sweep(fluent, divisions, recipe, out)
    return out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sites = ['a']\nedits = ['zerro']", r"r\.toml: unknown edit 'zerro'"),
        ("sites = ['a']\nedits = ['snap']", "clusters"),
        ("sites = [", "not TOML"),
    ],
)
def test_a_bad_recipe_is_one_line(tmp_path, text, message):
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_recipe(path)
    assert "\n" not in str(error.value)


def test_a_sweep_has_a_row_a_point_and_agrees_with_single_passes(fluent, divisions, recipe, folder):
    table = pd.read_csv(folder / TABLE)
    layers, heads, edits, strengths = 2, 2, 4, 2
    assert len(table) == 1 + layers * heads * edits * strengths
    pairs = encode_pairs(divisions[:12], fluent.vocabulary)
    unedited = table[table["edit"] == "none"].iloc[0]
    assert unedited["exact_match"] == pytest.approx(exact_matches(fluent, pairs)[0].mean())
    assert unedited["change"] == 0
    reference_pairs = encode_pairs(divisions[12:], fluent.vocabulary)
    site = "encoder.1.self.role"
    reference = read_references(fluent, reference_pairs, [site])[site]
    for edit, k in (("zero", 0), ("mean", 0), ("snap", 2)):
        with intervene(fluent, {site: reference.edit(edit, k, heads=[1], strength=0.5)}):
            expected = exact_matches(fluent, pairs)[0].mean()
        row = table.query("site == @site and head == 1 and edit == @edit and strength == 0.5")
        assert row["exact_match"].item() == pytest.approx(expected)
    assert (table["change_low"] <= table["change"]).all()


def test_sites_together_are_one_point(fluent, divisions):
    recipe = Recipe(n=12, reference=6, sites=SITES, edits=["one"], heads="all", together=True)
    table = sweep(fluent, divisions, recipe)
    assert table["site"].tolist() == ["none", "encoder.0.self.role + encoder.1.self.role"]


def test_an_unknown_site_and_too_few_examples_are_told(fluent, divisions, recipe):
    with pytest.raises(InputError, match="did you mean"):
        sweep(fluent, divisions, recipe.model_copy(update={"sites": ["encoder.0.self.rolle"]}))
    with pytest.raises(InputError, match="the recipe asks for 12"):
        sweep(fluent, divisions[:5], recipe)


def test_figures_of_a_sweep(folder, tmp_path):
    for name in ("snap", "ablation-map"):
        assert catalogue.write_figure(name, None, [folder], {}, tmp_path / f"{name}.pdf").is_file()
    assert catalogue.find_inputs(folder.parent)["sweeps"] == [folder]
    with pytest.raises(InputError, match=r"holds no sweep\.csv"):
        catalogue.make("snap", sweeps=[tmp_path])


def test_a_sweep_without_full_strength_is_drawn_at_its_largest(tmp_path):
    columns = {"site": "encoder.0.self.role", "n": 50, "exact_match": 0.5, "k": 0}
    rows = pd.DataFrame(
        columns | {"head": head, "edit": "zero", "strength": strength, "change": -strength / 2}
        for head in (0, 1)
        for strength in (0.25, 0.5)
    )
    rows = rows.assign(change_low=rows["change"] - 0.1, change_high=rows["change"] + 0.1)
    rows.to_csv(tmp_path / "sweep.csv", index=False)
    figure = catalogue.make("ablation-map", sweeps=[tmp_path])
    assert figure.axes[0].get_title(loc="left") == "zero × 0.5"
    assert [text.get_text() for text in figure.axes[0].texts] == ["−25", "−25"]
    interventions = views.interventions.read_interventions(tmp_path)
    assert views.interventions.show_interventions(interventions["zero"], "zero").title.endswith(
        "(zero) × 0.5"
    )


def test_the_command_writes_json_and_refuses_in_one_line(checkpoint, questions, tmp_path):
    path = tmp_path / "one.toml"
    path.write_text(
        f"data = '{questions}'\nsplit = 'interpolate'\nn = 6\nreference = 4\n"
        "sites = ['decoder.*.role']\nedits = ['one']\nheads = 'all'\n"
    )
    arguments = ["intervene", path, "--ckpt", checkpoint, "--out", tmp_path / "out"]
    rows = json.loads(run_command(*arguments, "--json").stdout)
    assert [row["edit"] for row in rows] == ["none", "one", "one"]
    path.write_text("sites = 3")
    with pytest.raises(InputError) as error:
        run_command(*arguments)
    assert "\n" not in str(error.value)
