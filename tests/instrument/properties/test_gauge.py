"""What the model leaves open must not matter: statistics of a model and of the same function re-gauged.

Per head v → D₁v, r → D₂r, W_o → W_o(D₁D₂)⁻¹ (any scales and signs) and q → Rq, k → R⁻ᵀk (any R)
change no logit.
"""

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from studies.verdicts.coupling import couple_roles
from tprpapers.architectures.attention import TPAttention
from tprpapers.schlag.hadamard.variance import capture_variance
from tprpapers.worlds.mathematics.naming_targets import find_targets
from tprprobe.analyses.clustering import cluster, find_heads
from tprprobe.analyses.clustering.kmeans import run_all
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.data import load_data
from tprprobe.extraction import extract


def _scale(linear: torch.nn.Linear, factors: torch.Tensor) -> None:
    linear.weight.data *= factors[:, None]
    linear.bias.data *= factors


def regauge(model, seed):
    """The same function with other vectors."""
    equivalent, rng = copy.deepcopy(model).double(), torch.Generator().manual_seed(seed)
    for module in equivalent.modules():
        if not isinstance(module, TPAttention):
            continue
        width, heads = module.to_value.out_features, module.n_heads
        factors = [
            torch.exp(0.7 * torch.randn(width, generator=rng, dtype=torch.float64))
            * torch.where(torch.rand(width, generator=rng) < 0.5, -1.0, 1.0)
            for _ in range(2)
        ]
        _scale(module.to_value, factors[0])
        _scale(module.to_role, factors[1])
        module.output.weight.data /= factors[0] * factors[1]
        size = width // heads
        for head in range(heads):
            mix = torch.randn(size, size, generator=rng, dtype=torch.float64)
            mix += 2 * torch.eye(size, dtype=torch.float64)
            rows = slice(head * size, (head + 1) * size)
            for linear, transform in (
                (module.to_query, mix),
                (module.to_key, torch.linalg.inv(mix).T),
            ):
                linear.weight.data[rows] = transform @ linear.weight.data[rows]
                linear.bias.data[rows] = transform @ linear.bias.data[rows]
    return equivalent.float()


@pytest.fixture(scope="module")
def stores(make_model, tmp_path_factory):
    model = make_model(fluent=True, d_model=32, n_heads=4, n_layers=(2, 1))
    data = load_data("mathematics:arithmetic__mixed", split="small-test", n=40, seed=0)
    out = tmp_path_factory.mktemp("gauge")
    extracted = []
    for name, variant in (("own", model), ("other", regauge(model, 1))):
        extracted.append(extract(variant, data, ["encoder.*"], out=out / name, control=False))
    source = torch.tensor([model.vocabulary.encode("1/2 + 3")])
    target = torch.tensor([[2, 5, 6]])
    assert torch.allclose(model(source, target), regauge(model, 1)(source, target), atol=1e-3)
    return extracted


def test_the_diagonals_share_does_not_depend_on_the_gauge(stores):
    table, regauged = (capture_variance(store) for store in stores)
    searched = {"repeated pairs": 0.01, "random pairs": 0.05}  # from draws, which signs change
    for column in ("captured", "of_best"):
        for basis, rows in table.groupby("basis"):
            np.testing.assert_allclose(
                rows[column], regauged.loc[rows.index, column], atol=searched.get(str(basis), 1e-3)
            )


@pytest.mark.parametrize("vectors", ["role", "query", "key", "filler"])
def test_clusters_do_not_depend_on_the_gauge(stores, vectors):
    labels = []
    for store in stores:
        targets = find_targets(store, "encoder.1.self.role")
        head_targets = [
            target for target in targets if target.vectors == vectors and target.head == 0
        ]
        labels.append(run_all(head_targets[0].source, k=4)[0].labels)
    table = pd.crosstab(labels[0], labels[1]).to_numpy()
    assert table.max(1).sum() / len(labels[0]) > 0.99


def test_reconstruction_and_coupling_do_not_depend_on_the_gauge(stores):
    tables = [reconstruct(store, layer=-1) for store in stores]
    is_plain = (tables[0]["predictor"] == "head") & (tables[0]["penalty"] == "none")
    r2, r2_regauged = (item.loc[is_plain, "r2"].to_numpy(float) for item in tables)
    np.testing.assert_allclose(r2, r2_regauged, atol=2e-3)
    coupled = [
        couple_roles(
            item, [cluster(item, *place, k=4) for place in find_heads(item, "encoder.1.self.role")]
        )
        for item in stores
    ]
    np.testing.assert_allclose(coupled[0]["advantage"], coupled[1]["advantage"], atol=0.02)
