"""Planted names are found whatever the noise, the number of roles and the scale; of nothing, nothing."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from planted.questions import plant_roles

from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.naming import name_roles
from tprprobe.analyses.naming.names import read_gold

SITE = "encoder.0.self.role"


@pytest.fixture(scope="module")
def benchmark(root: Path):
    return runpy.run_path(str(root / "benchmarks" / "naming.py"))


@pytest.mark.parametrize(
    ("fields", "labels", "options"),
    [
        ((), "k-means", {"noise": 0.4}),
        (("polarity",), "k-means", {"samples": 240, "wrong": 0.1}),
        (("argument",), "k-means", {"samples": 300}),
        (("place", "polarity"), "planted", {"samples": 400, "long": 0.5, "wrong": 0.1}),
    ],
)
def test_planted_names_are_found_beside_distractors(benchmark, tmp_path, fields, labels, options):
    recovery = benchmark["recover"](tmp_path / "store", fields, labels, **options)
    assert recovery.names >= 0.95
    assert recovery.tokens >= 0.95


@pytest.mark.parametrize("seed", [0, 1])
def test_names_do_not_depend_on_the_scale_of_a_dimension(tmp_path, seed):
    scale = 2.0 ** np.random.default_rng(seed).integers(-12, 13, 24)  # exact in floating point
    scale *= np.random.default_rng(seed).choice([-1.0, 1.0], 24)
    stores = [
        plant_roles(tmp_path / name, "polarity", noise=0.5, samples=60, seed=seed, scale=factor)
        for name, factor in (("one", 1.0), ("other", scale))
    ]
    named_roles = [
        name_roles(store, cluster(store, SITE, head=0, k=12, n_seeds=2, seed=seed))
        for store in stores
    ]
    pd.testing.assert_frame_equal(*named_roles)


@pytest.mark.parametrize("null", ["tokens", "questions", "runs"])
def test_where_there_is_no_structure_nothing_is_named(benchmark, tmp_path, null):
    gold = read_gold(plant_roles(tmp_path / "null", samples=100))
    assert benchmark["count_false"](gold, null, runs=34) == 0
