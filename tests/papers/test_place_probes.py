"""Grids of labels: a bilinear probe is better where places and labels are bound, and worse where they are not."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from planted.bindings import HIDDEN, STATE, left, plant_bindings
from planted.questions import plant
from typer.testing import CliRunner

import tprprobe as tp
from tprpapers.lee.labelled_places import read_places
from tprpapers.lee.place_probes import Binding, PlaceProbe, fit_linear, probe_places
from tprprobe.cli import app


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    """Fillers of few dimensions bound to independent places, with a twin that is noise."""
    folder = tmp_path_factory.mktemp("grids") / "store"
    return plant_bindings(folder, left, n=300, noise=0.3, width=40, ranks=(3, 6), twin=True)


@pytest.fixture(scope="module")
def rows(bound):
    found = probe_places(bound, "token", STATE, rank="6x3")
    return found.set_index(["probe", "control"])


def test_fillers_bound_to_places_are_read_best_by_a_bilinear_probe(rows):
    bilinear = rows.loc[("bilinear", "real")]
    assert bilinear["beyond_linear_low"] > 0
    assert bilinear["beyond_svd_low"] > 0
    assert bilinear["accuracy"] > 0.5
    assert bilinear["parameters"] < 0.7 * rows.loc[("linear", "real"), "parameters"]
    assert (bilinear["places"], bilinear["labels"], bilinear["rank"]) == (6, 8, "6×3")
    assert rows.loc[("svd", "real"), "rank"] == "18"


def test_controls_know_nothing(rows):
    majority = rows.loc[("majority", "real"), "accuracy"]
    assert rows.loc[("bilinear", "real"), "beyond_control_low"] > 0
    for name in ("shuffled", "untrained"):
        assert rows.loc[("bilinear", name), "accuracy"] < majority + 0.1


def test_free_vectors_of_places_and_labels_are_no_bilinear_form(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=700, noise=0.1, width=64, ranks=(8, 6))
    found = probe_places(store, "token", STATE, rank="2x2", controls=())
    row = found[found["probe"] == "bilinear"].iloc[0]
    assert row["beyond_linear_high"] < 0


def test_labels_drawn_by_symbol_are_a_control_where_labels_are_not_the_symbols_own(tmp_path):
    def tag(fillers):
        return [("x", "y")[(ord(each) + i) % 2] for i, each in enumerate(fillers)]

    store = plant_bindings(tmp_path / "store", left, n=120, ranks=(4, 3), tag=tag)
    grid = read_places(store, STATE, "tag")
    assert not grid.is_of_types
    assert read_places(store, STATE, "token").is_of_types
    drawn = grid.with_labels_by_type(0)
    assert drawn.is_of_types
    assert ((drawn.labels >= 0) == (grid.labels >= 0)).all()
    found = probe_places(store, "tag", STATE, rank="2x1", controls=["control"])
    assert set(found["control"]) == {"real", "control"}


def test_ranks_are_chosen_and_controls_are_choices(bound):
    found = probe_places(bound, "token", STATE, controls=["shuffled"])
    assert set(found["control"]) == {"real", "shuffled"}
    chosen = found.loc[found["probe"] == "bilinear", "rank"].iloc[0]
    places, labels = map(int, chosen.split("×"))
    assert places <= 6
    assert 2 <= labels <= 8


def test_the_higher_order_svd_of_a_bound_probe_is_itself():
    rng = torch.Generator().manual_seed(0)
    binding = Binding(*(torch.randn(size, generator=rng) for size in ((6, 2), (5, 3), (2, 3, 7))))
    near = Binding.nearest(binding.weights, (2, 3))
    assert torch.allclose(near.weights, binding.weights, atol=1e-4)
    probe = PlaceProbe(binding.weights, torch.zeros(6, 5))
    assert torch.allclose(probe.cut(6).weights, probe.weights, atol=1e-4)
    assert not torch.allclose(probe.cut(3).weights, probe.weights, atol=1e-1)


def test_linear_probes_are_logistic_regressions():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    x[:, 0] += y
    state, labels = torch.as_tensor(x), torch.as_tensor(y)[:, None]
    found = fit_linear(state, labels, 3, (state, labels))
    rival = LogisticRegression(C=1 / (1e-4 * 300), tol=1e-8, max_iter=1000).fit(x, y)
    own = found.weights[0] - found.weights[0].mean(0)
    other = rival.coef_ - rival.coef_.mean(0)
    assert np.allclose(own.numpy(), other, atol=5e-3)


def test_symbols_of_questions_and_their_gold_structure_are_grids(tmp_path):
    store = plant(tmp_path / "store", 60)
    grid = read_places(store, store.sites[0], "kind", "all_states")
    assert "digit" in grid.inventory
    assert (grid.labels >= -1).all()
    assert grid.vectors.shape[0] == grid.labels.shape[0]


def test_states_are_last_first_or_all(bound):
    last, first, mean = (
        read_places(bound, HIDDEN, "token", mode).vectors
        for mode in ("last_state", "first_state", "all_states")
    )
    tokens, vectors = bound.tokens, bound.read(HIDDEN)
    rows = np.flatnonzero(tokens["sample"] == 3)
    assert np.allclose(last[3], vectors[rows[-1]], atol=1e-5)
    assert np.allclose(first[3], vectors[rows[0]], atol=1e-5)
    assert np.allclose(mean[3], vectors[rows].mean(0), atol=1e-5)


def test_the_command_keeps_and_goes_on(bound, tmp_path):
    out = tmp_path / "out"
    args = ["probe", "token", str(bound.path), "--probe", "bilinear", "--sites", STATE]
    args += ["--rank", "2x2", "--control", "shuffled", "--out", str(out)]
    told = json.loads(CliRunner().invoke(app, [*args, "--json"]).stdout)
    kept = pd.read_csv(out / "rows.csv")
    assert [row["accuracy"] for row in told] == pytest.approx(kept["accuracy"].tolist())
    assert {row["probe"] for row in told} == {"bilinear", "linear", "svd", "majority"}
    again = CliRunner().invoke(app, args)
    assert isinstance(again.exception, tp.InputError)
    assert CliRunner().invoke(app, [*args, "--resume"]).exit_code == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["tokn"], "did you mean 'token'"),
        (["token", "--control", "prefix"], "unknown control of a grid"),
        (["token", "--seeds", "3"], "--seeds: not of bilinear probes"),
        (["token", "--span-mode", "middle"], "span mode"),
        (["token", "--rank", "0x2"], "rank"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(bound, given, said):
    task, *more = given
    args = ["probe", task, str(bound.path), "--probe", "bilinear", "--sites", STATE, *more]
    done = CliRunner().invoke(app, args)
    assert isinstance(done.exception, tp.InputError)
    assert said in str(done.exception)
    assert "\n" not in str(done.exception)


def test_a_rank_is_of_bilinear_probes_alone(bound):
    done = CliRunner().invoke(app, ["probe", "pos", str(bound.path), "--rank", "2x2"])
    assert "--rank: only of --probe bilinear" in str(done.exception)
