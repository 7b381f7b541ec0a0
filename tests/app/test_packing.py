"""What the browser is sent of a scene says the same as the scene."""

import numpy as np
import pytest
from planted.questions import LAST, plant

import tprprobe as tp
from tprprobe.analyses import projections, token_maps
from tprprobe.dashboard import maps, strips
from tprprobe.errors import InputError
from tprprobe.store.token_texts import visible


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("packing") / "store", 60)


@pytest.fixture(scope="module")
def scene(store):
    return tp.dashboard.build_scene(store, LAST, 0, k=6)


def unpacked(table, name):
    return table[name].to_numpy()


def spread(sent):
    """Rows, samples and positions of all points, from the runs that are sent."""
    runs = {name: unpacked(sent["runs"], name) for name in sent["runs"].column_names}
    offsets = np.concatenate([np.arange(count) for count in runs["count"]])
    rows, positions = (np.repeat(runs[n], runs["count"]) + offsets for n in ("row", "position"))
    return rows, np.repeat(runs["sample"], runs["count"]), positions


def test_points_rows_and_tokens_can_be_read_back(store, scene):
    sampled = tp.dashboard.build_scene(store, LAST, 0, k=6, most=150)
    for packed_scene in (scene, sampled):
        sent = maps.pack_points(packed_scene)
        low, high = np.reshape(sent["bounds"], (2, 2))
        grid = np.stack([unpacked(sent["points"], name) for name in "xy"], 1)
        places = low + grid / maps.GRID * (high - low)
        assert np.abs(places - packed_scene.points).max() < (high - low).max() / maps.GRID
        assert np.array_equal(unpacked(sent["points"], "cluster"), packed_scene.roles.labels)
        rows, samples, positions = spread(sent)
        assert np.array_equal(rows, packed_scene.rows)
        assert np.array_equal(samples, packed_scene.tokens["sample"])
        assert np.array_equal(positions, packed_scene.tokens["position"])
        words = np.array(sent["vocabulary"])[unpacked(sent["points"], "token")]
        assert words.tolist() == [visible(t) for t in packed_scene.tokens["token"]]
        assert sent["points"].nbytes == 7 * len(packed_scene.rows)


def test_another_coloring_sends_a_byte_a_point(scene):
    by_cluster, by_token = (maps.pack_map(scene, field) for field in ("cluster", "token"))
    assert "codes" not in by_cluster
    assert by_token["codes"].nbytes == len(scene.rows)
    values = np.array(by_token["values"])[unpacked(by_token["codes"], "code")]
    expected = scene.read_field("token")
    assert values.tolist() == expected.tolist()
    assert len(by_token["colors"]) == len(by_token["values"])
    assert len(by_cluster["colors"]) == len(by_cluster["clusters"]) == 6


def test_every_token_of_a_thinned_store_gets_its_place_and_cluster(store, scene):
    sampled = tp.dashboard.build_scene(store, LAST, 0, k=6, most=150)
    filled = token_maps.fill(sampled)
    assert np.array_equal(filled.rows, np.arange(len(scene.rows)))
    index = np.searchsorted(filled.rows, sampled.rows)
    assert np.allclose(filled.points[index], sampled.points, atol=1e-4)
    assert np.array_equal(filled.roles.labels[index], sampled.roles.labels)
    assert filled.note == f"clusters and axes are those of {len(sampled.rows)} tokens"
    assert token_maps.fill(scene) is scene
    assert token_maps.fill(sampled, max_numbers=10) is sampled


def test_umap_places_no_more_vectors(store, scene):
    plane = token_maps.replace(scene.plane, method="umap")
    assert token_maps.fill(token_maps.replace(scene, plane=plane)).plane is plane
    with pytest.raises(InputError, match="choose pca or linear"):
        projections.place_more(plane, scene.roles, np.zeros((2, 8)))


def test_tokens_of_a_second_store_are_marked_with_those_at_their_positions(scene):
    second_scene = tp.dashboard.build_scene(scene.store, LAST, 1, k=4)
    sent = strips.pack_strips(second_scene, [3], scene, [0])["strips"][0]
    first_strip = strips.pack_strips(scene, [0])["strips"][0]
    second_strip = strips.pack_strips(second_scene, [3])["strips"][0]
    assert sent["labels"] == second_strip["labels"]
    n = min(len(first_strip["rows"]), len(second_strip["rows"]))
    for name in ("rows", "clusters"):
        assert sent[name][:n] == first_strip[name][:n]
        assert set(sent[name][n:]) <= {-1}


def test_a_map_begins_without_states_that_lie_far_from_all_else():
    points = np.random.default_rng(0).uniform(size=(1000, 2))
    assert projections.choose_view(points) == pytest.approx([-0.03, 1.03, -0.03, 1.03])
    points[:, 0] *= 0.05
    points[:50, 0] = 1.0
    x_low, x_high, *y_limits = projections.choose_view(points)
    assert x_low < 0.01
    assert 0.05 < x_high < 0.3
    assert y_limits == pytest.approx([-0.03, 1.03])
    assert projections.choose_view(np.zeros((5, 2))) == pytest.approx([-0.03, 1.03, -0.03, 1.03])
