"""Schemes of roles are found and named, and nothing is found where there is nothing."""

import json
from typing import Any

import numpy as np
import pytest
from planted.bindings import HIDDEN, STATE, both, left, plant_bindings, right
from planted.cli import run_command
from planted.stores import write_store
from scipy.sparse import csr_array

import tprprobe as tp
from tprprobe.analyses.decomposition import load_roles
from tprprobe.analyses.decomposition.role_findings import read_searched
from tprprobe.analyses.decomposition.role_schemes import join_smallest, read_scheme
from tprprobe.analyses.decomposition.role_search import encode_shortest, name_terms

FIELDS = ("left", "right", "length", "tree")


def vowel(fillers):
    return ["vowel" if (ord(filler) + i) % 3 else "none" for i, filler in enumerate(fillers)]


SCHEMES = {"left": left, "right": right, "left*right": both, "tree": join_smallest}


@pytest.mark.parametrize(("name", "roles"), SCHEMES.items())
def test_planted_schemes_are_named(name, roles, tmp_path):
    store = plant_bindings(tmp_path / "store", roles, n=900, noise=0.7, ranks=(8, 8), seed=2)
    search = tp.search_roles(store, STATE, FIELDS)
    assert search.found == name
    [row] = search.schemes[search.schemes["is_found"]].to_dict("records")
    assert 0.4 < row["r2_low"] < row["r2"] < row["r2_high"]
    assert row["stability"] > 0.5


def test_columns_are_fields_and_tokens_units(tmp_path):
    store = plant_bindings(tmp_path / "store", vowel, n=300, ranks=(8, 2), vowel=vowel)
    search = tp.search_roles(store, HIDDEN, ["left", "right", "vowel"])
    assert search.found == "vowel"


def test_fields_with_one_value_are_not_tried(tmp_path):
    columns: dict[str, Any] = {"vowel": vowel, "same": lambda fillers: ["0"] * len(fillers)}
    store = plant_bindings(tmp_path / "store", vowel, n=300, ranks=(8, 2), **columns)
    schemes = tp.search_roles(store, HIDDEN, ["same", "vowel"]).schemes["roles"]
    assert "vowel" in set(schemes)
    assert not schemes.str.contains("same").any()


def test_noise_has_no_structure(tmp_path):
    store = plant_bindings(tmp_path / "store", None, n=500)
    assert tp.search_roles(store, STATE, FIELDS).found == "no structure"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("roles") / "store"
    return plant_bindings(folder, left, n=500, ranks=(8, 6), twin=True)


def test_controls_find_nothing(store):
    controls = tp.search_roles(store, STATE, FIELDS).controls.set_index("control")["roles"]
    nothing = "no structure"
    assert controls.to_dict() == {"permuted fields": "bag", "null": nothing, "untrained": nothing}


def test_labels_of_ones_own_are_searched(store):
    labels = store.tokens["token"].isin(["a", "b"]).map({True: "yes", False: "no"})
    units, names = read_searched(store.with_labels("early", labels), STATE)
    assert "early" in names
    assert units.tokens["early"].tolist() == labels.tolist()


def test_the_curve_falls(store):
    curve = tp.search_roles(store, STATE, FIELDS).curve
    assert curve["pairs"].is_monotonic_increasing
    assert curve["bits"].is_monotonic_decreasing
    assert curve["roles"].iloc[0] == "mean"
    assert curve["roles"].iloc[-1] == "left"


def test_the_code_length_is_that_of_the_evidence():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 2, size=(60, 5)).astype(float)
    vectors = counts @ rng.normal(size=(5, 3)) + rng.normal(size=(60, 3))
    coefficients, _bias, price, shrunk = encode_shortest(csr_array(counts), vectors)
    x, e = counts - counts.mean(0), vectors - vectors.mean(0)
    lam = shrunk / np.sum(coefficients**2)
    kernel = np.eye(60) + x @ x.T / lam  # of e under the prior, in units of the noise
    assert price == pytest.approx(np.linalg.slogdet(kernel)[1] / np.log(2) / 120)
    left_over = np.sum((e - x @ coefficients) ** 2) + shrunk
    assert left_over == pytest.approx(np.trace(e.T @ np.linalg.solve(kernel, e)))


def test_names_of_schemes():
    schemes = ((), ((),), (("left", "right"), ("pos",)), ((), ("", "length")))
    assert [name_terms(t) for t in schemes] == ["mean", "bag", "left*right+pos", "bag+(length)"]
    with pytest.raises(tp.InputError, match="the family roles has no fillers"):
        read_scheme("bag+(length)")


def plant_vectors(path, make, n=600):
    """A store whose vectors are what ``make`` makes of a sequence, and a little noise."""
    store = plant_bindings(path / "other", left, n=n)
    fillers = store.tokens.groupby("sample")["token"].agg(list)
    vectors = np.stack([make(sequence) for sequence in fillers])
    vectors = vectors + 0.05 * np.random.default_rng(1).normal(size=vectors.shape)
    return write_store(path / "store", {STATE: vectors}, store.tokens, "sample")


def test_length_is_no_role_of_fillers(tmp_path):
    of_length = np.random.default_rng(0).normal(size=(7, 8))
    store = plant_vectors(tmp_path, lambda fillers: of_length[len(fillers)])
    assert tp.search_roles(store, STATE, ["left", "right", "length"]).found == "(length)"


def test_a_bag_of_fillers_and_of_roles_is_not_bound(tmp_path):
    of_place, of_filler = np.random.default_rng(0).normal(size=(2, 8, 8))

    def add_up(fillers):
        return sum(of_filler[ord(f) - ord("a")] + of_place[i] for i, f in enumerate(fillers))

    store = plant_vectors(tmp_path, add_up)
    assert tp.search_roles(store, STATE, ["left"]).found == "bag+(left)"


def test_names_of_one_partition_are_one_row(tmp_path):
    store = plant_bindings(tmp_path / "store", both, n=900, noise=0.7, ranks=(8, 8), seed=2)
    search = tp.search_roles(store, STATE, ["left", "right", "length"])
    schemes = search.schemes.set_index("roles")
    assert {"left*length", "right*length"}.isdisjoint(schemes.index)
    assert schemes.loc["left*right", "stability"] > 0.5  # not a third of it
    assert search.lines[1].endswith("schemes that were tried is shorter")


def test_the_command_keeps_what_it_found(store, tmp_path):
    out = tmp_path / "out"
    args = ["roles", store.path, "--site", STATE, "--fields", "left", "--fields", "right"]
    [report] = json.loads(run_command(*args, "--out", out, "--json").stdout)
    assert report["found"] == "left"
    [search] = load_roles(out)
    assert search.found == "left"
    assert set(search.controls["control"]) == {"permuted fields", "null", "untrained"}
    with pytest.raises(tp.InputError, match="--resume"):
        run_command(*args, "--out", out)
    with pytest.raises(tp.InputError, match="did you mean"):
        run_command(*args, "--fields", "lefd", "--out", tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_a_column_named_as_a_label_is_a_column(tmp_path):
    store = plant_bindings(tmp_path / "store", vowel, n=300, ranks=(8, 2), pos=vowel)
    assert tp.search_roles(store, HIDDEN, ["left", "POS"]).found == "POS"
