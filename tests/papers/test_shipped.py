"""What ships: recipes that parse, checkpoints that answer as their cards say, and the demo."""

import re
from typing import Any

import pytest

from tprpapers.demo import run_demo
from tprpapers.scoring.captions.writing import matches
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.files import assets, hub
from tprprobe.files.jsonfiles import read_json
from tprprobe.models import count_parameters, load_model
from tprprobe.models.answers import evaluate, summarize
from tprprobe.store import open_store
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


def test_the_tp_transformer_can_do_arithmetic():
    rows = read_json(FOLDERS["tpt-c-arithmetic"] / hub.EXPECTED)["exact_match"]
    (row,) = [r for r in rows if (r["split"], r["module"]) == ("small-test", "arithmetic__mixed")]
    assert row["exact_match"] >= 0.75


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that `tprprobe demo` leaves."""
    return run_demo(tmp_path_factory.mktemp("runs") / "demo").parent


def test_the_demo_leaves_a_report_its_figures_and_a_store(demo):
    out = demo
    report = (out / "report.html").read_text()
    assert {"schlag-fig2.pdf", "schlag-fig3.pdf"} <= {file.name for file in out.iterdir()}
    assert "<svg" in report
    assert "://" not in report.replace("http://www.w3.org", "")
    store = open_store(out / "store")
    assert store.samples == 128
    assert store.control is not None


def test_the_dashboard_shows_the_run_that_the_demo_made(demo, open_page):
    """Its store is found, its clusters have names, its attention and its names are drawn."""
    overview = open_page(demo.parent)
    assert not overview.exception
    overview.session_state["fold-sizes"] = True
    sizes = {metric.label for metric in overview.run().metric}
    assert sizes >= {"samples", "tokens", "answered right"}
    roles = open_page(demo.parent, "roles")
    assert not roles.exception
    lead = next(text.value for text in roles.markdown if "of 20 clusters" in text.value)
    match = re.search(r"(\d+) of 20 clusters .*precision (0\.9\d|1\.00)", lead.replace("\\", ""))
    assert match, lead
    assert int(match[1]) >= 3
    for name, element in (("attention", "bidi_component"), ("probes", "plotly_chart")):
        page = open_page(demo.parent, name)
        assert not page.exception
        assert page.get(element), name


def test_the_demo_replaces_no_folder_that_is_not_its_own(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not empty"):
        run_demo(tmp_path)
    assert (tmp_path / "thesis.txt").exists()
