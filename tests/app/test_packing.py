"""What the browser is sent of a scene says the same as the scene."""

import json

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
    few = tp.dashboard.build_scene(store, LAST, 0, k=6, most=150)
    for each in (scene, few):
        sent = maps.pack_points(each)
        low, high = np.reshape(sent["bounds"], (2, 2))
        grid = np.stack([unpacked(sent["points"], name) for name in "xy"], 1)
        places = low + grid / maps.GRID * (high - low)
        assert np.abs(places - each.points).max() < (high - low).max() / maps.GRID
        assert np.array_equal(unpacked(sent["points"], "cluster"), each.roles.labels)
        rows, samples, positions = spread(sent)
        assert np.array_equal(rows, each.rows)
        assert np.array_equal(samples, each.tokens["sample"])
        assert np.array_equal(positions, each.tokens["position"])
        words = np.array(sent["vocabulary"])[unpacked(sent["points"], "token")]
        assert words.tolist() == [visible(t) for t in each.tokens["token"]]
        assert sent["points"].nbytes == 7 * len(each.rows)


def test_another_coloring_sends_a_byte_a_point(scene):
    by_cluster, by_token = (maps.pack_map(scene, field) for field in ("cluster", "token"))
    assert "codes" not in by_cluster
    assert by_token["codes"].nbytes == len(scene.rows)
    values = np.array(by_token["values"])[unpacked(by_token["codes"], "code")]
    expected = scene.read_field("token")
    assert values.tolist() == expected.tolist()
    assert len(by_token["colors"]) == len(by_token["values"])
    assert len(by_cluster["colors"]) == len(by_cluster["clusters"]) == 6


def test_names_come_with_what_they_hold(scene):
    sent, names = maps.pack_names(scene), scene.names
    assert [each["name"] or "unnamed" for each in sent] == names["name"].tolist()
    held = next(each for each in sent if each["name"])
    assert held["precision"][1] <= held["precision"][0] <= held["precision"][2]
    json.dumps(sent, allow_nan=False)


def test_every_token_of_a_thinned_store_gets_its_place_and_cluster(store, scene):
    few = tp.dashboard.build_scene(store, LAST, 0, k=6, most=150)
    whole = token_maps.fill(few)
    assert np.array_equal(whole.rows, np.arange(len(scene.rows)))
    drawn = np.searchsorted(whole.rows, few.rows)
    assert np.allclose(whole.points[drawn], few.points, atol=1e-4)
    assert np.array_equal(whole.roles.labels[drawn], few.roles.labels)
    assert whole.note == f"clusters and axes are those of {len(few.rows)} tokens"
    assert token_maps.fill(scene) is scene
    assert token_maps.fill(few, max_numbers=10) is few


def test_umap_places_no_more_vectors(store, scene):
    plane = token_maps.replace(scene.plane, method="umap")
    assert token_maps.fill(token_maps.replace(scene, plane=plane)).plane is plane
    with pytest.raises(InputError, match="choose pca or linear"):
        projections.place_more(plane, scene.roles, np.zeros((2, 8)))


def test_strips_have_the_tokens_of_their_samples(scene):
    sent = strips.pack_strips(scene, [0, 3])
    shown = tp.dashboard.show_strips(scene, [0, 3]).data
    assert [row for each in sent["strips"] for row in each["rows"]] == shown["row"].tolist()
    assert [label for each in sent["strips"] for label in each["labels"]] == shown[
        "cluster"
    ].tolist()
    assert sent["strips"][0]["heading"].startswith("sample 0 ")
    json.dumps(sent, allow_nan=False)


def test_tokens_of_a_second_store_are_marked_with_those_at_their_positions(scene):
    other = tp.dashboard.build_scene(scene.store, LAST, 1, k=4)
    sent = strips.pack_strips(other, [3], scene, [0])["strips"][0]
    first = strips.pack_strips(scene, [0])["strips"][0]
    own = strips.pack_strips(other, [3])["strips"][0]
    assert sent["labels"] == own["labels"]
    n = min(len(first["rows"]), len(own["rows"]))
    for name in ("rows", "clusters"):
        assert sent[name][:n] == first[name][:n]
        assert set(sent[name][n:]) <= {-1}


def test_a_map_begins_without_states_that_lie_far_from_all_else():
    points = np.random.default_rng(0).uniform(size=(1000, 2))
    assert projections.choose_view(points) == pytest.approx([-0.03, 1.03, -0.03, 1.03])
    points[:, 0] *= 0.05
    points[:50, 0] = 1.0
    left, right, *rest = projections.choose_view(points)
    assert left < 0.01
    assert 0.05 < right < 0.3
    assert rest == pytest.approx([-0.03, 1.03])
    assert projections.choose_view(np.zeros((5, 2))) == pytest.approx([-0.03, 1.03, -0.03, 1.03])
