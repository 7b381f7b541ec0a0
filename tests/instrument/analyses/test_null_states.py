"""States that are no sums of bindings: the gain of bindings is not told to be above 0 more often than by chance.

A seeded sample; `make soak` runs every kind many times.
"""

import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from planted.bindings import FILLERS, STATE, draw_sequences
from planted.stores import number_tokens, write_store

import tprprobe as tp

N, WIDTH = 400, 16


def by_key(keys, rng):
    """A random vector a key."""
    vector_of = {key: rng.normal(size=WIDTH) for key in dict.fromkeys(keys)}
    return np.stack([vector_of[key] for key in keys])


def hashes(sequences, rng):
    return by_key(list(map(tuple, sequences)), rng)


def bags(sequences, rng):
    vector_of = {filler: rng.normal(size=WIDTH) for filler in FILLERS}
    return np.stack([sum(vector_of[filler] for filler in sequence) for sequence in sequences])


def lengths(sequences, rng):
    return by_key(list(map(len, sequences)), rng) + 0.3 * rng.normal(size=(len(sequences), WIDTH))


def heavy(sequences, rng):
    states = rng.normal(size=(len(sequences), WIDTH))
    states[:, 0] *= 30
    return states


def untrained_gru(sequences, rng):
    torch.manual_seed(int(rng.integers(2**31)))
    embed, gru = torch.nn.Embedding(len(FILLERS), 8), torch.nn.GRU(8, WIDTH, batch_first=True)
    with torch.no_grad():
        ids = [
            torch.tensor([[FILLERS.index(filler) for filler in sequence]]) for sequence in sequences
        ]
        return np.stack([gru(embed(row))[1][0, 0].double().numpy() for row in ids])


KINDS = {"hash": hashes, "bag": bags, "length": lengths, "repeats": hashes, "heavy": heavy}


def write(path, sequences, states):
    return write_store(path, {STATE: states}, number_tokens(sequences), "sample")


def first_row(make, seed, roles="left", twin=None, repeats=False):
    """The row of the bindings of states of that kind."""
    rng = np.random.default_rng((seed, 3))
    sequences = draw_sequences(N, seed)
    if repeats:  # every document has sequences of the others
        sequences = [sequences[i] for i in rng.integers(N // 4, size=N)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        write(path, sequences, make(sequences, rng))
        for name in ("untrained", "permuted") if twin else ():
            write(path / name, sequences, twin(sequences, rng))
        scores = tp.decompose(tp.open_store(path), STATE, roles, seed=seed).scores
    return scores[(scores["family"] == "factored") & (scores["control"] == "")].iloc[0]


def share_above_zero(kind, seeds):
    rows = [first_row(KINDS[kind], seed, repeats=kind == "repeats") for seed in seeds]
    return np.mean([row["gain_low"] > 0 for row in rows])


@pytest.mark.parametrize("kind", KINDS)
def test_no_bindings_are_said_of_states_that_have_none(kind):
    assert share_above_zero(kind, range(2)) == 0


def test_nothing_is_said_to_be_learned_by_an_untrained_network():
    row = first_row(untrained_gru, 0, "right", untrained_gru)
    assert row["gain_low"] > 0  # an untrained network binds, too
    assert row["learned_low"] <= 0


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_no_bindings_are_said_of_states_that_have_none_many_times(kind):
    share = share_above_zero(kind, range(50))
    print(f"{kind}: bindings above 0 in {share:.0%} of 50")
    assert share <= 0.05


@pytest.mark.soak
def test_nothing_is_said_to_be_learned_by_an_untrained_network_many_times():
    rows = [first_row(untrained_gru, seed, "right", untrained_gru) for seed in range(50)]
    share = np.mean([row["learned_low"] > 0 for row in rows])
    print(f"untrained GRU: learned above 0 in {share:.0%} of {len(rows)}")
    assert share <= 0.05
