"""Decomposition into roles and fillers: against the formulas written out, planted schemes, and TPDN."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from planted.bindings import HIDDEN, STATE, both, draw_sequences, left, plant_bindings
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import check_estimator
from typer.testing import CliRunner

import tprprobe as tp
from tprprobe.analyses.decomposition import decompose_all, pair_batches, pair_moments
from tprprobe.analyses.decomposition import factors as alternating
from tprprobe.analyses.decomposition.factors import find_start, fit_factors
from tprprobe.analyses.decomposition.families import FAMILIES, fit_family
from tprprobe.analyses.decomposition.joining import join_smallest
from tprprobe.analyses.decomposition.pair_counts import count_pairs, find_pairs
from tprprobe.analyses.decomposition.pair_moments import add_moments, moments_of
from tprprobe.analyses.decomposition.rank_choice import choose_ranks, ladder
from tprprobe.analyses.decomposition.ridge import conjugate_gradients, solve_ridge
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.analyses.decomposition.sequence_units import members_of
from tprprobe.analyses.decomposition.withheld_pairs import have, withhold
from tprprobe.cli import app


def table(sequences):
    sample = np.repeat(np.arange(len(sequences)), [len(each) for each in sequences])
    flat = np.array([each for row in sequences for each in row], object)
    return pd.DataFrame({"sample": sample, "filler": flat})


def counted(sequences, roles="left*right"):
    tokens = table(sequences)
    pairs, found = find_pairs(tokens["filler"].to_numpy(), read_scheme(roles).label(tokens))
    sample = tokens["sample"].to_numpy()
    return pairs, count_pairs(members_of(sample, "sample", "self"), pairs, found)


@pytest.fixture(scope="module")
def problem():
    """Pairs, counts and moments of random vectors with structure."""
    sequences = draw_sequences(400, seed=3)
    pairs, counts = counted(sequences)
    rng = np.random.default_rng(0)
    v = rng.normal(size=(len(pairs), 7))
    return pairs, counts, moments_of(counts, counts @ v + 0.5 * rng.normal(size=(400, 7)) + 3)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant_bindings(tmp_path_factory.mktemp("bindings") / "store", both, n=900, twin=True)


@pytest.fixture(scope="module")
def found(store):
    return tp.decompose(store, STATE, "left*right", decoder=None)


def row(scores, family="factored", control=""):
    [found] = scores[(scores["family"] == family) & (scores["control"] == control)].to_dict(
        "records"
    )
    return found


# roles


def roles_of(scheme, sequence):
    return [str(each) for each in read_scheme(scheme).label(table([sequence]))[0]]


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


def test_neighbours_do_not_cross_sequences():
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
    planted = plant_bindings(
        tmp_path / "store", left, n=300, parity=lambda s: [c in "aceg" for c in s]
    )
    mine = tp.decompose(
        planted, STATE, lambda s: [str(i) for i in range(len(s))], family="saturated"
    )
    same = tp.decompose(planted, STATE, "left", family="saturated")
    assert row(mine.scores, "saturated")["r2"] == pytest.approx(row(same.scores, "saturated")["r2"])
    column = tp.decompose(planted, STATE, "parity", family="saturated")
    assert list(column.fit.pairs.roles) == ["False", "True"]
    with pytest.raises(tp.InputError, match="one role a filler"):
        tp.decompose(planted, STATE, lambda s: ["x"])


def test_scopes_say_which_tokens_a_token_is_made_of():
    sample = np.array([0, 0, 1, 1, 1])
    before = members_of(sample, "token", "before").toarray()
    whole = members_of(sample, "token", "all").toarray()
    assert before.tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [0, 0, 1, 1, 0],
        [0, 0, 1, 1, 1],
    ]
    assert np.array_equal(whole, (sample[:, None] == sample).astype(float))
    assert np.array_equal(members_of(sample, "token", "self").toarray(), np.eye(5))


# closed forms


def least_squares(x, e, lam=0.0):
    """V and b by the textbook: an intercept that is not penalized."""
    xc, ec = x - x.mean(0), e - e.mean(0)
    v = np.linalg.solve(xc.T @ xc + lam * np.eye(x.shape[1]), xc.T @ ec)
    return v, e.mean(0) - x.mean(0) @ v


def test_moments_of_parts_add_up(problem):
    _, counts, _moments = problem
    e = np.random.default_rng(1).normal(size=(400, 7))
    halves = [moments_of(csr_array(counts[of]), e[of]) for of in (slice(150), slice(150, 400))]
    both, whole = add_moments(halves), moments_of(counts, e)
    assert np.allclose(both.scatter, whole.scatter)
    assert np.allclose(both.centred_cross, whole.centred_cross)
    assert both.variation == pytest.approx(whole.variation)
    assert whole.variation == pytest.approx(np.sum((e - e.mean(0)) ** 2))


def test_ridge_is_the_textbook_s(problem):
    pairs, counts, _moments = problem
    rng = np.random.default_rng(2)
    e = rng.normal(size=(400, 7))
    of = moments_of(counts, e)
    lam = 0.01 * np.trace(of.scatter) / len(pairs)
    v, b = least_squares(counts.toarray(), e, lam)
    fit = fit_family("saturated", of, pairs, 0.01)
    assert np.allclose(fit.vectors, v)
    assert np.allclose(fit.bias, b)
    assert fit.errors(of) == pytest.approx(np.sum((e - counts @ v - b) ** 2))


@pytest.mark.parametrize("family", ["additive", "bag"])
def test_coarser_families_are_regressions_on_their_features(family, problem):
    pairs, counts, _moments = problem
    e = np.random.default_rng(2).normal(size=(400, 7))
    of_filler = np.eye(len(pairs.fillers))[pairs.filler_of]
    of_role = np.eye(len(pairs.roles))[pairs.role_of]
    basis = of_filler if family == "bag" else np.hstack([of_filler, of_role])
    x = counts @ basis
    lam = 0.01 * np.mean(np.var(x, 0)) * 400
    v, b = least_squares(x, e, lam)
    fit = fit_family(family, moments_of(counts, e), pairs, 0.01)
    assert np.allclose(fit.predict(counts), x @ v + b)


def test_operators_act_on_given_embeddings(problem):
    pairs, counts, _ = problem
    rng = np.random.default_rng(5)
    embedding = rng.normal(size=(len(pairs.fillers), 3))
    maps = rng.normal(size=(len(pairs.roles), 3, 7))
    v = np.einsum("pk,pkd->pd", embedding[pairs.filler_of], maps[pairs.role_of])
    of = moments_of(counts, counts @ v)
    fit = fit_family("operator", of, pairs, 1e-6, embedding=embedding)
    assert np.allclose(fit.predict(counts), counts @ v, atol=1e-2)


def test_many_columns_are_solved_step_by_step_as_few_are(problem, monkeypatch):
    _pairs, _, moments = problem
    direct = solve_ridge(moments, 1e-2)
    monkeypatch.setattr("tprprobe.analyses.decomposition.pair_moments.DENSE", 10)
    again = add_moments([moments])
    assert not again.is_dense
    assert np.allclose(solve_ridge(again, 1e-2), direct, atol=1e-4 * abs(direct).max())


def test_conjugate_gradients_solve_every_column():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(9, 9))
    matrix, right = root @ root.T + np.eye(9), rng.normal(size=(9, 3))
    assert np.allclose(
        conjugate_gradients(lambda x: matrix @ x, right), np.linalg.solve(matrix, right)
    )


def reference(g, c, ranks, shape, lam, sweeps, seed):
    """Alternating ridge as the formulas say, V = F R W on the grid, from a random start."""
    rng = np.random.default_rng(seed)
    (n_f, n_r), (d_f, d_r) = shape, ranks
    f, r = rng.normal(size=(n_f, d_f)), rng.normal(size=(n_r, d_r))
    g4, c3 = g.reshape(n_f, n_r, n_f, n_r), c.reshape(n_f, n_r, -1)
    for _ in range(sweeps):
        z = np.kron(f, r)
        w = np.linalg.solve(z.T @ g @ z + lam * np.eye(d_f * d_r), z.T @ c).reshape(d_f, d_r, -1)
        wr = np.einsum("bj,kjd->bkd", r, w)
        a = np.einsum("abxy,bkd,yld->akxl", g4, wr, wr).reshape(n_f * d_f, -1)
        f = np.linalg.solve(a + lam * np.eye(len(a)), np.einsum("bkd,abd->ak", wr, c3).ravel())
        f = f.reshape(n_f, d_f)
        wf = np.einsum("ak,kjd->ajd", f, w)
        a = np.einsum("abxy,ajd,xld->bjyl", g4, wf, wf).reshape(n_r * d_r, -1)
        r = np.linalg.solve(a + lam * np.eye(len(a)), np.einsum("ajd,abd->bj", wf, c3).ravel())
        r = r.reshape(n_r, d_r)
    z = np.kron(f, r)
    return z @ np.linalg.solve(z.T @ g @ z + lam * np.eye(d_f * d_r), z.T @ c)


def test_factors_reach_what_the_formulas_reach(problem):
    pairs, _counts, moments = problem
    grid_g, grid_c = np.zeros((pairs.cells,) * 2), np.zeros((pairs.cells, 7))
    grid_g[np.ix_(pairs.codes, pairs.codes)] = moments.scatter
    grid_c[pairs.codes] = moments.centred_cross
    shape = (len(pairs.fillers), len(pairs.roles))
    start = find_start(solve_ridge(moments, 1e-3), pairs, (9, 9))
    mine = fit_factors(moments, pairs, (4, 3), 1e-3, start, sweeps=60)
    v = mine.vectors(pairs.filler_of, pairs.role_of)
    bias = moments.mean - moments.mean_counts @ v
    lam = 1e-3 * moments.mean_variance
    theirs = min(
        moments.errors(
            w := reference(grid_g, grid_c, (4, 3), shape, lam, 30, seed)[pairs.codes],
            moments.mean - moments.mean_counts @ w,
        )
        for seed in range(2)
    )
    assert moments.errors(v, bias) <= 1.01 * theirs


def test_no_sweep_makes_the_objective_larger(problem):
    pairs, _, moments = problem
    start = find_start(solve_ridge(moments, 1e-2), pairs, (9, 9))
    posed = alternating.pose(moments, pairs, 1e-2, (3, 2))
    f, r = start[0][:, :3], start[1][:, :2]
    w, before = posed.readout(f, r)
    for _ in range(4):
        f = posed.factor(f, r, w, 0)
        w, explained = posed.readout(f, r)
        assert explained >= before - 1e-9 * abs(before)
        r = posed.factor(r, f, w, 1)
        w, before = posed.readout(f, r)
        assert before >= explained - 1e-9 * abs(before)


def test_lists_of_pairs_and_grids_have_the_same_factors(problem, monkeypatch):
    pairs, _, moments = problem
    start = find_start(solve_ridge(moments, 1e-2), pairs, (9, 9))
    grid = fit_factors(moments, pairs, (3, 2), 1e-2, start, sweeps=60)
    monkeypatch.setattr(alternating, "DENSE", 10)
    listed = fit_factors(moments, pairs, (3, 2), 1e-2, start, sweeps=60)
    one, other = (each.vectors(pairs.filler_of, pairs.role_of) for each in (grid, listed))
    errors = [moments.errors(v, moments.mean - moments.mean_counts @ v) for v in (one, other)]
    assert errors[0] == pytest.approx(errors[1], rel=2e-2)


def test_batches_have_every_pair_once_beside_its_symbol(monkeypatch):
    monkeypatch.setattr(pair_batches, "MOST", 3)
    of = np.array([3, 0, 3, 5, 0, 5, 1, 3, 7, 6])  # symbols 2 and 4 have no pair
    found = list(pair_batches.batch_pairs(of))
    assert sorted(np.concatenate([at.ravel() for _, at in found])) == list(range(10))
    for symbols, at in found:
        assert (of[at] == symbols[:, None]).all()
        assert at.size <= 3
    assert [at.shape[1] for _, at in found] == [1, 2, 2, 3]


@pytest.mark.parametrize("length", [1, 3, 30])
def test_g_times_vectors_is_the_same_whichever_way(length, monkeypatch):
    rng = np.random.default_rng(length)
    counts = csr_array(rng.multinomial(length, np.full(40, 1 / 40), size=60))
    found = moments_of(counts, rng.normal(size=(60, 3)))
    v = rng.normal(size=(40, 2))
    expected = found.scatter @ v
    for cost in (0, 10**6):
        monkeypatch.setattr(pair_moments, "SPARSE_COST", cost)
        assert np.allclose(found.times(v), expected)


def test_many_fillers_at_few_roles_make_no_large_system(problem):
    pairs, _, moments = problem
    kinds = [type(alternating.pose(moments, pairs, 1e-2, (n, 2))) for n in (3, 10**4)]
    assert kinds == [alternating.Grid, alternating.PairList]


def test_the_start_of_many_fillers_is_as_good_as_the_exact_one(problem, monkeypatch):
    pairs, rng = problem[0], np.random.default_rng(0)
    fillers, roles = (rng.normal(size=(len(of), 3)) for of in (pairs.fillers, pairs.roles))
    bound = np.einsum("pi,pj->pij", fillers[pairs.filler_of], roles[pairs.role_of][:, :2])
    v = np.tensordot(bound, rng.normal(size=(3, 2, 7)), 2)
    v += 0.1 * rng.normal(size=v.shape)
    exact = find_start(v, pairs, (3, 2))
    for name, value in (("SHORT", 2), ("SPARE", 2)):
        monkeypatch.setattr(alternating, name, value)
    searched = find_start(v, pairs, (3, 2))
    assert searched[0].shape[1] == 5 < exact[0].shape[1]  # the directions asked for, and the spare
    table = np.zeros((len(pairs.fillers), len(pairs.roles), v.shape[1]))
    table[pairs.filler_of, pairs.role_of] = v
    for axis, rank in enumerate((3, 2)):
        unfolded = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
        kept = [np.sum((each[axis][:, :rank].T @ unfolded) ** 2) for each in (exact, searched)]
        best = np.sum(np.linalg.svd(unfolded, compute_uv=False)[:rank] ** 2)
        assert kept[0] == pytest.approx(best)
        assert kept[1] == pytest.approx(best, rel=1e-2)


def test_ranks_grow_where_neither_one_helps_alone(problem):
    """A sum of f ⊗ r ⊗ w whose terms are equally large."""
    pairs, counts, _ = problem
    f, r = (np.arange(len(of)) % 4 for of in (pairs.fillers, pairs.roles))
    v = np.eye(4)[f[pairs.filler_of]] * np.eye(4)[r[pairs.role_of]]
    moments = moments_of(counts, counts @ v)
    assert min(choose_ranks(moments, moments, pairs)) >= 4


def test_ranks_of_many_fillers_are_never_all_of_them():
    assert ladder(5000)[-1] == ladder(128)[-1] == 128
    assert ladder(2) == [1, 2]


def test_withheld_pairs_leave_every_filler_and_role_seen(problem):
    pairs, counts, _ = problem
    chosen = withhold(counts, pairs, 0.1, np.random.default_rng(0))
    rest = csr_array(counts[np.flatnonzero(~have(counts, chosen))])
    assert 0 < chosen.sum() <= round(0.1 * len(pairs))
    assert len(rest.toarray()) >= len(counts.toarray()) / 2
    assert not rest[:, np.flatnonzero(chosen)].nnz
    kept = ~chosen
    assert np.bincount(pairs.filler_of[kept], minlength=len(pairs.fillers)).min() > 0


# decompose


def test_a_planted_scheme_comes_back(found):
    scores = found.scores
    good, additive = row(scores), row(scores, "additive")
    assert good["r2_low"] < good["r2"] < good["r2_high"]
    assert good["r2"] > 0.85 > additive["r2_high"]
    assert good["rank"] == "4×3"
    assert good["bits"] < min(0, row(scores, "saturated")["bits"], row(scores, "bag")["bits"])


def test_only_systematic_binding_predicts_withheld_pairs(found):
    good, free = row(found.scores), row(found.scores, "saturated")
    assert good["n_withheld"] > 20
    assert good["r2_withheld"] > 0.8
    assert free["r2_withheld"] < good["r2_withheld_low"]


def test_controls_are_beside_every_fit(found):
    controls = set(found.scores["control"])
    assert controls >= {"shuffled roles", "shuffled fillers", "random vectors", "pca", "untrained"}
    best = row(found.scores)["r2_low"]
    for control in ("shuffled roles", "shuffled fillers", "random vectors", "untrained"):
        assert row(found.scores, control=control)["r2"] < best
    assert abs(row(found.scores, control="random vectors")["r2"]) < 0.1


def test_encoding_gives_the_fit_s_vectors(store, found):
    sequences = draw_sequences(900)
    vectors = store.read(STATE)
    encoded = found.encode(sequences)
    errors = np.sum((vectors - encoded) ** 2) / np.sum((vectors - vectors.mean(0)) ** 2)
    assert encoded.shape == vectors.shape
    assert errors < 0.2
    assert np.allclose(found.encode([["z"], ["a", "z"]])[0], found.fit.bias)


def test_tokens_are_units_too(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=500, noise=0.1)
    own = tp.decompose(store, HIDDEN, "left")
    assert row(own.scores)["r2"] > 0.95
    assert own.encode([["a", "b"]]).shape == (2, 16)
    summed = tp.decompose(store, HIDDEN, "left", scope="all")
    assert row(summed.scores)["r2"] < row(own.scores)["r2_low"]


def test_embeddings_are_sites_or_vectors(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=400, noise=0.1)
    from_site = tp.decompose(store, STATE, "left", family="operator", embedding=HIDDEN)
    assert row(from_site.scores, "operator")["r2"] > 0.8
    with pytest.raises(tp.InputError, match="no embedding of the filler"):
        tp.decompose(store, STATE, "left", family="operator", embedding={"a": [1.0]})
    with pytest.raises(tp.InputError, match="needs an embedding"):
        tp.decompose(store, STATE, "left", family="operator")


def test_a_decoder_scores_substitution(store):
    rng = np.random.default_rng(0)
    asked = []

    def decoder(vectors, sequences):
        asked.extend(sequences)
        return rng.random(len(vectors)) < 0.5

    scores = tp.decompose(store, STATE, "left*right", family="saturated", decoder=decoder).scores
    assert all(isinstance(each, list) for each in asked)
    share = row(scores, "saturated")
    assert (
        0.3 < share["substitution_low"] < share["substitution"] < share["substitution_high"] < 0.7
    )
    assert "itself" in set(scores["control"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roles": "lefd"}, "did you mean 'left'"),
        ({"roles": "left*"}, "joined by"),
        ({"family": "free"}, "unknown family"),
        ({"rank": "0x2"}, "rank '0x2'"),
        ({"withheld": 1.5}, "withheld 1.5"),
        ({"scope": "some", "site": HIDDEN}, "unknown scope"),
        ({"unit": "token"}, "one vector a sample"),
        ({"fillers": "word"}, "unknown column of fillers"),
        ({"site": "encoder.9.hidden"}, "unknown site"),
    ],
)
def test_bad_input_is_told_in_one_line(store, options, message):
    with pytest.raises(tp.InputError, match=message):
        tp.decompose(store, **{"site": STATE, "roles": "left"} | options)


def test_a_run_goes_on_and_is_read_again(store, tmp_path):
    roles, out = ["left", "bag"], tmp_path / "out"

    class Stop(Exception):
        pass

    def first_only(parts):
        yield parts[0]
        raise Stop

    with pytest.raises(Stop):
        decompose_all(store, [STATE], roles, out, progress=first_only, family="saturated")
    with pytest.raises(tp.InputError, match="--resume"):
        decompose_all(store, [STATE], roles, out, family="saturated")
    made = decompose_all(store, [STATE], roles, out, resume=True, family="saturated")
    whole = decompose_all(store, [STATE], roles, family="saturated")
    pd.testing.assert_frame_equal(made, whole)
    assert sorted(path.name for path in out.iterdir()) == ["decomposition.json", "scores.csv"]


def test_the_command_prints_rows(store, tmp_path):
    args = [
        "decompose",
        str(store.path),
        "--site",
        STATE,
        "--roles",
        "left",
        "--family",
        "saturated",
    ]
    done = CliRunner().invoke(app, [*args, "--out", str(tmp_path / "out"), "--json"])
    rows = json.loads(done.stdout)
    assert {each["family"] for each in rows} >= {"saturated", "additive", "bag"}
    assert rows[0]["roles"] == "left"
    bad = CliRunner().invoke(app, [*args[:-4], "--roles", "x", "--out", str(tmp_path / "bad")])
    assert isinstance(bad.exception, tp.InputError)
    assert not (tmp_path / "bad").exists()


# the estimator


@pytest.mark.parametrize("family", [each for each in FAMILIES if each not in ("operator", "bag")])
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
    assert {each["status"] for each in checks} <= {"passed", "xfail", "skipped"}


def pair_lists(sequences):
    return [list(zip(each, left(each), strict=True)) for each in sequences]


def test_the_estimator_finds_factors_and_unbinds(tmp_path):
    store = plant_bindings(tmp_path / "store", left, n=800, noise=0.05, ranks=(3, 5), width=24)
    lists, vectors = pair_lists(draw_sequences(800)), store.read(STATE)
    fit = tp.TPDecomposition(rank=(3, 5), random_state=0).fit(lists[:600], vectors[:600])
    assert fit.score(lists[600:], vectors[600:]) > 0.95
    assert fit.fillers_.shape == (8, 3)
    assert fit.roles_.shape == (6, 5)
    assert fit.readout_.shape == (3, 5, 24)
    w = np.einsum("fj,rk,jkd->frd", fit.fillers_, fit.roles_, fit.readout_)
    number = {name: i for i, name in enumerate(fit.filler_names_)}
    one = w[number["a"], 0] + w[number["c"], 1] + fit.intercept_
    assert np.allclose(fit.encode([[("a", "0"), ("c", "1")]])[0], one)
    unbound = fit.unbind(one[None])[0]
    assert unbound.shape == (6, 3)


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
        ("left", 60, 0.86, 0.90),
        ("right", 60, 0.61, 0.67),
        ("left*right", 185, 0.92, 0.95),
        ("tree", 444, 0.65, 0.72),
    ],
)
def test_authors_encodings_have_the_known_shares(encodings, roles, pairs, low, high):
    scores = tp.decompose(encodings, "encoding", roles, family="saturated").scores
    found = row(scores, "saturated")
    assert found["pairs"] == pairs
    assert low < found["r2"] < high


def test_authors_encodings_bind_systematically(encodings):
    scores = tp.decompose(encodings, "encoding", "left*right", rank="9x6").scores
    assert row(scores)["r2_withheld"] > 0.9 > row(scores, "saturated")["r2_withheld_high"]


# the tutorial


def test_the_tutorial_runs_and_finds_the_planted_roles(root, tmp_path, monkeypatch):
    text = (root / "docs/decomposition.md").read_text()
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec("\n".join(code), names)
    assert names["found"].found == "left*right"
    scores = names["both"].scores
    assert row(scores)["r2_withheld_low"] > row(scores, "saturated")["r2_withheld_high"]


def test_conjugate_gradients_end_where_a_map_is_singular():
    scale = np.array([[2.0], [1.0], [0.0]])
    right = np.array([[2.0, 4.0], [3.0, 0.0], [1.0, 0.0]])  # nothing gives the last row
    found = conjugate_gradients(lambda x: scale * x, right)
    assert np.isfinite(found).all()
    assert np.abs(found[0, 1] - 2) < 1e-6
    assert np.abs(found).max() < 1e6
