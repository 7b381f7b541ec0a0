"""Views without a server: scenes, marks, parts of stores, cells, notebooks, the server's settings."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted.questions import LAST, MAPS, plant
from sklearn.metrics import adjusted_rand_score

import tprprobe as tp
from tprprobe.analyses import projections, token_maps
from tprprobe.cli import server
from tprprobe.dashboard import comparison, maps, strips
from tprprobe.errors import InputError
from tprprobe.store import samples as store_samples
from tprprobe.store.token_texts import visible


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("views") / "store", 24)


@pytest.fixture(scope="module")
def scene(store):
    return tp.dashboard.build_scene(store, "encoder.-1.self.role", 0, k=6)


@given(st.sets(st.integers(0, 5000), min_size=1, max_size=60))
def test_marked_rows_are_the_same_after_a_journey_through_an_address(rows):
    mark = tp.dashboard.marks.read_mark(f"source:{','.join(map(str, sorted(rows)))}")
    assert tp.dashboard.marks.read_mark(str(mark)) == mark
    everything = np.arange(5001)
    assert set(everything[mark.contains(everything, "source")]) == rows
    assert not mark.contains(everything, "target").any()


def test_an_area_marks_the_points_inside_it(scene):
    low, high = scene.points.min(0), np.median(scene.points, 0)
    corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    inside = ((scene.points > low) & (scene.points < high)).all(1)
    text = f"lasso:{','.join(f'{number:.4g}' for number in corners.ravel())}"
    is_marked = tp.dashboard.marks.read_mark(text).find(scene)
    assert inside.any()
    assert (is_marked == inside).mean() > 0.99  # the border is rounded


def test_a_large_store_is_drawn_in_whole_samples_with_the_same_clusters(store, scene):
    sampled = tp.dashboard.build_scene(store, LAST, 0, k=6, most=150)
    assert 0 < len(sampled.rows) <= 150
    assert f"of {len(scene.rows):,} tokens" in sampled.note
    counts = scene.tokens["sample"].value_counts()
    for sample, count in sampled.tokens["sample"].value_counts().items():
        assert counts[sample] == count
    sampled_strips = tp.dashboard.show_strips(sampled, [0, 15]).data  # any sample, drawn or not
    all_strips = tp.dashboard.show_strips(scene, [0, 15]).data
    assert adjusted_rand_score(sampled_strips["cluster"], all_strips["cluster"]) > 0.95


def test_an_untrained_twin_is_not_shown_with_the_trained_models_answers(tmp_path):
    twin = plant(tmp_path / "untrained", 4, model={"name": "untrained:planted"})
    trained = plant(tmp_path / "store", 4, model={"name": "planted"})
    scenes = [tp.dashboard.build_scene(store, LAST, 0, k=3) for store in (trained, twin)]
    packed = [tp.dashboard.strips.pack_strips(scene, [0]) for scene in scenes]
    headings = [sent["strips"][0]["heading"] for sent in packed]
    assert "→" in headings[0] or "✗" in headings[0]
    assert headings[1] == "sample 0"
    pictures = [tp.dashboard.show_strips(scene, [0]).export("svg").decode() for scene in scenes]
    assert ["→" in picture or "✗" in picture for picture in pictures] == [True, False]


def test_a_part_of_a_store_reads_the_rows_of_its_samples(store):
    samples = store_samples.take(store, np.array([2, 5]))
    tokens = store.tokens_of(LAST)["sample"].isin([2, 5]).to_numpy()
    assert np.array_equal(samples.read(LAST), store.read(LAST, np.flatnonzero(tokens)))
    assert np.array_equal(samples.read(LAST, np.array([1, 0]), 1), samples.read(LAST)[[1, 0], 1])
    assert len(samples.tokens_of(LAST)) == tokens.sum()


def test_a_notebook_shows_views_without_a_network(store, scene):
    maps = tp.dashboard.read_maps(store, MAPS, 0)
    views = (
        tp.dashboard.show_map(scene),
        tp.dashboard.show_strips(scene, [0]),
        tp.dashboard.show_matrix(store, maps, 0),
    )
    for view in views:
        html = view._repr_html_()
        assert "<svg" in html
        outside = re.findall(r'(?:src|href)="(?!#)([^"]*)"', html)
        assert all(url.startswith("data:") for url in outside)
        assert "<script" not in html


def test_what_cannot_be_served_is_one_line(tmp_path):
    with pytest.raises(InputError, match="no folder"):
        server.serve(tmp_path / "absent")
    with pytest.raises(InputError, match="port 99999 cannot be used"):
        server.find_port(99999)


def test_a_head_that_matters_is_told_from_one_that_does_not():
    site, heads = "encoder.0.self.role", {0: (-0.5, -0.6, -0.4), 1: (0.01, -0.02, 0.03)}
    rows = pd.DataFrame(
        [
            {"site": site, "head": head, "edit": "zero", "strength": 1.0, "n": 50}
            | dict(zip(("change", "change_low", "change_high"), change, strict=True))
            for head, change in heads.items()
        ]
    )
    view = tp.dashboard.interventions.show_interventions(rows, "zero")
    assert [note.text for note in view.chart().layout.annotations] == ["−50", "(+1)"]
    assert view.chart().data[0].z.tolist() == [[1.0, 0.0]]
    assert view.export("svg").startswith(b"<?xml")


def test_shares_after_an_exchange_add_up_to_one():
    row = {"kind": "polarity", "subset": "answered", "model": "m", "layer": -1, "head": -1, "n": 9}
    row |= {"counterfactual": 0.25, "other": 0.25, "original": 0.5, "at": "pair"}
    row |= {"counterfactual_low": 0.2, "counterfactual_high": 0.3}
    rows = pd.DataFrame([row | {"vectors": vectors} for vectors in ("none", "role")])
    chart = tp.dashboard.interventions.show_interventions(rows, "polarity").chart()
    bars = [trace.x for trace in chart.data if trace.type == "bar"]  # not those of intervals
    assert np.sum(bars, axis=0).tolist() == [1.0, 1.0]
    assert list(chart.data[0].y) == ["no exchange", "roles, all layers"]  # one model is not told


# What the browser is sent of a scene


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


def test_a_value_has_one_color_on_maps_slices_strips_and_in_files(store, scene):
    whole, colors = maps.pack_map(scene, "token"), maps.color_values(scene, "token")
    part = tp.dashboard.slices.take_slice(scene, "token!=1")
    sliced = maps.pack_map(part, "token")
    shades = dict(zip(whole["values"], whole["colors"], strict=True))
    assert {*sliced["values"]} < {*whole["values"]}
    assert sliced["colors"] == [shades[value] for value in sliced["values"]]
    assert part.note.startswith(f"a slice: {len(part.rows):,} of {len(scene.rows):,} tokens")
    packed = strips.pack_strips(scene, [0], field="token")
    (strip,) = packed["strips"]
    assert strip["texts"] == [whole["values"][label] for label in strip["labels"]]
    picture = tp.dashboard.show_strips(scene, [0], field="token").scene
    assert np.allclose(picture.strips[0].colors, [colors[value] for value in strip["texts"]])
    dimmed = tp.dashboard.show_strips(scene, [0], where="token!=1")
    change = np.subtract(
        dimmed.scene.strips[0].colors, tp.dashboard.show_strips(scene, [0]).scene.strips[0].colors
    )
    assert ((change > 0).any(1) == (dimmed.data["token"] == "1")).all()
    names = maps.name_clusters(scene)
    expected = {f"{n}: {names[n]}" if n in names else n for n in scene.read_field("cluster")}
    assert {*tp.dashboard.show_map(scene).data["value"]} == expected


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
    packed, first_packed = (
        strips.pack_strips(*places) for places in ((second_scene, [0], scene, [0]), (scene, [0]))
    )
    assert packed["colors"] == first_packed["colors"]  # as a number stands for the same cluster
    sent, first_strip = packed["strips"][0], first_packed["strips"][0]
    second_strip = strips.pack_strips(second_scene, [0])["strips"][0]
    assert sent["labels"] == second_strip["labels"]
    assert [sent[name] for name in ("rows", "clusters")] == [
        first_strip[name] for name in ("rows", "clusters")
    ]
    other = strips.pack_strips(second_scene, [3], scene, [0])["strips"][0]  # of another text
    assert -1 in other["rows"]


def test_clusters_of_a_second_store_have_the_numbers_of_those_that_they_share_tokens_with(scene):
    order, roles = np.roll(np.arange(6), 2), scene.roles
    labels = np.argsort(order)[roles.labels].astype(np.int32)
    turned = token_maps.replace(roles, labels=labels, centers=roles.centers[order])
    comparison, turned = tp.dashboard.comparison, token_maps.replace(scene, roles=turned)
    pairs = comparison.match_samples(scene.store, scene.store)
    matched = comparison.renumber_clusters(scene, turned, pairs)
    assert matched.roles.labels.tolist() == roles.labels.tolist()
    assert np.array_equal(matched.roles.centers, roles.centers)


def test_rows_of_cross_attention_are_named_by_what_they_read_and_write(asked_runs):
    store = tp.open_store(asked_runs / "asked")
    maps = tp.dashboard.read_maps(store, "decoder.0.cross.attention", 0)
    sent = tp.dashboard.attention.pack_attention(maps, 0)["queries"]
    read = [sign.partition(" → ")[0] for sign in sent["signs"]]
    assert [sign.partition(" → ")[2] for sign in sent["signs"]] == [*read[1:], "…"]
    assert not any(sent["special"])


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


def test_texts_that_two_tokenizers_cut_differently_are_compared_word_by_word():
    whole = pd.DataFrame({"second": 0, "position": range(3), "token": ["[CLS]", "run", "ning"]})
    whole = whole.assign(word=[-1, 0, 0], cluster=[0, 1, 2])
    other = pd.DataFrame({"second": 0, "position": [0], "token": ["running"], "word": 0})
    joined = comparison.align_tokens(whole, other.assign(cluster=5))
    assert joined[["position_x", "cluster_x", "cluster_y"]].to_numpy().tolist() == [[2, 2, 5]]
    assert len(comparison.align_tokens(whole, whole)) == 3
    assert comparison.align_tokens(whole.drop(columns="word"), other).empty
