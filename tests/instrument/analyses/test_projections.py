"""Projections to the plane: what is far apart stays apart, and axes are found on what was meant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tprprobe.analyses.projections import project
from tprprobe.errors import InputError


def groups(n=300, width=12, classes=3, spread=0.3, seed=0):
    """Vectors around the corners of a simplex, and which corner each belongs to."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=n)
    return 3 * np.eye(width)[labels] + spread * rng.normal(size=(n, width)), labels


def separation(points, labels):
    """Distance between the means of classes over the spread inside them; the least of all pairs."""
    means = np.stack([points[labels == label].mean(0) for label in np.unique(labels)])
    spread = np.sqrt(np.square(points - means[labels]).mean())
    gaps = np.linalg.norm(means[:, None] - means, axis=-1)
    return gaps[np.triu_indices(len(means), 1)].min() / spread


@pytest.mark.parametrize(
    "method", ["pca", "linear", pytest.param("umap", marks=pytest.mark.soak)]
)  # numba compiles UMAP for a minute
def test_classes_that_lie_apart_stay_apart_in_rows_that_axes_were_not_found_on(method):
    vectors, labels = groups()
    fit = np.arange(len(vectors)) < 200
    projection = project(vectors, method, labels, fit=fit)
    assert (projection.fitted == fit).all()
    assert separation(projection.points[~fit], labels[~fit]) > 5
    repeated = project(vectors, method, labels, fit=fit)
    assert np.array_equal(projection.points, repeated.points)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(2, 9))
def test_principal_components_keep_the_share_of_variance_that_they_name(seed, n, width):
    vectors = np.random.default_rng(seed).normal(size=(n, width)) * np.arange(1, width + 1)
    projection = project(vectors)
    shares = projection.points.var(0) / vectors.var(0).sum()
    np.testing.assert_allclose(projection.explained, shares, rtol=1e-3)


def test_the_linear_axes_look_past_large_spread_that_tells_no_class():
    vectors, labels = groups(classes=2, spread=0.3)
    vectors[:, 5] += 40 * np.random.default_rng(1).normal(size=len(vectors))
    fit = np.arange(len(vectors)) < 200
    of_classes = project(vectors, "linear", labels, fit=fit).points[~fit, :1]
    assert separation(of_classes, labels[~fit]) > 5
    assert separation(project(vectors, fit=fit).points[~fit, :1], labels[~fit]) < 1


def test_of_two_classes_the_axis_points_to_the_second_by_name():
    vectors, labels = groups(classes=2)
    projection = project(vectors, "linear", np.array(["noun", "other"])[labels])
    assert projection.axes[0] == "noun – other"
    x = projection.points[:, 0]
    assert x[labels == 1].mean() > x[labels == 0].mean()


def test_discriminants_share_what_lies_between_the_means():
    vectors, labels = groups()
    leading, second = project(vectors, "linear", labels).explained
    assert leading >= second > 0
    assert leading + second == pytest.approx(1)  # three means span a plane


def test_large_sets_are_fitted_on_a_sample_and_placed_in_blocks(monkeypatch):
    monkeypatch.setattr("tprprobe.analyses.projections.ROWS", 64)
    vectors, labels = groups()
    projection = project(vectors, "linear", labels, max_fitted=100)
    assert projection.fitted.sum() == 100
    assert separation(projection.points, labels) > 5


def test_random_labels_part_only_the_rows_they_were_fitted_to():
    rng = np.random.default_rng(0)
    vectors, labels = rng.normal(size=(400, 300)), rng.integers(2, size=400)
    fit = np.arange(400) < 200
    x = project(vectors, "linear", labels, fit=fit).points[:, :1]
    assert separation(x[fit], labels[fit]) > 1
    assert separation(x[~fit], labels[~fit]) < 0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"method": "tsne"}, "unknown projection 'tsne'"),
        ({"method": "linear"}, "give a label for every vector"),
        ({"method": "linear", "labels": np.zeros(300)}, "of one class"),
        ({"fit": np.arange(300) < 2}, "2 vectors to find axes on"),
        ({"vectors": np.full((9, 3), np.nan)}, "not finite"),
        ({"vectors": np.ones((9, 1))}, "one dimension"),
    ],
)
def test_what_cannot_be_projected_is_told_in_a_line(change, words):
    with pytest.raises(InputError, match=words):
        project(**{"vectors": groups()[0], **change})
