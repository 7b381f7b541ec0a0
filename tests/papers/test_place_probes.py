"""Bilinear probes are better where places and labels are bound, and worse where they are not."""

import json

import numpy as np
import pytest
import torch
from planted.bindings import STATE, left, plant_bindings
from planted.cli import run_command

import tprprobe as tp
from tprpapers.lee import place_probes
from tprpapers.lee.place_probes import BilinearProbe, Binding, PlaceProbe, as_grid, fit_linear


@pytest.fixture(scope="module", autouse=True)
def _few_steps():
    """Probes that stop early: what they are compared for shows long before their optimum."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(place_probes, "STEPS", 30)
        patch.setattr(place_probes, "PENALTIES", (1e-2,))
        yield


@pytest.fixture(scope="module")
def bound(tmp_path_factory):
    """Fillers of few dimensions bound to independent places, with a twin that is noise."""
    folder = tmp_path_factory.mktemp("grids") / "store"
    return plant_bindings(folder, left, n=120, noise=0.3, width=20, ranks=(3, 6), twin=True)


@pytest.fixture(scope="module")
def rows(bound):
    controls = ("shuffled", "untrained")
    probe = BilinearProbe(rank="6x3")
    return tp.probe(bound, "token", probe, sites=STATE, controls=controls).set_index("control")


def real(store, **form):
    rows = tp.probe(store, "token", BilinearProbe(**form), sites=STATE, controls=())
    return rows.set_index("control").loc["real", "accuracy"]


def test_fillers_bound_to_places_are_read_best_by_a_bilinear_probe(bound, rows):
    bilinear = rows.loc["real", "accuracy"]
    assert bilinear > 0.5
    assert bilinear > real(bound, form="linear") + 0.02
    assert bilinear > real(bound, rank="6x3", form="svd") + 0.02


def test_controls_know_nothing(rows):
    assert rows.loc["real", "beyond"]
    assert "identity" not in rows.index  # the words are what is asked about
    for name in ("shuffled", "untrained"):
        assert rows.loc[name, "accuracy"] < rows.loc["majority", "accuracy"] + 0.1


def test_ranks_are_chosen_and_parameters_counted():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(100, 5)), 3, axis=0)
    X = np.column_stack([np.tile(np.arange(3), 100), x])
    y = np.where(X[:, 0] == 1, x[:, 0] > 0, x[:, 1] > 0).astype(int)
    probe = BilinearProbe().fit(X, y)
    assert (probe.predict(X) == y).mean() > 0.9
    assert probe.rank_[0] <= 3
    assert probe.rank_[1] <= 2
    assert BilinearProbe(form="linear").fit(X, y).n_parameters_ == 3 * 2 * 5 + 6
    vectors, labels = as_grid(X, y)
    assert (vectors == x[::3]).all()
    assert (labels == y.reshape(100, 3)).all()


def test_the_higher_order_svd_of_a_bound_probe_is_itself():
    rng = torch.Generator().manual_seed(0)
    binding = Binding(*(torch.randn(size, generator=rng) for size in ((6, 2), (5, 3), (2, 3, 7))))
    near = Binding.nearest(binding.weights, (2, 3))
    assert torch.allclose(near.weights, binding.weights, atol=1e-4)
    probe = PlaceProbe(binding.weights, torch.zeros(6, 5))
    assert torch.allclose(probe.cut(6).weights, probe.weights, atol=1e-4)
    assert not torch.allclose(probe.cut(3).weights, probe.weights, atol=1e-1)


def test_linear_probes_are_logistic_regressions(monkeypatch):
    from sklearn.linear_model import LogisticRegression

    monkeypatch.setattr(place_probes, "STEPS", 150)
    monkeypatch.setattr(place_probes, "PENALTIES", (1e-3, 1e-4))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    x[:, 0] += y
    state, labels = torch.as_tensor(x), torch.as_tensor(y)[:, None]
    probe = fit_linear(state, labels, 3, (state, labels))
    rival = LogisticRegression(C=1 / (1e-4 * 300), tol=1e-8, max_iter=1000).fit(x, y)
    weights = probe.weights[0] - probe.weights[0].mean(0)
    expected = rival.coef_ - rival.coef_.mean(0)
    assert np.allclose(weights.numpy(), expected, atol=5e-3)


def test_the_command_and_its_options(tmp_path, monkeypatch):
    store, out = plant_bindings(tmp_path / "store", left, n=60, width=8), tmp_path / "out"
    args = ["probe", "token", store.path, "--probe", "bilinear", "--sites", STATE]
    args += ["--rank", "2x2", "--control", "shuffled", "--out", out]
    printed = json.loads(run_command(*args, "--json").stdout)
    assert {row["control"] for row in printed} == {"real", "shuffled", "majority"}
    with pytest.raises(tp.InputError, match="--resume"):
        run_command(*args)
    run_command(*args, "--resume")
    monkeypatch.setenv("COLUMNS", "300")
    help_text = " ".join(run_command("probe", "--help").stdout.split())
    assert "Of bilinear: Its dimensions" in help_text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["token", "--seeds", "3"], "seeds: these probes have no seed"),
        (["token", "--form", "square"], "unknown form 'square'"),
        (["token", "--rank", "0x2"], "rank"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(bound, arguments, message):
    task, *options = arguments
    args = ["probe", task, bound.path, "--probe", "bilinear", "--sites", STATE, *options]
    with pytest.raises(tp.InputError, match=message) as error:
        run_command(*args)
    assert "\n" not in str(error.value)
