"""Decomposition into roles and fillers: against the formulas written out, planted schemes, and TPDN."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from planted.bindings import HIDDEN, STATE, both, draw_sequences, left, plant_bindings
from planted.cli import run_command
from planted.stores import number_tokens, write_store
from scipy.linalg import cho_solve
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import check_estimator

import tprprobe as tp
from tprprobe.analyses.decomposition.designs import make_designs
from tprprobe.analyses.decomposition.role_schemes import join_smallest, read_scheme
from tprprobe.analyses.decomposition.sequence_units import members_of
from tprprobe.estimators.bindings import ridge
from tprprobe.estimators.bindings.block_products import Block, dense, factorize, shape_of
from tprprobe.estimators.bindings.factors import hosvd
from tprprobe.estimators.bindings.families import BELOW, FAMILIES, make_block
from tprprobe.estimators.bindings.pairs import (
    Pairs,
    count_pairs,
    find_pairs,
    first_pair,
    hold_out_pairs,
)
from tprprobe.estimators.bindings.ridge import Regression, conjugate_gradients


def table(sequences):
    return number_tokens(sequences).rename(columns={"token": "filler"})[["sample", "filler"]]


def counted(sequences, roles="left*right"):
    tokens = table(sequences)
    pairs, pair_ids = find_pairs(tokens["filler"].to_numpy(), read_scheme(roles).label(tokens))
    sample = tokens["sample"].to_numpy()
    return pairs, count_pairs(members_of(sample, "sample", "self")[0], pairs, pair_ids)


@pytest.fixture(scope="module")
def problem():
    """Pairs, counts and random vectors with structure."""
    sequences = draw_sequences(400, seed=3)
    pairs, counts = counted(sequences)
    rng = np.random.default_rng(0)
    v = rng.normal(size=(len(pairs), 7))
    return pairs, counts, counts @ v + 0.5 * rng.normal(size=(400, 7)) + 3


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant_bindings(tmp_path_factory.mktemp("bindings") / "store", both, n=900, twin=True)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A store for what does not ask how well a scheme fits."""
    return plant_bindings(tmp_path_factory.mktemp("small") / "store", left, n=100, twin=True)


@pytest.fixture(scope="module")
def decomposition(store):
    return tp.decompose(store, STATE, "left*right", decoder=None)


def row(scores, family="factored", control=""):
    is_row = (scores["family"] == family) & (scores["control"] == control)
    [match] = scores[is_row].to_dict("records")
    return match


# roles


def roles_of(scheme, sequence):
    return [str(role) for role in read_scheme(scheme).label(table([sequence]))[0]]


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("left", ["0", "1", "2"]),
        ("right", ["2", "1", "0"]),
        ("left*right", ["0*2", "1*1", "2*0"]),
        ("wickel", ["#*1", "5*3", "1*#"]),
        ("tree", ["0", "10", "11"]),
        ("bag", ["any", "any", "any"]),
        ("length", ["3", "3", "3"]),
    ],
)
def test_built_in_roles(scheme, expected):
    assert roles_of(scheme, ["5", "1", "3"]) == expected


def test_neighbors_do_not_cross_sequences():
    label = read_scheme("before").label(table([["a", "b"], ["c"]]))[0]
    assert list(map(str, label)) == ["#", "a", "#"]


def test_trees_join_the_leftmost_smallest_and_never_the_last():
    # 4 1 1 0: the 0 is last, so the first 1 is joined with the second, then (1 1) with 0, then 4
    assert join_smallest(list("4110")) == ["0", "100", "101", "11"]
    assert join_smallest(["10", "9"]) == ["0", "1"]
    assert join_smallest(["7"]) == [""]


def test_sums_give_every_token_a_role_of_each_term():
    pairs, counts = counted([["a", "b"], ["a"]], "left+right")
    assert sorted(pairs.roles) == ["left:0", "left:1", "right:0", "right:1"]
    assert counts.sum(1).tolist() == [4, 2]


def test_functions_and_columns_are_roles(tmp_path):
    parity: dict[str, Any] = {"parity": lambda s: [c in "aceg" for c in s]}
    planted = plant_bindings(tmp_path / "store", left, n=100, **parity)
    by_name, by_function = (
        row(tp.decompose(planted, STATE, roles, family="additive").scores, "additive")["r2"]
        for roles in ("left", left)
    )
    assert by_function == pytest.approx(by_name)
    column = tp.decompose(planted, STATE, "parity", family="additive")
    assert list(column.fit.pairs.roles) == ["False", "True"]
    with pytest.raises(tp.InputError, match="one role a filler"):
        tp.decompose(planted, STATE, lambda s: ["x"])


def test_scopes_say_which_tokens_a_token_is_made_of():
    sample = np.array([0, 0, 1, 1, 1])
    [before], [sample_wide], [itself] = (
        [members.toarray() for members in members_of(sample, "token", scope)]
        for scope in ("before", "all", "self")
    )
    assert np.array_equal(sample_wide, (sample[:, None] == sample).astype(float))
    assert np.array_equal(before, np.tril(sample_wide))
    assert np.array_equal(itself, np.eye(5))
    token, neighbors = (members.toarray() for members in members_of(sample, "token", "context"))
    assert np.array_equal(token, np.eye(5))
    assert np.allclose(neighbors, (sample_wide - token) / np.array([1, 1, 2, 2, 2])[:, None])


# closed forms


def textbook(counts, e, blocks, penalties):
    """Coefficients of least squares whose intercept is not penalized; penalties are of blocks' variances."""
    x = [dense(counts @ block.basis) for block in blocks]
    lam = [p * len(e) * np.var(c, 0).mean() for p, c in zip(penalties, x, strict=True)]
    lam = np.repeat(lam, [block.width for block in blocks])
    xc, ec = np.hstack(x) - np.hstack(x).mean(0), e - e.mean(0)
    return np.linalg.solve(xc.T @ xc + np.diag(lam), xc.T @ ec)


@pytest.fixture
def blocks(problem):
    """Main effects, free vectors, and a dense block, with a penalty each."""
    pairs, _, _ = problem
    dense = Block("binding", 0, np.random.default_rng(4).normal(size=(len(pairs), 5)))
    main_effects = [make_block(name, 0, [pairs]) for name in ("filler", "role", "pair")]
    return [*main_effects[:2], dense, main_effects[2]], [0.01, 0.1, 0.3, 0.03]


@pytest.mark.parametrize("way", ["normal", "dual", "stepwise"])
def test_ridge_is_the_textbook_s_whichever_way(way, problem, blocks, monkeypatch):
    _pairs, counts, e = problem
    blocks, penalties = blocks
    n = 400 if way != "dual" else 100
    counts, e = csr_array(counts[:n]), e[:n]
    if way == "stepwise":
        monkeypatch.setattr(ridge, "MAX_DENSE", 10)
        monkeypatch.setattr(ridge, "TOLERANCE", 1e-9)
        monkeypatch.setattr(ridge, "MAX_STEPS", 2000)
    regression = Regression.of(counts, e)
    coefficients = np.concatenate(regression.solve(blocks, penalties))
    v = textbook(counts, e, blocks, penalties)
    assert (len(v) > n) == (way == "dual")
    assert np.allclose(coefficients, v, atol=1e-5 * abs(v).max())


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 2), (1, 2, 0)])
def test_single_tokens_are_solved_for_as_the_textbook_says(order, blocks):
    """A unit has one pair: the widest block is eliminated, first or last."""
    blocks, penalties = ([items[i] for i in order] for items in blocks)
    rng, n = np.random.default_rng(8), 500
    pairs = shape_of(blocks[0].basis)[0]
    counts = csr_array((np.ones(n), (np.arange(n), rng.integers(pairs, size=n))), (n, pairs))
    e = rng.normal(size=(n, 3)) + 5
    v = textbook(counts, e, blocks, penalties)
    coefficients = np.concatenate(Regression.of(counts, e).solve(blocks, penalties))
    assert np.allclose(coefficients, v, atol=1e-6 * abs(v).max())


def test_fewer_columns_of_the_last_block_are_those_alone(problem, blocks):
    _pairs, counts, e = problem
    main, dense = blocks[0][:2], blocks[0][2]
    column_ids = np.array([0, 3])
    narrow = Block("binding", 0, dense.basis[:, column_ids])
    regression = Regression.of(counts, e)
    by_columns = regression.solve([*main, dense], [0.01, 0.1, 0.2], column_ids)
    penalty = 0.2 * regression.grams.scale(dense) / regression.grams.scale(narrow)
    by_block = regression.solve([*main, narrow], [0.01, 0.1, penalty])
    for a, b in zip(by_columns, by_block, strict=True):
        assert np.allclose(a, b)


def test_a_system_that_rounding_makes_indefinite_is_solved():
    matrix = np.ones((3, 3)) - 1e-13 * np.eye(3)
    solution = cho_solve(factorize(matrix.copy()), np.ones(3))
    assert np.allclose(matrix @ solution, 1, atol=1e-6)


@pytest.mark.parametrize("fillers", [8, 60])
def test_a_table_s_factors_span_its_directions(fillers):
    rng = np.random.default_rng(fillers)
    f, r, w = (rng.normal(size=s) for s in ((fillers, 3), (9, 2), (3, 2, 7)))
    pairs = Pairs.product(pd.Index(range(fillers)), pd.Index(range(9)))
    table = np.einsum("aj,bk,jkd->abd", f, r, w)
    filler_factors, role_factors = hosvd(table.reshape(-1, 7), pairs)
    assert (filler_factors.shape[1], role_factors.shape[1]) == (3, 2)
    for factors, axis in ((filler_factors, 0), (role_factors, 1)):
        unfolded = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
        basis = factors / np.linalg.norm(factors, axis=0)
        assert np.allclose(basis.T @ basis, np.eye(len(basis.T)), atol=1e-6)
        assert np.allclose(basis @ (basis.T @ unfolded), unfolded)


def test_withheld_pairs_leave_every_filler_and_role_seen(problem):
    pairs, counts, _ = problem
    held_out = hold_out_pairs(counts, pairs, 0.1, np.random.default_rng(0))
    remaining = csr_array(counts[np.flatnonzero(first_pair(counts, held_out) < 0)])
    assert 0 < held_out.sum() <= round(0.1 * len(pairs))
    assert len(remaining.toarray()) >= len(counts.toarray()) / 2
    assert not remaining[:, np.flatnonzero(held_out)].nnz
    seen_pairs = ~held_out
    assert np.bincount(pairs.filler_of[seen_pairs], minlength=len(pairs.fillers)).min() > 0


# decompose


def test_a_planted_scheme_comes_back(decomposition):
    scores = decomposition.scores
    good, additive = row(scores), row(scores, "additive")
    assert good["r2_low"] < good["r2"] < good["r2_high"]
    assert good["r2"] > 0.85 > additive["r2_high"]
    assert good["rank"] == "4×3"
    assert good["over"] == "additive"
    assert good["gain"] == pytest.approx(good["r2"] - additive["r2"])
    assert 0 < good["gain_low"] < good["gain"] < good["gain_high"]


def test_sequences_with_withheld_pairs_are_encoded_by_a_fit_that_has_not_seen_them(
    store, decomposition
):
    units, scheme = decomposition.plan.read(store, STATE), decomposition.scheme
    split = next(make_designs(units, scheme, decomposition.plan.withheld, decomposition.plan.seed))
    rows, true = np.flatnonzero(split.test & split.unseen), store.read(STATE)
    sequences = [list(tokens) for _, tokens in store.tokens.groupby("sample")["token"]]
    predicted = decomposition.without_withheld.encode([sequences[i] for i in rows])
    errors, mean = np.sum((true[rows] - predicted) ** 2), true[split.fitted[1]].mean(0)
    r2 = 1 - errors / np.sum((true[rows] - mean) ** 2)
    assert r2 == pytest.approx(row(decomposition.scores)["r2_withheld"], abs=1e-6)
    table = decomposition.results.table.query("metric == 'r2_withheld' and estimator == 'factored'")
    assert table["n_groups"].item() == len(np.unique(split.withheld[rows]))  # pairs, not documents
    with pytest.raises(tp.InputError, match="no pairs were withheld"):
        _ = tp.decompose(store, STATE, family="bag", withheld=0).without_withheld


def test_what_is_learned_is_the_gain_over_the_twin_s(decomposition):
    scores = decomposition.scores
    good, twin = row(scores), row(scores, control="untrained")
    assert good["twin"] == "untrained"
    assert good["learned"] == pytest.approx(good["gain"] - twin["gain"])
    assert good["learned_low"] < good["learned"] < good["learned_high"]
    assert abs(twin["gain"]) < 0.05


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 8))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "kind", ["zipf", "few", pytest.param("roles", marks=pytest.mark.soak), "bag", "noise"]
)
def test_no_family_errs_more_than_the_one_below_it_but_for_chance(kind, seed, tmp_path):
    rng = np.random.default_rng((seed, 7))
    sequences = planted_sequences(kind, rng)
    store = write_states(tmp_path / "store", sequences, kind, rng)
    rank = "1x2" if kind == "zipf" else "auto"
    scores = tp.decompose(store, STATE, "left", rank=rank, seed=seed).scores
    for family in BELOW:
        assert row(scores, family)["gain_high"] > -0.005, (family, scores)


def planted_sequences(kind, rng):
    """Many fillers by Zipf's law; few sequences; long ones of many roles; or eight fillers."""
    n, longest, size = {"few": (60, 5, 8), "roles": (300, 25, 8), "zipf": (500, 8, 300)}.get(
        kind, (400, 5, 8)
    )
    chance = 1 / np.arange(1, size + 1)
    names, chance = [f"w{i}" for i in range(size)], chance / chance.sum()
    return [list(rng.choice(names, rng.integers(1, longest + 1), p=chance)) for _ in range(n)]


def write_states(path, sequences, kind, rng):
    """A store of sums of bindings and noise, of fillers alone, or of noise."""
    lengths = [len(sequence) for sequence in sequences]
    tokens = table(sequences)
    places = np.concatenate([np.arange(n) for n in lengths])
    fillers, roles = rng.normal(size=(300, 4)), rng.normal(size=(25, 3))
    code = np.array([int(filler[1:]) for filler in tokens["filler"]])
    bound = np.einsum("ij,ik,jkd->id", fillers[code], roles[places], rng.normal(size=(4, 3, 12)))
    if kind == "bag":
        bound = fillers[code] @ rng.normal(size=(4, 12))
    states = np.zeros((len(sequences), 12))
    if kind != "noise":
        np.add.at(states, tokens["sample"].to_numpy(), bound)
    states += rng.normal(size=states.shape)
    return write_store(path, {STATE: states}, number_tokens(sequences), "sample")


def test_only_systematic_binding_predicts_withheld_pairs(decomposition):
    good, free = row(decomposition.scores), row(decomposition.scores, "saturated")
    assert good["n_withheld"] > 20
    assert good["r2_withheld"] > 0.8
    assert free["r2_withheld"] < good["r2_withheld_low"]


def test_encoding_gives_the_fit_s_vectors(store, decomposition):
    vectors, encoded = store.read(STATE), decomposition.encode(draw_sequences(900))
    assert np.sum((vectors - encoded) ** 2) < 0.2 * np.sum((vectors - vectors.mean(0)) ** 2)
    assert np.allclose(decomposition.encode([["z"], ["a", "z"]])[0], decomposition.fit.bias)
    assert np.allclose(decomposition.encode([["z"]]), decomposition.fit.bias)


def test_tokens_are_units_too(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=150, noise=0.1)
    token_fit = tp.decompose(store, HIDDEN, "left", rank="4x3")
    assert row(token_fit.scores)["r2"] > 0.95
    assert token_fit.encode([["a", "b"]]).shape == (2, 16)
    summed = tp.decompose(store, HIDDEN, "left", scope="before", rank="4x3")
    assert row(summed.scores)["r2"] < row(token_fit.scores)["r2_low"]


def test_embeddings_are_sites_or_vectors(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=150, noise=0.1)
    from_site = tp.decompose(store, STATE, "left", family="operator", embedding=HIDDEN)
    assert row(from_site.scores, "operator")["r2"] > 0.8
    with pytest.raises(tp.InputError, match="no embedding of the filler"):
        tp.decompose(store, STATE, "left", family="operator", embedding={"a": [1.0]})
    with pytest.raises(tp.InputError, match="needs an embedding"):
        tp.decompose(store, STATE, "left", family="operator")


def test_a_decoder_scores_substitution(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=600)
    rng = np.random.default_rng(0)
    decoded = []

    def decoder(vectors, sequences):
        decoded.extend(sequences)
        return rng.random(len(vectors)) < 0.5

    scores = tp.decompose(store, STATE, "left", family="additive", decoder=decoder).scores
    assert all(isinstance(sequence, list) for sequence in decoded)
    low, share, high = (
        row(scores, "additive")[f"substitution{end}"] for end in ("_low", "", "_high")
    )
    assert 0.3 < low < share < high < 0.7
    assert "itself" in set(scores["control"])
    for answer in (lambda _, sequences: sequences, lambda _, sequences: [2] * len(sequences)):
        with pytest.raises(tp.InputError, match="reads back right"):
            tp.decompose(store, STATE, "left", family="additive", decoder=answer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roles": "lefd"}, "did you mean 'left'"),
        ({"roles": "left*"}, "joined by"),
        ({"family": "free"}, "unknown family"),
        ({"rank": "0x2"}, "rank '0x2'"),
        ({"withheld": 1.5}, "withheld 1.5"),
        ({"scope": "some", "site": HIDDEN}, "unknown scope"),
        ({"unit": "token"}, "one vector for every sample"),
        ({"fillers": "word"}, "unknown column of fillers"),
        ({"site": "encoder.9.hidden"}, "unknown site"),
    ],
)
def test_bad_input_is_told_in_one_line(small, options, message):
    with pytest.raises(tp.InputError, match=message):
        tp.decompose(small, **{"site": STATE, "roles": "left"} | options)


def test_the_command_prints_rows(small, tmp_path):
    args = f"decompose {small.path} --site {STATE} --roles left --family additive".split()
    rows = json.loads(run_command(*args, "--out", tmp_path / "out", "--json").stdout)
    assert {row["family"] for row in rows} >= {"additive", "bag"}
    assert rows[0]["roles"] == "left"
    with pytest.raises(tp.InputError):
        run_command(*args[:-4], "--roles", "x", "--out", tmp_path / "bad")
    assert not (tmp_path / "bad").exists()


# the estimator


CONTRACT = [
    pytest.param(family, marks=() if family == "factored" else pytest.mark.soak)
    for family in FAMILIES
    if family not in ("operator", "bag")
]


@pytest.mark.parametrize("family", CONTRACT)
def test_the_estimator_keeps_the_contract(family):
    fixed = "the names of its arguments are pairs and vectors"
    checks = check_estimator(
        tp.TPDecomposition(family=family),
        expected_failed_checks={
            "check_fit_score_takes_y": fixed,
            "check_n_features_in_after_fitting": fixed,
        },
        on_skip=None,
    )
    assert {check["status"] for check in checks} <= {"passed", "xfail", "skipped"}


def pair_lists(sequences):
    return [list(zip(sequence, left(sequence), strict=True)) for sequence in sequences]


def test_the_estimator_finds_factors_and_unbinds(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=800, noise=0.05, ranks=(3, 5), width=24)
    lists, vectors = pair_lists(draw_sequences(800)), store.read(STATE)
    fit = tp.TPDecomposition((3, 5), "product", random_state=0).fit(lists[:600], vectors[:600])
    assert fit.score(lists[600:], vectors[600:]) > 0.95
    assert fit.fillers_.shape == (8, 3)
    assert fit.roles_.shape == (6, 5)
    assert fit.readout_.shape == (3, 5, 24)
    w = np.einsum("fj,rk,jkd->frd", fit.fillers_, fit.roles_, fit.readout_)
    number = {name: i for i, name in enumerate(fit.filler_names_)}
    encoding = w[number["a"], 0] + w[number["c"], 1] + fit.intercept_
    assert np.allclose(fit.encode([[("a", "0"), ("c", "1")]])[0], encoding)
    unbound = fit.unbind(encoding[None])[0]
    assert unbound.shape == (6, 3)


def test_the_estimator_s_rank_is_what_predicts_withheld_pairs():
    """Fillers and roles of 4 and 3 dimensions, multiplied: without noise new sequences take every dimension."""
    rng = np.random.default_rng(5)
    f, r = (rng.normal(size=(n, k)) @ rng.normal(size=(k, 96)) for n, k in ((8, 4), (6, 3)))
    table = dict(zip("abcdefgh", f[:, None] * r, strict=True))
    lists = pair_lists(draw_sequences(600))
    vectors = np.stack([sum(table[name][int(role)] for name, role in pairs) for pairs in lists])
    is_withheld = np.array([("a", "2") in pairs or ("d", "0") in pairs for pairs in lists])
    seen, unseen = ([lists[i] for i in np.flatnonzero(is_withheld == new)] for new in (False, True))
    fit = tp.TPDecomposition(family="product", random_state=0).fit(seen, vectors[~is_withheld])
    assert max(fit.fillers_.shape[1] - 4, fit.roles_.shape[1] - 3) <= 1
    assert fit.score(unseen, vectors[is_withheld]) > 0.999


def test_a_table_s_columns_are_roles():
    rng = np.random.default_rng(0)
    words = pd.DataFrame({"S": rng.choice(list("abcd"), 200), "O": rng.choice(list("abcd"), 200)})
    code = words.apply(lambda column: column.map(ord))
    vectors = np.stack([code["S"] == 97, code["O"], code["S"] * 0.5], 1).astype(float)
    fit = tp.TPDecomposition(family="saturated", random_state=0).fit(words, vectors)
    assert list(fit.role_names_) == ["O", "S"]
    assert fit.score(words, vectors) > 0.99
    words.loc[0, "S"] = None
    assert np.isfinite(fit.encode(words)).all()


# what others measured


@pytest.fixture(scope="module")
def encodings(shared, tmp_path_factory):
    file = shared / "data/tpdn/example.data_from_dev.gz"
    if not file.is_file():
        pytest.skip("the encodings of the TPDN's authors are absent")
    return tp.import_store(file, tmp_path_factory.mktemp("tpdn") / "store")


@pytest.mark.parametrize(
    ("roles", "pairs", "low", "high"),
    [
        ("bag", 10, 0.26, 0.31),
        pytest.param("left", 60, 0.86, 0.90, marks=pytest.mark.soak),
        pytest.param("right", 60, 0.61, 0.67, marks=pytest.mark.soak),
        pytest.param("left*right", 185, 0.92, 0.95, marks=pytest.mark.soak),
        pytest.param("tree", 444, 0.65, 0.72, marks=pytest.mark.soak),
    ],
)
def test_authors_encodings_have_the_known_shares(encodings, roles, pairs, low, high):
    scores = tp.decompose(encodings, "encoding", roles, family="saturated").scores
    scores_row = row(scores, "saturated")
    assert scores_row["pairs"] == pairs
    assert low < scores_row["r2"] < high


def test_conjugate_gradients_end_where_a_map_is_singular():
    scale = np.array([[2.0], [1.0], [0.0]])
    right = np.array([[2.0, 4.0], [3.0, 0.0], [1.0, 0.0]])  # nothing gives the last row
    solution = conjugate_gradients(lambda x: scale * x, right)
    assert np.isfinite(solution).all()
    assert np.abs(solution[0, 1] - 2) < 1e-6
    assert np.abs(solution).max() < 1e6


def test_the_estimator_binds_free_vectors_by_default():
    """Order alone tells sentences apart: a saturated fit says so without being asked for withheld=0."""
    rng = np.random.default_rng(0)
    bound = rng.normal(size=(6, 2, 8))
    pairs = [[(str(a), "first"), (str(b), "second")] for a in range(6) for b in range(6) if a != b]
    vectors = np.array([bound[int(p[0][0]), 0] + bound[int(p[1][0]), 1] for p in pairs])
    order = rng.permutation(len(pairs))
    pairs, vectors = [pairs[i] for i in order] * 4, np.tile(vectors[order], (4, 1))
    fit = tp.TPDecomposition(family="saturated", random_state=0).fit(pairs, vectors)
    swapped = [[(p[0][0], "second"), (p[1][0], "first")] for p in pairs]
    real = np.array([bound[int(p[0][0]), 1] + bound[int(p[1][0]), 0] for p in pairs])
    assert fit.score(swapped, real) > 0.95
