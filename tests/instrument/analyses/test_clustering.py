"""Clusters find planted groups, in memory and streamed, whatever the scale of a dimension."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted.questions import ANSWERS, GROUPS, HIDDEN, LAST, MAPS, plant, truth
from planted.stores import number_tokens, write_store
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import tprprobe as tp
from tprprobe.analyses.clustering import (
    cluster,
    clusters,
    find_heads,
    kmeans,
    load_clusters,
    save_clusters,
)
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.kmeans import fit_seeds, measure_recovery
from tprprobe.figures.cluster_labels import describe_clusters


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("planted") / "store")


@pytest.fixture(scope="module")
def roles(store):
    return cluster(store, LAST, head=0, k=GROUPS)


# ---------------------------------------------------------------- what is found


@pytest.mark.parametrize("raw", [False, True])
def test_planted_clusters_are_found(store, raw):
    roles = tp.cluster(store, "encoder.-1.self.role", head=0, k=GROUPS, raw=raw)
    assert (roles.site, roles.head, roles.raw) == (LAST, 0, raw)
    assert adjusted_rand_score(roles.labels, truth(store)) == 1
    assert roles.stability > 0.5


def test_centers_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    vectors = (rng.normal(size=(300, 8)) + 3 * rng.integers(3, size=(300, 1))).astype(np.float32)
    centers = fit_seeds(vectors, 7, 5, 3, "vectors")
    for seed, of_seed in zip(range(5 * 3, 6 * 3), centers, strict=True):
        expected = KMeans(7, n_init=1, random_state=seed).fit(vectors).cluster_centers_  # type: ignore[arg-type]
        np.testing.assert_array_equal(of_seed, expected)


def test_a_dimension_that_only_rounding_varies_has_no_say(tmp_path):
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(2), 60)
    vectors = (groups[:, None] + rng.normal(0, 0.05, (120, 4))).astype(np.float32)
    rounding = (1e-30 * rng.integers(2, size=(120, 3))).astype(np.float32)
    store = write_store(
        tmp_path, {LAST: np.hstack([vectors, rounding])}, number_tokens(["x" * 120])
    )
    roles = cluster(store, LAST, k=2)
    assert adjusted_rand_score(roles.labels, groups) == 1
    assert (roles.scale[4:] == 1).all()


def test_noise_is_less_stable_than_structure(store, roles):
    noise = cluster(store, LAST, head=1, k=GROUPS)
    assert noise.stability < roles.stability
    assert abs(adjusted_rand_score(noise.labels, truth(store))) < 0.1
    assert noise.summary["recovery"].max() < roles.summary["recovery"].min()
    runs = np.array([[1, 1, 0, 0], [0, 0, 0, 1]])
    assert measure_recovery(np.array([0, 0, 1, 1]), runs, 2).tolist() == pytest.approx(
        [5 / 6, 3 / 4]
    )


def test_inertia_labels_and_centers_belong_together(store, roles):
    scaled = (store.read(LAST, head=0) - roles.mean) / roles.scale
    squares = ((scaled[:, None] - roles.centers) ** 2).sum(-1)
    np.testing.assert_array_equal(roles.labels, squares.argmin(1))
    assert roles.inertia == pytest.approx(squares.min(1).sum(), rel=1e-4)
    for label in range(GROUPS):
        mean = scaled[roles.labels == label].mean(0)
        np.testing.assert_allclose(roles.centers[label], mean, atol=1e-4)
    np.testing.assert_array_equal(roles.assign(store.read(LAST, head=0)), roles.labels)
    assert roles.summary["size"].is_monotonic_decreasing
    np.testing.assert_array_equal(np.bincount(roles.labels), roles.summary["size"])


@given(st.lists(st.floats(1e-3, 1e3), min_size=8, max_size=8))
@settings(max_examples=6, deadline=None)
def test_standardized_clusters_do_not_depend_on_the_scale_of_dimensions(tmp_path_factory, scale):
    path = tmp_path_factory.mktemp("scaled")
    plain, scaled = (plant(path / str(i), 8, scale=s) for i, s in enumerate((1.0, np.array(scale))))
    plain_roles, scaled_roles = (
        cluster(planted, LAST, head=0, k=GROUPS, n_seeds=5) for planted in (plain, scaled)
    )
    np.testing.assert_array_equal(plain_roles.labels, scaled_roles.labels)


def test_streaming_finds_the_same_and_holds_one_block(store, roles, monkeypatch):
    """With blocks of 50 rows no more than these, and a sample of 100, is ever held of the vectors."""
    kind, read_vectors, iterate, fit = type(store), store.read, store.iterate, kmeans.fit_seeds
    longest, samples = [], []

    def watch(_, *arguments):
        block = read_vectors(*arguments)
        longest.append(len(block))
        return block

    def fit_sample(vectors, **options):
        samples.append(len(vectors))
        return fit(vectors, **options)

    for name, size in {"BUDGET": 1000, "SAMPLE": 100, "SAMPLED": 0, "STRETCH": 25}.items():
        monkeypatch.setattr(kmeans, name, size)
    monkeypatch.setattr(kmeans, "fit_seeds", fit_sample)
    monkeypatch.setattr(kind, "iterate", lambda _, site, head, part: iterate(site, head, 50, part))
    monkeypatch.setattr(kind, "read", watch)
    streamed = cluster(store, LAST, head=0, k=GROUPS)
    assert max(longest) == 50
    assert {*samples} == {100}
    assert adjusted_rand_score(streamed.labels, truth(store)) == 1
    assert streamed.inertia < 1.05 * roles.inertia
    np.testing.assert_allclose(streamed.mean, roles.mean, atol=1e-6)


def test_inertia_is_right_far_from_the_origin():
    rng = np.random.default_rng(0)
    block = rng.normal(size=(500, 8)).astype(np.float32) * 0.1 + 100
    fits = [block[rng.choice(500, 4)].copy() for _ in range(3)]
    runs = kmeans.assign([block[:200], block[200:]], fits)
    for centers, labels, inertia in zip(fits, *runs, strict=True):
        squares = ((block[:, None].astype(float) - centers) ** 2).sum(-1)
        assert inertia == pytest.approx(squares.min(1).sum(), rel=1e-4)
        assert (labels == squares.argmin(1)).mean() > 0.99


def test_sites_without_heads_and_of_answers(store):
    assert cluster(store, HIDDEN, k=3).head is None
    answers = cluster(store, ANSWERS, head=-1, k=3)
    assert answers.head == 1
    assert len(answers.labels) == (store.tokens["side"] == "target").sum()


# ---------------------------------------------------------------- the summary


def test_summary_of_a_made_example(store):
    tokens = pd.DataFrame({"token": ["a", " ", "a", "b"], "position": [0, 1, 4, 3]})
    summary = clusters.summarize(np.array([0, 0, 0, 1]), tokens, k=3)
    assert summary["top"].tolist() == ["a 67%, ␣ 33%", "b 100%", ""]
    assert summary["size"].tolist() == [3, 1, 0]
    assert summary["distinctive"].tolist() == ["a · ␣", "b", ""]
    assert summary["mean_position"][0] == pytest.approx(5 / 3)
    keys = describe_clusters(
        replace(cluster(store, LAST, 0, 3), summary=summary), {1: "letter (.90)"}
    )
    assert keys == {0: "0: (a · ‘␣’)", 1: "1: letter (.90)", 2: "2: ()"}
    assert summary["entropy"][1] == 0
    assert summary["entropy"].isna().tolist() == [False, False, True]


# ---------------------------------------------------------------- folders


def test_folder_holds_what_was_found(store, tmp_path):
    places = find_heads(store, ["*.role", HIDDEN])
    saved = [cluster(store, *place, k=3, n_seeds=2) for place in places]
    loaded = load_clusters(save_clusters(saved, tmp_path / "clusters", store))
    assert len(loaded) == len(saved)
    for expected, reloaded in zip(saved, loaded, strict=True):
        for name in clusters.SCALARS:
            assert getattr(expected, name) == getattr(reloaded, name)
        for name in ("labels", "centers", "mean", "scale"):
            np.testing.assert_array_equal(getattr(expected, name), getattr(reloaded, name))
        pd.testing.assert_frame_equal(expected.summary, reloaded.summary, check_dtype=False)
    labels = pd.read_parquet(tmp_path / "clusters" / "labels.parquet")
    assert set(labels.columns) == {"run", "site", "head", "row", "label"}


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"has no clusters\.json"):
        load_clusters(tmp_path)
    (tmp_path / "clusters.json").write_text(json.dumps({"format": "something"}))
    with pytest.raises(InputError, match="holds no clusters"):
        load_clusters(tmp_path)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("site", "head", "settings", "message"),
    [
        ("encoder.0.self.rule", 0, {}, r"unknown site.*did you mean 'encoder.0.self.role'"),
        ("encoder.*.self.role", 0, {}, "names 2 sites"),
        (LAST, None, {}, "has 2 heads: give one, 0 to 1"),
        (LAST, 2, {}, "has no head 2: it has heads 0 to 1"),
        (HIDDEN, 0, {}, "it has no heads"),
        (MAPS, 0, {}, "attention maps"),
        (LAST, 0, {"k": 0}, "k is 0"),
        (LAST, 0, {"k": 10**6}, r"k is 1000000, but .* has \d+ vectors"),
        (LAST, 0, {"n_seeds": 1}, "n_seeds is 1"),
        (LAST, 0, {"n_seeds": 10**30}, "give 2 to 1000"),
    ],
)
def test_bad_input_is_one_line(store, site, head, settings, message):
    with pytest.raises(InputError, match=message) as error:
        cluster(store, site, head, **settings)
    assert "\n" not in str(error.value)


def made(path, rows):
    """A store of one sample whose only site holds the rows."""
    return write_store(path, {HIDDEN: rows}, number_tokens(["x" * len(rows)]))


def test_vectors_that_are_not_finite_are_refused(tmp_path):
    rows = np.ones((10, 16))
    rows[7, 3] = np.nan
    with pytest.raises(InputError, match=r"not finite.*row 7 of 10"):
        cluster(made(tmp_path / "store", rows), HIDDEN, k=2)


def test_fewer_distinct_vectors_than_clusters_are_refused(tmp_path):
    rows = np.repeat(np.eye(3, 16), 4, axis=0)
    store = made(tmp_path / "store", rows)
    with pytest.raises(InputError, match="fewer than 4 distinct"):
        cluster(store, HIDDEN, k=4)
    assert cluster(store, HIDDEN, k=3).inertia == pytest.approx(0, abs=1e-9)


def test_special_tokens_are_marked_in_legends():
    assert clusters.list_tokens("[CLS] 60%, ␣ 40%") == "special: [CLS] 60%, ␣ 40%"
    assert clusters.list_tokens("[CLS] 30%, in 25%") == "[CLS] 30%, in 25%"
    assert clusters.list_tokens("the 60%, [SEP] 40%") == "the 60%, [SEP] 40%"
