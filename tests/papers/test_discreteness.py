"""Statistics of role distributions, on distributions whose statistics are known."""

import numpy as np
import pytest

from tprpapers.jiang.discreteness import (
    measure_roles,
    share_between_heads,
)
from tprprobe.errors import InputError

SITE = "encoder.0.self.role_weights"


def one_hot(roles: np.ndarray, n_roles: int, peak: float = 1.0) -> np.ndarray:
    """Distributions with ``peak`` on a role and the rest spread evenly; roles: token × head."""
    floor = (1 - peak) / (n_roles - 1)
    return np.where(np.eye(n_roles)[roles] > 0, peak, floor).astype(np.float32)


def test_peaks_entropy_and_usage_of_planted_roles():
    roles = np.array([[0, 3], [1, 3], [0, 3], [1, 3]])
    table = measure_roles(
        {SITE: one_hot(roles, 4), "decoder.2.cross.role_weights": one_hot(roles, 4, 0.95)}
    )
    assert list(table["sublayer"]) == ["encoder.self"] * 2 + ["decoder.cross"] * 2
    assert list(table["layer"]) == [0, 0, 2, 2]
    assert list(table["head"]) == [0, 1, 0, 1]
    assert list(table["above_98"]) == [1, 1, 0, 0]
    assert list(table["above_90"]) == [1, 1, 1, 1]
    assert list(table["used_roles"]) == [2, 1, 2, 1]
    assert list(table["dead_roles"]) == [2, 3, 2, 3]
    assert table["usage_perplexity"].tolist() == pytest.approx([2, 1, 2, 1])
    sharp, blunt = table["entropy"][0], table["entropy"][2]
    assert sharp == pytest.approx(0, abs=1e-6)
    assert blunt == pytest.approx(
        -(0.95 * np.log2(0.95) + 3 * 0.05 / 3 * np.log2(0.05 / 3)), rel=1e-5
    )


def test_information_between_heads():
    rng = np.random.default_rng(0)
    roles, independent = rng.integers(0, 4, (2, 4000))
    weights = {SITE: one_hot(np.stack([roles, roles ^ 1, independent], 1), 4)}
    table = share_between_heads(weights).set_index(["head", "other_head"])
    assert table.loc[(0, 1), "mutual_information"] == pytest.approx(2, abs=0.01)
    assert table.loc[(0, 1), "adjusted"] == pytest.approx(1)
    assert table.loc[(0, 2), "mutual_information"] < 0.01
    assert abs(table.loc[(0, 2), "adjusted"]) < 0.01
    assert len(table) == 3


@pytest.mark.parametrize("shape", [(4, 3), (0, 2, 3)])
def test_arrays_of_another_shape_are_refused(shape):
    with pytest.raises(InputError, match="token × head × n_roles"):
        measure_roles({SITE: np.zeros(shape)})
