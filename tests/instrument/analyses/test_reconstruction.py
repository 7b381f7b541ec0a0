"""Reconstruction equals the closed-form truth of planted stores, and leaks nothing of held-out questions."""

import tracemalloc
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge

from tprprobe.analyses.reconstruction import fits, layers, reconstruct
from tprprobe.analyses.reconstruction.layers import merge
from tprprobe.errors import InputError
from tprprobe.estimators import affine
from tprprobe.estimators.affine import Moments
from tprprobe.store import SiteSpec, StoreWriter, open_store

HEADS, WIDTH, D_MODEL = 2, 4, 12


def made(path, rows, maps, lengths, questions=None, control=None, stack="encoder"):
    """A store of one layer: z the given rows in questions of these lengths, v their linear maps."""
    d_model = rows.shape[1]
    sites = {
        f"{stack}.0.self.input": SiteSpec(("source", "d_model"), (d_model,), "float64"),
        f"{stack}.0.self.value": SiteSpec(("source", "head", "d_head"), maps.shape[::2], "float64"),
        f"{stack}.0.hidden": SiteSpec(("source", "d_model"), (d_model,), "float64"),
    }
    writer = StoreWriter.create(path, sites, {})
    if control is not None:
        made(path / "untrained", control, maps, lengths, questions)
    bounds = np.cumsum([0, *lengths])
    sample = np.repeat(np.arange(len(lengths)), lengths)
    table = pd.DataFrame({"side": "source", "sample": sample, "token": "x"})
    table["position"] = np.arange(len(sample)) - bounds[sample]
    question_ids = np.arange(len(lengths)) if questions is None else np.array(questions)
    table["question"] = [str(question_ids[s]) for s in sample]
    values = np.einsum("hdk,td->thk", maps.transpose(0, 1, 2), rows)
    writer.append(dict(zip(sites, (rows, values, rows[:, ::-1]), strict=True)), table)
    writer.finish()
    return open_store(path)


def draw(seed=0, n=240, rank=D_MODEL):
    """Rows of z with a falling spectrum, linear maps of two heads, lengths of questions."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, 9, n)
    spectrum = np.where(np.arange(D_MODEL) < rank, 1 / np.sqrt(np.arange(1, D_MODEL + 1)), 0)
    basis = np.linalg.qr(rng.normal(size=(D_MODEL, D_MODEL)))[0]
    rows = rng.normal(size=(lengths.sum(), D_MODEL)) * spectrum @ basis.T + rng.normal(size=D_MODEL)
    return rows, rng.normal(size=(HEADS, D_MODEL, WIDTH)), lengths


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    rows, maps, lengths = draw()
    store = made(tmp_path_factory.mktemp("planted") / "store", rows, maps, lengths)
    return store, rows, maps, reconstruct(store)


def pick(table, **values):
    """The only row of a table that has these values."""
    for name, value in values.items():
        table = table.loc[(table[name] == value).fillna(False)]
    (row,) = table.itertuples()
    return row


def floor(scatter, weight):
    """trace(Σ − Σ W (Wᵀ Σ W)⁻¹ Wᵀ Σ) of a scatter Σ: what no affine map of zW explains."""
    inner = np.linalg.pinv(weight.T @ scatter @ weight, rcond=1e-10)
    return np.trace(scatter - scatter @ weight @ inner @ weight.T @ scatter)


ALL = {"unit": "question", "n": 180}


def test_in_sample_error_is_the_closed_form_floor(planted):
    store, rows, maps, table = planted
    split = layers.split_questions(store.tokens_of("encoder.0.self.value"), 0)
    trained = rows[split.folds < affine.FOLDS]
    scatter = np.cov(trained.T, bias=True)
    for head in range(HEADS):
        row = pick(table, predictor="head", head=head, penalty="none", split="in_sample", **ALL)
        assert row.mse == pytest.approx(floor(scatter, maps[head]) / D_MODEL, abs=1e-9)
        assert row.r2 == pytest.approx(1 - floor(scatter, maps[head]) / np.trace(scatter), abs=1e-9)


def test_held_out_error_is_that_of_scikit_learn(planted):
    store, rows, maps, table = planted
    split = layers.split_questions(store.tokens_of("encoder.0.self.value"), 0)
    train, test = rows[~split.held_out], rows[split.held_out]
    for head in range(HEADS):
        regression = LinearRegression().fit(train @ maps[head], train)
        error = np.square(test - regression.predict(test @ maps[head])).mean()
        row = pick(table, predictor="head", head=head, penalty="none", split="held_out", **ALL)
        assert row.mse == pytest.approx(error, abs=1e-9)
        assert row.mse_low < row.mse < row.mse_high
        assert row.r2_low < row.r2 < row.r2_high


def test_penalty_is_the_best_of_scikit_learns_cross_validation(planted):
    store, rows, maps, table = planted
    split = layers.split_questions(store.tokens_of("encoder.0.self.value"), 0)
    train, folds = ~split.held_out, split.folds
    for head in range(HEADS):
        v = rows @ maps[head]
        errors = []
        for strength in affine.STRENGTHS:
            error = 0.0
            for fold in range(affine.FOLDS):
                is_train = train & (folds != fold)
                mean_eigenvalue = np.square(v[is_train] - v[is_train].mean(0)).sum() / WIDTH
                ridge = Ridge(strength * mean_eigenvalue, solver="svd").fit(
                    v[is_train], rows[is_train]
                )
                error += np.square(ridge.predict(v[folds == fold]) - rows[folds == fold]).sum()
            errors.append(error)
        centered = v[train] - v[train].mean(0)
        best = affine.STRENGTHS[int(np.argmin(errors))] * np.square(centered).sum() / WIDTH
        row = pick(table, predictor="head", head=head, penalty="cv", split="held_out")
        assert row.alpha == pytest.approx(best, abs=1e-9)
        regression = Ridge(best, solver="svd").fit(v[train], rows[train])
        error = np.square(regression.predict(v[~train]) - rows[~train]).mean()
        assert row.mse == pytest.approx(error, abs=1e-9)


def test_paper_reading_is_the_in_sample_fit_of_100(planted):
    store, rows, maps, table = planted
    split = layers.split_questions(store.tokens_of("encoder.0.self.value"), 0)
    for unit in ("question", "position"):
        sample = rows[split.sweeps[unit] == 0]
        expected = []
        for head in range(HEADS):
            regression = LinearRegression().fit(sample @ maps[head], sample)
            expected.append(np.square(sample - regression.predict(sample @ maps[head])).mean())
        row = pick(table, predictor="heads", unit=unit, n=100, split="in_sample")
        assert row.mse == pytest.approx(np.mean(expected), abs=1e-9)
        assert row.mse_low < row.mse < row.mse_high
    assert (split.sweeps["position"] == 0).sum() == 100
    assert len(np.unique(split.questions[split.sweeps["question"] == 0])) == 100


def test_intervals_are_the_spread_over_splits_that_scikit_learn_fits(planted):
    """Student's t of eight splits, over √(1 − the share of the documents' positions that is scored on)."""
    store, rows, maps, table = planted
    tokens, lost, scores = store.tokens_of("encoder.0.self.value"), [], []
    for seed in range(fits.SPLITS):
        split = layers.split_questions(tokens, seed)
        small, train, test = split.sweeps["position"] == 0, ~split.held_out, split.held_out
        regression = LinearRegression().fit(rows[small] @ maps[0], rows[small])
        lost.append(np.square(rows[small] - regression.predict(rows[small] @ maps[0])).mean())
        predicted = LinearRegression().fit(rows[train] @ maps[0], rows[train])
        errors = np.square(rows[test] - predicted.predict(rows[test] @ maps[0])).sum()
        scores.append(1 - errors / np.square(rows[test] - rows[train].mean(0)).sum())
    head = {"predictor": "head", "head": 0, "penalty": "none"}
    small_row = pick(table, unit="position", n=100, split="in_sample", **head)
    whole_row = pick(table, split="held_out", **head, **ALL)
    for values, row, name in ((lost, small_row, "mse"), (scores, whole_row, "r2")):
        reach = 2.3646 * np.std(values, ddof=1) / np.sqrt(1 - row.positions / len(rows))
        ends = [getattr(row, f"{name}_{end}") for end in ("low", "high")]
        assert ends == pytest.approx([values[0] - reach, values[0] + reach], rel=1e-4)


def test_intervals_hold_what_other_documents_give(tmp_path, monkeypatch):
    """R² and its gain of 20 corpora whose documents differ in scale and directions: nine in ten intervals hold the mean."""
    monkeypatch.setattr(layers, "SIZES", ())
    monkeypatch.setattr(layers, "PROJECTIONS", 5)
    rng, tables = np.random.default_rng(5), []
    maps = rng.normal(size=(HEADS, D_MODEL, WIDTH))
    bases = rng.normal(size=(6, D_MODEL, D_MODEL)) / np.sqrt(D_MODEL)
    for corpus in range(20):
        lengths = np.minimum(3 + rng.geometric(0.1, 40), 60)
        scales = np.exp(0.4 * rng.normal(size=40))
        pairs = zip(lengths, scales, strict=True)
        documents = [
            rng.normal(size=(n, D_MODEL)) @ bases[rng.integers(6)] * scale for n, scale in pairs
        ]
        store = made(tmp_path / str(corpus), np.concatenate(documents), maps, lengths)
        tables.append(reconstruct(store))
    rows = pd.concat(tables).query("n == 30 and split == 'held_out' and penalty == 'none'")
    for name, predictor in (("r2", "heads"), ("r2", "pca"), ("gain", "heads"), ("gain", "pca")):
        chosen = rows[rows["predictor"] == predictor]
        holds = (
            chosen[name].mean() - chosen[f"{name}_low"],
            chosen[f"{name}_high"] - chosen[name].mean(),
        )
        assert np.mean(np.minimum(*holds) >= 0) >= 0.85


def test_random_projections_are_those_that_scikit_learn_fits(planted):
    store, rows, _, table = planted
    split = layers.split_questions(store.tokens_of("encoder.0.self.value"), 0)
    train, test = rows[~split.held_out], rows[split.held_out]
    scores = []
    for seed in range(200):
        projection = np.random.default_rng(seed).normal(size=(D_MODEL, WIDTH))
        errors = test - LinearRegression().fit(train @ projection, train).predict(test @ projection)
        scores.append(1 - np.square(errors).sum() / np.square(test - train.mean(0)).sum())
    row = pick(table, predictor="random", penalty="none", split="held_out", **ALL)
    error = np.std(scores) / np.sqrt(layers.PROJECTIONS)
    assert row.r2 == pytest.approx(np.mean(scores), abs=3 * error)


def test_reference_lines(planted):
    store, rows, _, table = planted
    split = layers.split_questions(store.tokens_of("encoder.0.self.value"), 0)
    train = rows[~split.held_out]
    mean = pick(table, predictor="mean", split="in_sample", **ALL)
    assert mean.mse == pytest.approx(train.var(0).mean(), abs=1e-12)
    assert (mean.r2, mean.r2_low, mean.r2_high) == pytest.approx((0, 0, 0), abs=1e-12)
    pca = PCA(WIDTH).fit(train)
    lost = 1 - pca.explained_variance_ratio_.sum()
    assert pick(table, predictor="pca", split="in_sample", **ALL).r2 == pytest.approx(1 - lost)
    random = pick(table, predictor="random", penalty="none", split="in_sample", **ALL)
    together = pick(table, predictor="all heads", penalty="none", split="in_sample", **ALL)
    heads = pick(table, predictor="heads", penalty="none", split="in_sample", **ALL)
    assert 0 < lost < 1 - random.r2 < 1
    assert random.gain == 0
    assert heads.gain == pytest.approx(heads.r2 - random.r2)
    assert heads.gain_low < heads.gain < heads.gain_high
    assert together.mse < heads.mse
    values = np.linalg.eigvalsh(np.cov(train.T))
    assert mean.effective_rank == pytest.approx(values.sum() ** 2 / np.square(values).sum())


@given(st.integers(0, 2**20), st.integers(1, D_MODEL))
@settings(max_examples=15, deadline=None)
def test_no_linear_code_beats_pca_and_enough_rank_loses_nothing(seed, rank):
    rows, maps, _ = draw(seed, n=30, rank=rank)
    vectors = np.concatenate([rows @ maps[0], rows], axis=1)
    moments, target = Moments.of(vectors), slice(WIDTH, WIDTH + D_MODEL)
    (affine_code,) = affine.fit_affine(moments, slice(0, WIDTH), target)
    best = affine.fit_principal(moments, target, WIDTH)
    total = np.square(rows - rows.mean(0)).sum()
    assert best.total(moments) <= affine_code.total(moments) + 1e-9 * total
    errors = rows - rows @ maps[0] @ affine_code.weight - affine_code.bias
    assert affine_code.total(moments) == pytest.approx(np.square(errors).sum(), abs=1e-9 * total)
    if rank <= WIDTH:
        assert affine_code.total(moments) < 1e-9 * total
    scatter = moments.scatter[target, target]
    assert affine_code.total(moments) == pytest.approx(floor(scatter, maps[0]), abs=1e-6 * total)


@given(st.integers(0, 2**20), st.lists(st.integers(0, 3), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_moments_of_parts_add_up(seed, labels):
    vectors = 1e3 + np.random.default_rng(seed).normal(size=(len(labels), 3))
    labels = np.array(labels)
    cuts = [slice(i, i + 7) for i in range(0, len(labels), 7)]
    moments_of_parts = [
        {("made", int(label)): Moments.of(vectors[rows][labels[rows] == label])}
        for rows in cuts
        for label in np.unique(labels[rows])
    ]
    merged = reduce(merge, moments_of_parts)
    for label in np.unique(labels):
        vectors_of_label, moments = vectors[labels == label], merged["made", int(label)]
        assert moments.count == len(vectors_of_label)
        np.testing.assert_allclose(moments.mean, vectors_of_label.mean(0))
        expected = len(vectors_of_label) * np.cov(vectors_of_label.T, bias=True)
        np.testing.assert_allclose(moments.scatter, expected, atol=1e-8)
    assert sum(moments.count for moments in merged.values()) == len(labels)


def test_same_question_is_never_on_both_sides(tmp_path):
    rows, maps, lengths = draw(n=120)
    store = made(tmp_path / "store", rows, maps, lengths, questions=np.arange(120) % 60)
    tokens = store.tokens_of("encoder.0.self.value")
    split = layers.split_questions(tokens, seed=3)
    assert not {*tokens["question"][split.held_out]} & {*tokens["question"][~split.held_out]}
    assert tokens["question"][split.trained].nunique() == 45
    for fold in range(affine.FOLDS):
        inside = {*tokens["question"][split.folds == fold]}
        assert inside
        assert not inside & {*tokens["question"][split.folds != fold]}


def test_untrained_twin_stands_beside_it(tmp_path):
    rows, maps, lengths = draw(n=40)
    noise = np.random.default_rng(1).normal(size=rows.shape)
    table = reconstruct(made(tmp_path / "both", rows, maps, lengths, control=noise))
    trained, untrained = table[~table["untrained"]], table[table["untrained"]]
    without_twin = reconstruct(made(tmp_path / "alone", rows, maps, lengths))
    assert not without_twin["untrained"].any()
    np.testing.assert_allclose(trained["mse"], without_twin["mse"])
    of_noise = reconstruct(made(tmp_path / "other", noise, maps, lengths))
    np.testing.assert_allclose(untrained["mse"], of_noise["mse"])


def test_targets(tmp_path):
    """The planted hidden is z with its dimensions in another order: as easy to reconstruct."""
    rows, maps, lengths = draw(n=40)
    store = made(tmp_path / "store", rows, maps, lengths)
    tables = [reconstruct(store, layer=-1, target=target) for target in ("input", "hidden")]
    np.testing.assert_allclose(tables[0]["mse"], tables[1]["mse"])
    assert tables[1]["target"].unique().tolist() == ["hidden"]
    of_language_model = made(tmp_path / "language", rows, maps, lengths, stack="layers")
    np.testing.assert_allclose(reconstruct(of_language_model)["mse"], tables[0]["mse"])
    with pytest.raises(InputError, match="below layer 0"):
        reconstruct(store, layer=0, target="below")


def test_streamed_in_blocks_with_memory_for_a_few(tmp_path, monkeypatch):
    """A store of 38 MB within 16 MB, and the same numbers whatever the blocks are."""
    rng = np.random.default_rng(0)
    rows, maps = rng.normal(size=(20_000, 96)), rng.normal(size=(2, 96, 24))
    lengths = np.full(100, 200)
    store = made(tmp_path / "store", rows.astype(np.float32), maps, lengths)
    del rows
    monkeypatch.setattr(layers, "SIZES", (100,))
    monkeypatch.setattr(layers, "ROWS_PER_BLOCK", 1024)
    len(store.tokens)  # the token table is not streamed
    tracemalloc.start()
    table = reconstruct(store, layer=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert store.summary["bytes"].sum() > 38e6
    assert peak < 16e6
    monkeypatch.setattr(layers, "ROWS_PER_BLOCK", 5000)
    repeated = reconstruct(store, layer=0)
    for name in ("mse", "mse_low", "r2_high", "alpha"):
        np.testing.assert_allclose(table[name], repeated[name], rtol=1e-9)


def test_bad_input_is_one_line(tmp_path):
    rows, maps, lengths = draw(n=30)
    store = made(tmp_path / "store", rows, maps, lengths)
    for settings_, message in (
        ({"layer": 7}, "unknown site 'encoder.7.self.value'"),
        ({"target": "hiden"}, "unknown target 'hiden'; did you mean 'hidden'"),
    ):
        with pytest.raises(InputError, match=message) as error:
            reconstruct(store, **settings_)
        assert "\n" not in str(error.value)
    small_store = made(tmp_path / "few", rows[: lengths[:10].sum()], maps, lengths[:10])
    with pytest.raises(InputError, match=r"10 different documents: read 20 or more"):
        reconstruct(small_store)
