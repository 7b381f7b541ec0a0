"""What d numbers keep of v ⊗ r, and unbinding, equal their closed forms on planted vectors."""

import numpy as np
import pandas as pd
import pytest
import torch
from planted.stores import write_store
from scipy.linalg import hadamard

from tprpapers.schlag.hadamard.crosstalk import measure_unbinding, unbind_sums
from tprpapers.schlag.hadamard.variance import (
    capture_variance,
    fit_bases,
)
from tprprobe.errors import InputError

ROLE, FILLER = "encoder.0.self.role", "encoder.0.self.filler"
D = 16


def spectrum(power, width=D):
    return np.arange(1.0, width + 1) ** -power


def write_heads(path, fillers, roles, per_question=20, control=None):
    """A store of one layer: fillers and roles [token, head, d_head] in questions of equal length."""
    index = np.arange(len(fillers))
    table = pd.DataFrame({"side": "source", "sample": index // per_question, "token": "x"})
    table["position"] = index % per_question
    store = write_store(path, {FILLER: fillers, ROLE: roles}, table)
    if control is not None:
        write_heads(path / "untrained", *control, per_question)
    return store


def draw(rng, n, variances, heads=1):
    """Gaussian vectors with these variances along axes that lie between the dimensions.

    Every dimension has the same variance, so that vectors are read as they are, but for their size.
    """
    width = len(variances)
    basis = rng.choice([-1, 1], (width, 1)) * hadamard(width) / width**0.5
    return (rng.normal(size=(n, heads, len(variances))) * np.sqrt(variances)) @ basis.T


def shares(power):
    """The exact shares for independent v, r with λ_i ∝ i^−power: principal, matched, random."""
    values = spectrum(power)
    products = np.outer(values, values)
    matched = np.square(values).sum()
    return np.array([np.sort(products, axis=None)[-D:].sum(), matched, products.mean() * D]) / (
        products.sum()
    )


# ---------------------------------------------------------------- captured variance


@pytest.mark.parametrize(
    ("power", "sampled"),
    [(0, (0.0625, 0.063, 0.062)), (0.5, (0.191, 0.076, 0.062)), (1, (0.415, 0.137, 0.06)),
     (2, (0.853, 0.429, 0.056))],
)  # fmt: skip
def test_shares_of_independent_vectors(tmp_path, power, sampled):
    """Exact for spectra i^−power, and held out on a store."""
    principal, matched, random = shares(power)
    assert (principal, matched) == pytest.approx(sampled[:2], abs=0.003)
    assert random == pytest.approx(1 / D)
    values = spectrum(power)
    second = np.kron(np.diag(values), np.diag(values)) / values.sum() ** 2
    exact = {
        name: np.mean([np.trace(basis.T @ second @ basis) for basis in fitted_bases])
        for name, fitted_bases in fit_bases(second).items()
    }
    assert exact["principal"] == pytest.approx(principal)
    assert exact["repeated pairs"] == pytest.approx(principal)
    assert exact["orthonormal pairs"] == pytest.approx(matched)
    rng = np.random.default_rng(1)
    store = write_heads(tmp_path / "store", *(draw(rng, 6000, values) for _ in range(2)))
    captured = capture_variance(store).set_index("basis")
    assert set(captured["directions"]) == {D}
    values = {"principal": principal, "repeated pairs": principal}
    for name, value in (values | {"orthonormal pairs": matched, "random pairs": random}).items():
        row = captured.loc[name]
        assert row["captured_low"] - 0.02 < value < row["captured_high"] + 0.02
        assert row["captured"] == pytest.approx(value, abs=0.03)
        best = captured.loc["principal", "captured"]
        assert row["of_best"] == pytest.approx(row["captured"] / best)


def test_heads_twin_and_a_limit_on_positions(tmp_path):
    rng = np.random.default_rng(0)
    vectors = [rng.normal(size=(800, 2, 3)) for _ in range(4)]
    store = write_heads(tmp_path / "store", *vectors[:2], control=vectors[2:])
    captured = capture_variance(store, positions=300)
    assert len(captured) == 2 * (2 + 1) * 5
    assert captured.groupby("untrained")["head"].nunique().tolist() == [2, 2]
    for _, basis in captured.groupby(["untrained", "basis"]):
        by_head, mean = basis[basis["head"].notna()], basis[basis["head"].isna()].iloc[0]
        for name in ("captured", "of_best"):
            assert mean[name] == pytest.approx(by_head[name].mean())
            assert mean[f"{name}_low"] <= mean[name] <= mean[f"{name}_high"]
            assert mean[f"{name}_low"] >= by_head[f"{name}_low"].min()
    assert captured["positions"].between(100, 200).all()
    repeated = capture_variance(store, positions=300)
    pd.testing.assert_frame_equal(captured, repeated)


# ---------------------------------------------------------------- unbinding


def signs(rng, n, width):
    return torch.from_numpy(rng.choice([-1.0, 1.0], size=(n, width)))


def test_unbinding_equals_theory():
    """White fillers: outer is exact up to n = d, then (n − d)/n; hadamard n − 1 and (n − 1)/n."""
    rng, width = np.random.default_rng(0), 32
    fillers = torch.from_numpy(rng.normal(size=(300, width)))
    errors = unbind_sums(fillers, signs(rng, 300, width), counts=(1, 4, 16, 48), draws=100)
    table = errors.set_index(["binding", "unbinding", "n"])["error"]
    for n in (1, 4, 16, 48):
        assert table["hadamard", "duals", n] == pytest.approx(n - 1, rel=0.1)
        assert table["hadamard", "learned", n] == pytest.approx((n - 1) / n, rel=0.1)
    gaussian = unbind_sums(fillers, torch.from_numpy(rng.normal(size=(300, width))), (1, 4, 32, 48))
    table = gaussian.set_index(["binding", "unbinding", "n"])
    for n in (1, 4, 32):
        assert table.loc[("outer", "duals", n), "error"] < 1e-12
        assert table.loc[("outer", "duals", n), "accuracy"] == 1
    assert table.loc[("outer", "duals", 48), "error"] == pytest.approx(16 / 48, rel=0.1)
    assert table.loc[("hadamard", "duals", 1), "error"] < 1e-12


def test_bad_input_is_one_line(tmp_path):
    rng = np.random.default_rng(0)
    store = write_heads(
        tmp_path / "store", rng.normal(size=(40, 2, 4)), rng.normal(size=(40, 1, 8))
    )
    for measure in (capture_variance, measure_unbinding):
        with pytest.raises(InputError, match="both must be head × d_head"):
            measure(store)
        with pytest.raises(InputError, match="unknown site"):
            measure(store, "decoder.*.role")
    none = torch.zeros((0, 3), dtype=torch.float64)
    with pytest.raises(InputError, match="too few to bind"):
        unbind_sums(none, none)
