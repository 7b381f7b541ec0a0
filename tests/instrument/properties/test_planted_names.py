"""Planted names are found whatever the noise, the number of roles and the scale; of nothing, nothing."""

import runpy
from pathlib import Path

import pytest
from planted.questions import plant_roles

from tprprobe.analyses.naming.names import read_gold


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


@pytest.mark.parametrize("null", ["tokens", "questions", "runs"])
def test_where_there_is_no_structure_nothing_is_named(benchmark, tmp_path, null):
    gold = read_gold(plant_roles(tmp_path / "null", samples=100))
    assert benchmark["count_false"](gold, null, runs=34) == 0
