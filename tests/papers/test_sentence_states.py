"""Planted TPRs with known roles: their dual basis is found, and what no role holds is not held."""

import numpy as np
import pytest
from planted.captions import UNBINDING, plant_captions
from planted.states import BOUND, plant_states

from tprpapers.huang.unbinding import read_words
from tprpapers.huang.unbinding.sentence_states import (
    AHEAD,
    BEHIND,
    BEST,
    CENTERS,
    CURRENT,
    ELSEWHERE,
    GAUSSIAN,
    RANDOM,
    SHARED,
    STATE,
    dual_basis,
    find_centers,
    fit_states,
)
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.figures.tables import Table

M = BOUND  # directions: as many as there are roles


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return plant_states(tmp_path_factory.mktemp("states") / "store")


@pytest.fixture(scope="module")
def state_fit(planted):
    return fit_states(read_words(planted.store), directions=(1, M, 50))


def share(state_fit, roles, directions):
    rows = state_fit.shares.set_index(["roles", "directions"])
    return rows.loc[(roles, directions)]


def test_the_dual_basis_of_centers_is_the_roles(planted):
    words = read_words(planted.store)
    vectors = words.store.read(UNBINDING, slice(None))[words.table["row"]]
    roles = planted.role_of_word[words.table["row"]]
    basis = dual_basis(find_centers(vectors, roles))
    cosines = (basis * planted.roles).sum(1)
    cosines /= np.linalg.norm(basis, axis=1) * np.linalg.norm(planted.roles, axis=1)
    assert np.abs(cosines) == pytest.approx(1, abs=0.01)
    strongest = np.linalg.svd(find_centers(vectors, roles).reshape(M, *planted.shape))[2][:, 0]
    own_cosines = np.abs((strongest * planted.roles).sum(1)) / np.linalg.norm(planted.roles, axis=1)
    assert own_cosines.max() < 0.95  # the unbinding vectors are not the roles


def test_planted_roles_hold_every_state_and_random_ones_do_not(state_fit):
    assert share(state_fit, CENTERS, M)["share"] == pytest.approx(1, abs=0.01)
    assert share(state_fit, f"{CENTERS} − {RANDOM}", M)["share_low"] > 0.3
    assert share(state_fit, RANDOM, M)["share_high"] < 0.75
    for roles in (SHARED, BEST):
        assert share(state_fit, roles, M)["share"] == pytest.approx(1, abs=0.01)
    assert 50 not in set(state_fit.shares["directions"])  # as many hold everything


def test_a_plan_holds_the_words_to_come_and_not_those_before(state_fit):
    """States are of this word and those to come: u of a step before unbinds nothing."""
    assert share(state_fit, BEHIND, 1)["share_high"] < 0.1
    assert share(state_fit, AHEAD, 1)["share"] > 2 * share(state_fit, BEHIND, 1)["share"]
    assert share(state_fit, f"{AHEAD} − {BEHIND}", 1)["share_low"] > 0
    assert share(state_fit, f"{CURRENT} − {ELSEWHERE}", 1)["share_low"] > 0


def test_duals_of_clusters_are_exact_and_those_of_a_cloud_are_not(state_fit):
    rows = state_fit.duals.set_index(["vectors", "clusters"])
    assert rows.loc[(CURRENT, M), "error_high"] < 0.1 < rows.loc[(CURRENT, M), "constant"]
    assert rows.loc[(GAUSSIAN, M), "error"] > 3 * rows.loc[(CURRENT, M), "error"]


def test_the_figure_says_what_holds_the_state(planted, tmp_path):
    table = catalogue.make("huang-states", store=planted.store)
    assert isinstance(table, Table)
    assert table.cells["roles"].tolist()[0] == CURRENT
    assert CENTERS in table.cells["roles"].tolist()
    bare = plant_captions(tmp_path / "bare", 8)
    with pytest.raises(InputError, match=f"has no {STATE}: extract it with"):
        fit_states(read_words(bare))
