"""The film of learning: its page is of its tables, its predictions are as written, its fits find what was planted."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from studies.film.events import MEASURED, PREDICTIONS, judge, read_measured
from studies.film.film_designs import PairDesign, gain
from studies.film.filmed_models import list_models
from studies.pages import film_page
from studies.pages.headlines import finish_page
from tprprobe.files.settings import read_toml
from tprprobe.statistics import Interval

ROOT = Path(__file__).parents[2]
VERSIONS = Path(__file__).with_name("film_versions.json")


def test_every_number_of_the_page_comes_from_the_tables():
    page = (ROOT / "studies/results/film.md").read_text("utf-8")
    assert page == finish_page("film", film_page.make_page(Path()))


def test_predictions_are_as_they_were_written():
    listed = read_toml(PREDICTIONS)["prediction"]
    digests = {
        each["id"]: hashlib.sha256(json.dumps(each, sort_keys=True).encode()).hexdigest()[:12]
        for each in listed
    }
    assert digests == json.loads(VERSIONS.read_text("utf-8"))


def test_the_tables_have_three_seeds_of_thirty_steps_or_more():
    counts = read_measured().groupby(["variant", "seed"])["step"].nunique()
    assert len(counts) == len(list(list_models())) == 9
    assert counts.min() >= 30
    assert MEASURED.stat().st_size < 400_000


def test_variants_differ_in_their_roles_alone():
    one, other = (each.recipe.model_dump() for each in list(list_models())[1:3])
    assert {key for key in one if one[key] != other[key]} == {"name", "model"}
    assert {k for k in one["model"] if one["model"][k] != other["model"].get(k)} == {"architecture"}


@pytest.mark.parametrize("bound", [True, False])
def test_fits_find_planted_bindings_of_unseen_pairs_and_none_where_all_is_added(bound):
    rng = np.random.default_rng(0)
    filler, role = rng.integers(6, size=2000), rng.integers(5, size=2000)
    f, r = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    states = f[filler] @ rng.normal(size=(2, 20)) + r[role] @ rng.normal(size=(2, 20))
    states += 0.1 * rng.normal(size=states.shape)
    if bound:
        states += np.einsum("nj,nk,jkd->nd", f[filler], r[role], rng.normal(size=(2, 2, 20)))
    withheld = np.isin(np.arange(30), [3, 17, 24])
    unit = np.arange(2000)
    design = PairDesign(filler, role, unit, unit, rng.random(2000) < 0.4, withheld, (3, 3))
    fit = design.fit(states)
    seen, unseen = (gain(design, fit, 3, of) for of in (~design.has_withheld, design.has_withheld))
    if bound:
        assert seen[1] > 0.2
        assert unseen[1] > 0.1
    else:
        assert abs(seen[0]) < 0.005


def test_a_prediction_is_judged_by_its_interval():
    cases = {(0.1, 0.2): "holds", (-0.1, 0.2): "undecided", (-0.2, 0.0): "fails"}
    for (low, high), outcome in cases.items():
        assert judge(Interval(0.0, low, high), 0) == outcome
        assert judge(Interval(0.0, -high, -low), 0, -1) == outcome
