"""Planted schemes of roles, many times over: found, named, no more found than there is, intervals that cover.

`make soak` runs the whole; small seeded samples are here and in `test_role_search.py`.
"""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from planted.bindings import FILLERS, STATE, bind, both, draw_sequences, left, plant_bindings

import tprprobe as tp
from tprprobe.analyses.decomposition import fit_scheme
from tprprobe.analyses.decomposition.designs import make_designs
from tprprobe.analyses.decomposition.predictions import Prediction, score
from tprprobe.analyses.decomposition.role_schemes import join_smallest
from tprprobe.analyses.decomposition.scheme_fits import SchemeFits, plan_decomposition
from tprprobe.analyses.decomposition.scheme_scores import predictor
from tprprobe.analyses.decomposition.unit_vectors import fit_moments

FIELDS = ["left", "right", "length", "tree", "pos", "argument"]


def right(fillers):
    return [str(len(fillers) - 1 - i) for i in range(len(fillers))]


def pos(fillers):
    """A tag that the word and its place decide, as in language."""
    tags = ("noun", "verb", "other")
    return [tags[(FILLERS.index(each) + i * i) % 3] for i, each in enumerate(fillers)]


def argument(fillers):
    """Subject, verb, object: around the first filler of the first half of the alphabet."""
    verb = next((i for i, each in enumerate(fillers) if each in FILLERS[:4]), 0)
    return ["S" if i < verb else "V" if i == verb else "O" for i in range(len(fillers))]


SCHEMES = {
    "left": left,
    "right": right,
    "left*right": both,
    "tree": join_smallest,
    "pos": pos,
    "argument": argument,
}


def find(roles, seed, n=800, noise=0.7):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        store = plant_bindings(
            path, roles, n, noise, seed, ranks=(8, 8), pos=pos, argument=argument
        )
        return tp.search_roles(store, STATE, FIELDS, seed=seed)


@pytest.mark.soak
@pytest.mark.parametrize("name", SCHEMES)
def test_planted_schemes_come_back(name):
    found = [find(SCHEMES[name], seed).found for seed in range(20)]
    print(f"{name}: named {sum(each == name for each in found)} of {len(found)}")
    assert np.mean([each == name for each in found]) >= 0.95


@pytest.mark.soak
def test_null_data_have_no_structure():
    found = [find(None, seed, n=300).found for seed in range(200)]
    print(f"null: no structure {sum(each == 'no structure' for each in found)} of {len(found)}")
    assert np.mean([each == "no structure" for each in found]) >= 0.99


RANKS = [(2, 2), (3, 2), (4, 3), (5, 4)]


def find_rank(rank, seed, n=1500):
    """The rank that is chosen for bindings of that rank."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        store = plant_bindings(path, both, n, 0.3, seed, width=24, ranks=rank)
        return fit_scheme(store, STATE, "left*right", seed=seed).fit.rank


@pytest.mark.parametrize(("rank", "seed", "n"), [((3, 2), 1, 700), ((2, 2), 0, 1500)])
def test_a_planted_rank_comes_back(rank, seed, n):
    assert find_rank(rank, seed, n) == "×".join(map(str, rank))


@pytest.mark.soak
def test_planted_ranks_come_back():
    found = [find_rank(r, seed) == "×".join(map(str, r)) for seed, r in enumerate(RANKS * 5)]
    print(f"rank right: {sum(found)} of {len(found)}")
    assert np.mean(found) >= 0.9


def encode_changed(roles, seed, n, name):
    """The share of what a changed filler changes in true vectors that sequences encoded again have (R²)."""
    rng = np.random.default_rng((seed, 9))
    sequences = draw_sequences(n, seed)
    changed = [list(each) for each in sequences[:60]]
    for each in changed:
        at = rng.integers(len(each))
        each[at] = rng.choice([other for other in FILLERS if other != each[at]])
    known = {role for each in sequences for role in roles(each)}  # others are not planted
    at = [i for i, each in enumerate(changed) if known.issuperset(roles(each))]
    pairs = [[own[i] for i in at] for own in (changed, sequences)]
    everything = [*sequences, *pairs[0]]
    true = bind(everything, roles, (8, 8), 16, seed + 1)
    states = np.zeros((len(everything), 16))
    np.add.at(states, np.repeat(np.arange(len(everything)), [len(s) for s in everything]), true)
    with tempfile.TemporaryDirectory() as folder:
        store = plant_bindings(Path(folder) / "store", roles, n, 0.1, seed, ranks=(8, 8))
        fit = fit_scheme(store, STATE, name, seed=seed)
    moved = fit.encode(pairs[0]) - fit.encode(pairs[1])
    wanted = states[n:] - states[at]
    return 1 - np.sum((moved - wanted) ** 2) / np.sum(wanted**2)


@pytest.mark.parametrize("name", ["left", "left*right"])
def test_sequences_with_one_filler_changed_are_encoded_as_they_are(name):
    assert encode_changed(SCHEMES[name], seed=2, n=500, name=name) > 0.95
    assert encode_changed(SCHEMES[name], seed=2, n=500, name="right") < 0.9


def test_many_roles_of_few_sequences_keep_their_dimensions():
    assert encode_changed(SCHEMES["tree"], seed=17, n=900, name="tree") > 0.95


@pytest.mark.soak
@pytest.mark.parametrize("name", ["left", "right", "left*right", "tree"])
def test_changed_sequences_are_encoded_as_they_are_many_times(name):
    found = [encode_changed(SCHEMES[name], seed, 900, name) for seed in range(20)]
    print(f"{name}: R² of changes {min(found):.3f} to {max(found):.3f}")
    assert min(found) > 0.9


def covers(seed: int) -> bool:
    """Whether the interval of R² holds the R² of the same fit on many other sequences."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        store = plant_bindings(path, left, 6000, 0.7, seed, ranks=(8, 6))
        plan = plan_decomposition(store, STATE, "left", family="saturated", seed=seed)
        units = plan.read(store, STATE)
        real = next(make_designs(units, plan.schemes[0], 0.1, seed))
        few = np.arange(len(units)) < 600  # tested on; the others stand for all there are
        regressions = fit_moments(units.vectors, [(real.counts, real.fitting)])
        fits = SchemeFits(real, units.vectors, regressions)
        fit = fits.fit("saturated")
        predict = predictor(fit, real.counts)
        rows = [
            Prediction("saturated", "", predict, fits.regressions[0].mean, real.test & of)
            for of in (few, ~few)
        ]
        found, truth = (each.r2 for each in score(units, units.vectors, rows))
    return found.low <= truth.value <= found.high


@pytest.mark.soak
def test_intervals_cover():
    found = [covers(seed) for seed in range(200)]
    print(f"intervals cover {sum(found)} of {len(found)}")
    assert 0.92 <= np.mean(found) <= 0.98
