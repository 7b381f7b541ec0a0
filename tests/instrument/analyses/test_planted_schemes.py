"""Planted schemes of roles, many times over: found, named, no more found than there is, intervals that cover.

`make soak` runs the whole; small seeded samples are here and in `test_role_search.py`.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted.bindings import FILLERS, STATE, bind, both, draw_sequences, left, plant_bindings, right

import tprprobe as tp
from tprprobe.analyses.decomposition import fit_scheme
from tprprobe.analyses.decomposition.designs import make_designs
from tprprobe.analyses.decomposition.predictions import Prediction, score
from tprprobe.analyses.decomposition.role_schemes import join_smallest
from tprprobe.analyses.decomposition.scheme_fits import SchemeFits, plan_decomposition
from tprprobe.analyses.decomposition.scheme_scores import predictor
from tprprobe.analyses.decomposition.unit_vectors import fit_moments

FIELDS = ["left", "right", "length", "tree", "pos", "argument"]


def pos(fillers):
    """A tag that the word and its place decide, as in language."""
    tags = ("noun", "verb", "other")
    return [tags[(FILLERS.index(filler) + i * i) % 3] for i, filler in enumerate(fillers)]


def argument(fillers):
    """Subject, verb, object: around the first filler of the first half of the alphabet."""
    verb = next((i for i, filler in enumerate(fillers) if filler in FILLERS[:4]), 0)
    return ["S" if i < verb else "V" if i == verb else "O" for i in range(len(fillers))]


SCHEMES = {"left": left, "right": right, "left*right": both, "tree": join_smallest}
SCHEMES |= {"pos": pos, "argument": argument}
NULL = "no structure"


def find(roles, seed, n):
    """The name of the scheme that is found."""
    with tempfile.TemporaryDirectory() as folder:
        columns: dict[str, Any] = {"pos": pos, "argument": argument}
        store = plant_bindings(Path(folder) / "store", roles, n, 0.7, seed, ranks=(8, 8), **columns)
        return tp.search_roles(store, STATE, FIELDS, seed=seed).found


@pytest.mark.soak
@pytest.mark.parametrize("name", [*SCHEMES, NULL])
def test_planted_schemes_come_back(name):
    n, seeds, share = (300, 200, 0.99) if name == NULL else (800, 20, 0.95)
    is_right = [find(SCHEMES.get(name), seed, n) == name for seed in range(seeds)]
    print(f"{name}: named {sum(is_right)} of {len(is_right)}")
    assert np.mean(is_right) >= share


RANKS = [(2, 2), (3, 2), (4, 3), (5, 4)]


def find_rank(rank, seed, n=1500):
    """The rank that is chosen for bindings of that rank."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        store = plant_bindings(path, both, n, 0.3, seed, width=24, ranks=rank)
        return fit_scheme(store, STATE, "left*right", seed=seed).fit.rank


def test_a_planted_rank_comes_back():
    assert find_rank((3, 2), 1, 700) == "3×2"


@pytest.mark.soak
def test_planted_ranks_come_back():
    is_right = [find_rank(r, seed) == "×".join(map(str, r)) for seed, r in enumerate(RANKS * 5)]
    print(f"rank right: {sum(is_right)} of {len(is_right)}")
    assert np.mean(is_right) >= 0.9


def encode_changed(roles, seed, n, name):
    """The share of what a changed filler changes in true vectors that sequences encoded again have (R²)."""
    rng = np.random.default_rng((seed, 9))
    sequences = draw_sequences(n, seed)
    changed = [list(sequence) for sequence in sequences[:60]]
    for sequence in changed:
        place = rng.integers(len(sequence))
        sequence[place] = rng.choice([filler for filler in FILLERS if filler != sequence[place]])
    planted = {role for sequence in sequences for role in roles(sequence)}  # others have no vector
    kept_ids = [i for i, sequence in enumerate(changed) if planted.issuperset(roles(sequence))]
    pairs = [[texts[i] for i in kept_ids] for texts in (changed, sequences)]
    everything = [*sequences, *pairs[0]]
    true = bind(everything, roles, (8, 8), 16, seed + 1)
    states = np.zeros((len(everything), 16))
    np.add.at(states, np.repeat(np.arange(len(everything)), [len(s) for s in everything]), true)
    with tempfile.TemporaryDirectory() as folder:
        store = plant_bindings(Path(folder) / "store", roles, n, 0.1, seed, ranks=(8, 8))
        fit = fit_scheme(store, STATE, name, seed=seed)
    moved = fit.encode(pairs[0]) - fit.encode(pairs[1])
    expected = states[n:] - states[kept_ids]
    return 1 - np.sum((moved - expected) ** 2) / np.sum(expected**2)


def test_sequences_with_one_filler_changed_are_encoded_as_they_are():
    assert encode_changed(both, seed=2, n=500, name="left*right") > 0.95
    assert encode_changed(both, seed=2, n=500, name="right") < 0.9


@pytest.mark.soak
@pytest.mark.parametrize("name", ["left", "right", "left*right", "tree"])
def test_changed_sequences_are_encoded_as_they_are_many_times(name):
    shares = [encode_changed(SCHEMES[name], seed, 900, name) for seed in range(20)]
    print(f"{name}: R² of changes {min(shares):.3f} to {max(shares):.3f}")
    assert min(shares) > 0.9


def covers(seed: int) -> bool:
    """Whether the interval of R² holds the R² of the same fit on many other sequences."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        store = plant_bindings(path, left, 6000, 0.7, seed, ranks=(8, 6))
        plan = plan_decomposition(store, STATE, "left", family="saturated", seed=seed)
        units = plan.read(store, STATE)
        real = next(make_designs(units, plan.schemes[0], 0.1, seed))
        is_tested = np.arange(len(units)) < 600  # tested on; the others stand for all there are
        regressions = fit_moments(units.vectors, [(real.counts, real.fitting)])
        fits = SchemeFits(real, units.vectors, regressions)
        fit = fits.fit("saturated")
        predict = predictor(fit, real.counts)
        parts, mean = (real.test & is_tested, real.test & ~is_tested), fits.regressions[0].mean
        rows = [Prediction("saturated", "", predict, mean, part) for part in parts]
        interval, truth = (estimate.r2 for estimate in score(units, rows))
    return interval.low <= truth.value <= interval.high


@pytest.mark.soak
def test_intervals_cover():
    is_covered = [covers(seed) for seed in range(200)]
    print(f"intervals cover {sum(is_covered)} of {len(is_covered)}")
    assert 0.92 <= np.mean(is_covered) <= 0.98
