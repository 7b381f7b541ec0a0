"""What vectors are made of: pooled states, counts and shares, roles relative to a token, rare fillers, refusals."""

import numpy as np
import pandas as pd
import pytest
from planted.bindings import FILLERS, HIDDEN, STATE, draw_sequences, left, plant_bindings
from planted.stores import number_tokens, write_store

import tprprobe as tp
from tprprobe.analyses.decomposition import summarize
from tprprobe.analyses.decomposition.sequence_units import JOINED, join_rare, read_units

ENCODER, DECODER, CAUSAL = "encoder.0.hidden", "decoder.0.hidden", "layers.0.hidden"
WIDTH = 12


def keep(path, vectors, tokens, pool=None):
    """A store of vectors by site, a row a token, or a row a sample where they are pooled."""
    if pool:
        return write_store(path, vectors, tokens, "sample", pool=pool)
    return write_store(path, vectors, tokens)


def relative_sums(sequences, weight):
    """Vectors of tokens: V[f, 0] of their own filler, plus V[f, offset] of the others by weight."""
    rng = np.random.default_rng(5)
    v = rng.normal(size=(len(FILLERS), 13, WIDTH))
    vectors = []
    for sequence in sequences:
        code = [FILLERS.index(filler) for filler in sequence]
        for i in range(len(code)):
            neighbors = [v[f, j - i + 6] for j, f in enumerate(code) if j != i]
            vectors.append(v[code[i], 6] + weight(len(neighbors)) * sum(neighbors, np.zeros(WIDTH)))
    return np.array(vectors)


@pytest.fixture(scope="module")
def sequences():
    return draw_sequences(300, seed=2)


def r2(fit):
    return fit.scores.iloc[0]["r2"]


@pytest.mark.parametrize(
    ("scope", "weight"), [("all", lambda n: 1.0), ("context", lambda n: 1 / max(1, n))]
)
def test_exact_sums_with_relative_roles_are_explained(scope, weight, sequences, tmp_path):
    tokens = number_tokens(sequences)
    store = keep(tmp_path / "store", {ENCODER: relative_sums(sequences, weight)}, tokens)
    fit = tp.decompose(store, ENCODER, "offset", scope=scope, family="saturated", rank="2x2")
    assert r2(fit) > 0.99
    encoded = fit.encode(sequences[:3])
    n = sum(map(len, sequences[:3]))
    assert np.corrcoef(encoded.ravel(), store.read(ENCODER)[:n].ravel())[0, 1] > 0.99


def test_clipped_offsets_are_fewer_roles(sequences, tmp_path):
    vectors = relative_sums(sequences[:300], lambda n: 1.0)
    store = keep(tmp_path / "store", {ENCODER: vectors}, number_tokens(sequences[:300]))
    fit = tp.decompose(store, ENCODER, "offset2", scope="all", family="additive")
    assert sorted(fit.fit.pairs.roles) == ["-1", "-2", "0", "1", "2"]


@pytest.fixture(scope="module")
def tokens_store(sequences, tmp_path_factory):
    """Vectors of tokens that depend on filler and place, of an encoder and of a language model."""
    rng = np.random.default_rng(3)
    v = rng.normal(size=(len(FILLERS), 6, WIDTH))
    tokens = number_tokens(sequences)
    vectors = v[tokens["token"].map(FILLERS.index), tokens["position"]]
    path = tmp_path_factory.mktemp("tokens") / "store"
    return keep(path, {ENCODER: vectors, CAUSAL: vectors}, tokens)


def test_a_mean_is_made_of_shares(tokens_store, sequences, tmp_path):
    fit = tp.decompose(tokens_store, ENCODER, "left", unit="mean", family="saturated", rank="2x2")
    assert r2(fit) > 0.99
    assert "shares" in "\n".join(summarize(fit.scores))
    ends = np.cumsum([len(sequence) for sequence in sequences])[:-1]
    means = np.stack([states.mean(0) for states in np.split(tokens_store.read(ENCODER), ends)])
    assert np.allclose(fit.encode(sequences[:5]), means[:5], atol=0.05)
    pooled = keep(tmp_path / "pooled", {ENCODER: means}, number_tokens(sequences), pool="mean")
    pooled_fit = tp.decompose(pooled, ENCODER, "left", family="saturated", rank="2x2")
    assert pooled_fit.plan.kind.unit == "mean"
    assert r2(pooled_fit) == pytest.approx(r2(fit), abs=1e-3)
    with pytest.raises(tp.InputError, match="give the unit mean, not last"):
        tp.decompose(pooled, ENCODER, "left", unit="last")


@pytest.mark.parametrize("unit", ["first", "last"])
def test_a_state_of_one_token_stands_for_its_sample(unit, sequences, tokens_store):
    starts, rows = np.cumsum([0, *map(len, sequences)]), tokens_store.read(ENCODER)
    units = read_units(tokens_store, ENCODER, unit=unit)
    [(_, vectors)] = units.vectors.blocks()
    assert np.allclose(vectors, rows[starts[:-1] if unit == "first" else starts[1:] - 1])
    assert units.members[0].sum() == len(rows)


def test_a_mark_of_a_stack_that_looks_back_is_made_of_what_it_sees(tmp_path):
    marked = [[*sequence, ".", "b"] for sequence in draw_sequences(60, seed=1)]
    rows = np.random.default_rng(0).normal(size=(sum(map(len, marked)), WIDTH))
    store = keep(tmp_path / "store", {ENCODER: rows, CAUSAL: rows}, number_tokens(marked))
    encoder_units, causal_units = (read_units(store, site, unit=".") for site in (ENCODER, CAUSAL))
    assert encoder_units.members[0].sum(1).tolist() == [len(sequence) for sequence in marked]
    assert causal_units.members[0].sum(1).tolist() == [len(sequence) - 1 for sequence in marked]
    [(_, vectors)] = causal_units.vectors.blocks()
    ends = np.cumsum([len(sequence) for sequence in marked])
    assert np.allclose(vectors, rows[ends - 2])


def test_pooled_states_of_a_decoder_are_of_its_tokens(tmp_path):
    sources, targets = draw_sequences(300, seed=1), draw_sequences(300, seed=4)
    sides = [number_tokens(sources), number_tokens(targets, "target")]
    tokens = pd.concat(sides).sort_values("sample", kind="stable").reset_index(drop=True)
    v = dict(zip(FILLERS, np.random.default_rng(0).normal(size=(8, WIDTH)), strict=True))
    means = np.array([np.mean([v[f] for f in sequence], axis=0) for sequence in targets])
    store = keep(tmp_path / "store", {DECODER: means}, tokens, pool="mean")
    assert r2(tp.decompose(store, DECODER, "bag", family="bag")) > 0.99


REFUSED = [
    ({"scope": "all", "roles": "left"}, "give scope context, or the roles offset"),
    ({"scope": "self", "roles": "offset"}, "the offset is always 0"),
    ({"unit": "mean", "roles": "offset"}, "a vector is of all tokens of a sample"),
    ({"unit": "mean", "scope": "context"}, "leave scope out"),
    ({"unit": "tokn"}, "unknown unit"),
    ({"unit": "a"}, "unknown unit"),
    ({"unit": "!"}, "has no token '!'"),
    ({"rare": -1}, "rare -1: give"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_designs_that_cannot_be_are_refused(options, message, tokens_store):
    with pytest.raises(tp.InputError, match=message):
        tp.decompose(tokens_store, ENCODER, **({"roles": "left"} | options))


def test_a_stack_that_looks_back_is_not_made_of_what_comes_after(tokens_store):
    with pytest.raises(tp.InputError, match="looks back"):
        tp.decompose(tokens_store, CAUSAL, "offset", scope="all")
    [_token, context] = read_units(tokens_store, CAUSAL, scope="context").members
    assert context.nnz
    assert (context.toarray() >= 0).all()
    assert not np.triu(context.toarray()).any()


def test_texts_that_a_model_reads_as_one_sequence_are_refused_in_a_line(tmp_path):
    tokens = number_tokens([["<unk>", "<unk>"]] * 60)
    tokens["document"] = tokens["sample"].astype(str)
    vectors = np.random.default_rng(0).normal(size=(60, WIDTH))
    store = keep(tmp_path / "store", {STATE: vectors}, tokens, pool="mean")
    with pytest.raises(tp.InputError, match="60 samples have 1 different sequences"):
        tp.decompose(store, STATE, "left")


def test_rare_fillers_are_joined_and_their_number_is_said(tmp_path):
    sequences = draw_sequences(300, seed=2)
    for i in range(30):
        sequences[i][0] = f"once{i}"
    vectors = np.random.default_rng(0).normal(size=(300, WIDTH))
    store = keep(tmp_path / "store", {STATE: vectors}, number_tokens(sequences), pool="mean")
    fit = tp.decompose(store, STATE, "left", family="additive")
    assert JOINED in fit.fit.pairs.fillers
    assert len(fit.fit.pairs.fillers) == 9
    assert "30 rare fillers are joined" in "\n".join(summarize(fit.scores))
    assert np.array_equal(fit.encode([["once3", "a"]]), fit.encode([["never seen", "a"]]))
    unjoined = tp.decompose(store, STATE, "left", family="additive", rare=0)
    assert len(unjoined.fit.pairs.fillers) == 38
    pd.testing.assert_series_equal(fit.scores["share"], unjoined.scores["share"])


def test_fillers_of_one_group_are_rare_however_often_they_occur():
    fillers = np.array(["x", "x", "x", "y", "y", "z"], object)
    joined, n = join_rare(fillers, np.array([0, 0, 0, 0, 1, 1]), 2)
    assert joined.tolist() == [JOINED] * 3 + ["y", "y", JOINED]
    assert n == 2


def test_the_operator_takes_the_input_embeddings_of_the_store(sequences, tmp_path):
    some_sequences = sequences[:300]
    rng = np.random.default_rng(0)
    e = dict(zip(FILLERS, rng.normal(size=(8, WIDTH)), strict=True))
    inputs = np.array([e[f] for sequence in some_sequences for f in sequence])
    sites = {"encoder.embedding": inputs, ENCODER: inputs @ rng.normal(size=(WIDTH, WIDTH))}
    store = keep(tmp_path / "store", sites, number_tokens(some_sequences))
    assert r2(tp.decompose(store, ENCODER, "left", family="operator")) > 0.99


def test_samples_of_tokens_are_their_last_vectors(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=300)
    units = read_units(store, HIDDEN, unit="sample")
    assert units.kind.unit == "last"
    assert len(units) == 300


def test_nothing_is_explained_where_every_token_has_a_vector_of_its_own(tmp_path):
    """What a fit has seen is not tested on: noise is explained in no family, nor of withheld pairs."""
    sequences = draw_sequences(60, seed=7)
    tokens = number_tokens(sequences)
    noise = np.random.default_rng(7).normal(size=(len(tokens), WIDTH))
    store = keep(tmp_path / "store", {ENCODER: noise}, tokens)
    options = {"family": "saturated", "rank": "2x2", "withheld": 0.2}
    scores = tp.decompose(store, ENCODER, "left", **options).scores
    real = scores[scores["control"] == ""]
    assert real["r2"].max() < 0.03
    assert real["r2_withheld"].max() < 0.03


def test_withheld_pairs_are_not_fitted_to(sequences, tmp_path):
    """Vectors of pairs that share nothing: only a fit that has seen a pair knows its vector."""
    tokens = number_tokens(sequences[:400])
    v = np.random.default_rng(3).normal(size=(len(FILLERS), 12, WIDTH))
    fillers = [FILLERS.index(token) for token in tokens["token"]]
    vectors = v[fillers, tokens["position"].to_numpy()]
    store = keep(tmp_path / "store", {ENCODER: vectors}, tokens)
    options = {"family": "saturated", "rank": "2x2", "withheld": 0.2}
    scores = tp.decompose(store, ENCODER, "left", **options).scores
    saturated = scores[(scores["control"] == "") & (scores["family"] == "saturated")].iloc[0]
    assert saturated["r2"] > 0.9
    assert saturated["r2_withheld"] < 0.5
