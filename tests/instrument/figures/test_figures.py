"""Figures show what the results say, and their files are reproducible, searchable and whole."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from planted.cli import run_command
from planted.questions import CROSS, HIDDEN, LAST, MAPS, plant
from planted.sentences import plant as plant_labelled

import tprprobe as tp
from tprprobe import figures
from tprprobe.analyses.clustering import cluster
from tprprobe.errors import InputError
from tprprobe.figures import catalogue, colors, strips, style
from tprprobe.figures.attention import map_squares, row_strips
from tprprobe.figures.charts import plot
from tprprobe.figures.clusters import cluster_strips
from tprprobe.figures.dots import render
from tprprobe.figures.labels import CONTROLS
from tprprobe.figures.look import Look
from tprprobe.figures.maps import Points
from tprprobe.figures.probe_captions import PLAIN
from tprprobe.figures.probes import probe_table
from tprprobe.figures.scenes import Grid, Shares
from tprprobe.figures.state_shares import share_bars
from tprprobe.figures.tables import Table


@pytest.fixture(scope="module")
def roles(store):
    return cluster(store, LAST, head=0, k=20, n_seeds=2)


def texts(figure):
    """All that is written in a figure, in the order of drawing."""
    return [text.get_text() for axes in figure.axes for text in axes.texts if text.get_text()]


def test_role_clusters_show_every_cluster_of_right_answers(store, roles):
    figure = tp.figures.role_clusters(store, roles)
    tokens = store.tokens_of(LAST).assign(label=roles.labels)
    shown = [int(text) for text in texts(figure) if text.isdigit() and int(text) < roles.k]
    assert {*tokens.loc[tokens["correct"].astype(bool), "label"]} <= {*shown}
    written = figure.texts[-1].get_text().replace("\n", " ")
    assert re.search(
        r"6 of the 6 questions that were answered right, chosen .*: (\d+) of \1", written
    )


def test_texts_are_as_many_as_are_asked_for_or_fit_the_column(store):
    options = {"head": 0, "k": 4, "width": "acl"}
    two = tp.draw("roles", store, n_rows=2, **options)
    assert "2 of the 6 questions" in two.caption
    whole, low = (tp.draw("roles", store, height=height, **options) for height in (None, 3))
    assert "6 of the 6 questions" in whole.caption
    assert whole.get_figheight() < 6.5
    assert re.search(r"[1-4] of the 6 questions", low.caption)
    box = low.axes[0].get_position()
    assert box.ymin * 3 > low.texts[-1].get_window_extent().ymax / low.dpi
    for bad, message in (({"height": 1}, "height 1: these texts"), ({"n_rows": 0}, "n_rows 0")):
        with pytest.raises(InputError, match=message):
            tp.draw("roles", store, **options, **bad)


def test_bars_have_colors_and_numbers_of_the_likest_cluster_only_where_it_is_like(tmp_path):
    store, site = plant_labelled(tmp_path / "labelled", 12), "encoder.0.self.role"
    roles, baseline = (cluster(s, site, 0, k=4, n_seeds=2) for s in (store, store.control))
    is_read = store.tokens_of(site)["sample"].isin(store.control.tokens["sample"])
    renamed = replace(baseline, labels=(roles.labels[is_read] + 1) % 4)  # groups by other numbers
    scene = cluster_strips(store, roles, samples=[0], baseline=renamed)
    assert [number for _, number in scene.strips[0].beside] == [*scene.strips[0].notes]
    assert "ARI of all 1.00" in scene.note
    other = replace(baseline, labels=np.arange(is_read.sum()) % 4)
    names = {0: "DT (.90)"}
    scene = cluster_strips(store, roles, samples=[0], baseline=other, baseline_names=names)
    assert {number for _, number in scene.strips[0].beside} == {*"abcd"}
    letters = [text for _, text in scene.key[-2:]]
    assert letters == ["a: DT (.90)", "b…: others of the baseline model"]
    drawn = tp.draw("roles", store, site=site, k=4).texts[-1].get_text().replace("\n", " ")
    assert "bars: clusters of the baseline model" in drawn


def test_role_clusters_of_all_questions_mark_wrong_answers(store, roles):
    figure = figures.role_clusters(store, roles, n_rows=4, correct_only=False)
    token = store.tokens[store.tokens["sample"] == 3].iloc[0]
    assert f"✗ {token['prediction']}  (right: {token['answer']})" in texts(figure)


def test_role_clusters_of_labelled_words_need_no_questions(tmp_path):
    """Stores without questions and answers are drawn too, without what these would say."""
    labelled = plant_labelled(tmp_path / "labelled", 12)
    assert "question" not in labelled.tokens
    roles = cluster(labelled, "encoder.0.self.role", 0, k=4)
    figure = figures.role_clusters(labelled, roles, gold=True)
    labels = texts(figure)
    assert any(text.startswith("nn") for text in labels)
    assert not any("→" in text or "right:" in text for text in labels)
    assert "numerator" not in figure.texts[-1].get_text()


def test_role_clusters_color_each_cluster(store, roles):
    figure = figures.role_clusters(store, roles, samples=[0])
    (squares,) = figure.axes[0].collections
    labels = roles.labels[: len(squares.get_facecolor())]
    np.testing.assert_allclose(squares.get_facecolor()[:, :3], np.array(colors.palette(20))[labels])


def test_role_clusters_refuse_what_does_not_fit(store, roles, tmp_path):
    second_store = plant(tmp_path / "other", 3)
    with pytest.raises(InputError, match="these clusters are of another store"):
        figures.role_clusters(second_store, roles)
    with pytest.raises(InputError, match=r"no sample 8 .* it has 8, from 0"):
        figures.role_clusters(store, roles, samples=[8])
    tokens = store.tokens.assign(correct=False)
    wrong = type(store)(store.path, store.manifest)
    wrong.__dict__["tokens"] = tokens
    with pytest.raises(InputError, match="no question that was answered right"):
        figures.role_clusters(wrong, roles)


@given(st.integers(1, 170), st.integers(0, 40))
def test_strips_never_leave_the_page(length, after):
    strip = strips.Strip(
        ["x"] * length, [(1.0, 1.0, 1.0)] * length, ["0"] * length, after="y" * after
    )
    line, column, width = strip.places[-1]
    assert strip.columns <= strips.COLUMNS
    assert line * strips.COLUMNS + column >= length  # nothing on top of a square
    assert line < strip.lines or not after
    assert column + width <= strips.COLUMNS


def test_attention_rows_are_of_the_digits_behind_a_slash_with_their_weights(store):
    tokens = store.tokens_of(MAPS)
    question = "".join(
        t if len(t) == 1 else "_" for t in tokens.loc[tokens["sample"] == 0, "token"]
    )
    numbers = [operand.lstrip("(-").rstrip(").%_") for operand in question.split("/")[1:]]
    headings = [text for text in texts(render(row_strips(store, MAPS, 0, 0))) if "from" in text]
    assert [text[6] for text in headings] == list("".join(numbers))
    for text in headings:
        assert question[int(text.split(" at ")[1])] == text[6]
    weights = store.attention(MAPS, 1)[0, 5]
    labels = texts(render(row_strips(store, MAPS, 1, head=0, positions=[5])))
    expected = [f"{weight:.0%}".rstrip("%") for weight in weights if weight >= 0.05]
    assert [text for text in labels if text.isdigit() and len(text) == 2] == expected


def test_attention_of_answers_to_questions(store):
    figure = render(map_squares(store, CROSS, 2, head=1))
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), store.attention(CROSS, 2)[1])
    keys = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert len(keys) == image.get_array().shape[1]
    assert (keys[0], keys[-1]) == ("⊢", "⊣")


@pytest.mark.parametrize(
    ("site", "sample", "head", "positions", "message"),
    [
        (MAPS, 7, 0, None, "no attention maps of sample 7"),
        (MAPS, 0, 2, None, "no head 2: it has 0 to 1"),
        (MAPS, 0, 0, [99], "no position 99: sample 0 has 0 to"),
        (CROSS, 0, 0, [], "no digit after a '/'"),
        (HIDDEN, 0, 0, None, "no attention maps"),
    ],
)
def test_attention_refuses_what_is_not_there(store, site, sample, head, positions, message):
    with pytest.raises(InputError, match=message):
        row_strips(store, site, sample, head, positions)


def test_a_figure_is_drawn_by_its_name_into_axes_of_ones_own(store):
    left_axes, right = Figure(figsize=(6, 3)).subplots(1, 2)
    tp.draw("attention", store, ax=left_axes, sample=1, head=1, title="a head")
    tp.draw("roles", store, ax=right, head=0, k=4)
    assert left_axes.get_title() == "a head"
    np.testing.assert_array_equal(left_axes.images[0].get_array(), store.attention(MAPS, 1)[1])
    assert right.collections
    assert [text for text in texts(right.figure) if text[:1] == "(" or " · " in text]  # the key


def test_equal_tokens_have_squares_of_their_own_in_a_browser(store):
    scene = map_squares(store, MAPS, 1, 1)
    chart = tp.draw("attention", store, backend="plotly", sample=1, head=1)
    [squares] = chart.data
    assert len({*scene.rows}) < len(scene.rows) == len({*squares.y})
    np.testing.assert_array_equal(squares.z, store.attention(MAPS, 1)[1])
    assert [*chart.layout.yaxis.ticktext] == [*scene.rows]
    assert (chart.layout.title.text, squares.colorbar.title.text) == (scene.title, "attention")


@pytest.fixture
def scores():
    """Scores of one's own: two tasks in two layers."""
    rows = [
        {"task": task, "site": "hidden", "layer": layer, "control": ""}
        | {"f1": f1, "f1_low": f1 - 0.1, "f1_high": f1 + 0.1}
        for task in ("pos", "dep")
        for layer, f1 in ((0, 0.5), (1, 0.8))
    ]
    rows += [{**row, "control": "shuffled", "f1": 0.3} for row in rows]
    return pd.DataFrame(rows)


def test_scores_of_ones_own_are_drawn(scores):
    for table in (scores, scores.assign(head=-1), scores.assign(head=np.nan, side="source")):
        (panel, _) = tp.draw("probes", table).axes
        assert panel.get_title(loc="left") == "POS"
        values = [line.get_ydata().tolist() for line in panel.lines]
        assert values == [[0.3, 0.3], [0.5, 0.8]]  # the control, and the probes
    with pytest.raises(InputError, match="no column f1_high, f1_low: it needs f1, f1_high, f1_low"):
        tp.draw("probes", scores.drop(columns=["f1_low", "f1_high"]))
    with pytest.raises(
        InputError, match=r"probes is made of probes: give tp\.draw a result, a table"
    ):
        tp.draw("probes")


def test_input_embeddings_are_the_layer_before_the_first_and_hollow_marks_are_explained(scores):
    rows = scores[scores["task"] == "pos"]
    static = rows.head(1).assign(control="static", site="encoder.embedding", layer=None, f1=0.2)
    table = pd.concat([rows.assign(beyond=[True, *[None] * (len(rows) - 1)]), static])
    figure = tp.draw("probes", table, title="", ylim=(0.2, 1))
    panel = figure.axes[0]
    assert (panel.get_title(loc="left"), panel.get_ylim()) == ("", (0.2, 1))
    lines = {line.get_label(): line for line in panel.lines}
    assert lines["input embedding"].get_xydata().tolist() == [[-1, 0.2]]
    assert any(label.startswith("hollow") for label in lines)
    with pytest.raises(InputError, match="give the lower and the upper end"):
        tp.draw("probes", table, ylim=(1, 1))
    best = table.assign(
        behind_best=[0.1, 0.0, *[np.nan] * (len(table) - 2)], p_behind=0.01, head=None
    )
    strongest = best.assign(f1=best["f1"].replace(0.2, 0.9), documents=20, data="dev.conllu")
    scene = probe_table(strongest.assign(model="m")).scene
    assert {*scene.rows["line"]} == {"hidden"}  # the embeddings are the band, not drawn again
    assert scene.rows.set_index("x")["best"].to_dict() == {0: False, 1: True}
    assert "over 20 documents. Model: m. Data: dev.conllu." in scene.note
    assert "layer 1 is best; the other layer read is worse" in scene.note


def _plan_shares():
    places = ("additive", 0.2, -0.02, 0.25), ("bag", 0.5, 0.4, 0.6), ("factored", 0.1, -0.1, 0.15)
    return pd.DataFrame(places, columns=["family", "share", "share_low", "share_high"]).assign(
        site="encoder.0.hidden", roles="left", control="",
        share_by_length=0.0, share_by_length_low=-0.1, share_by_length_high=0.1,
    )  # fmt: skip


def test_estimates_whose_interval_holds_0_are_hatched_and_have_no_number():
    figure = render(replace(share_bars(_plan_shares(), "model"), note=""))
    assert texts(figure) == ["50%"]
    hatched = [bar.get_width() for bar in figure.axes[0].patches if bar.get_hatch()]
    assert sorted(hatched)[-2:] == pytest.approx([0.1, 0.2])
    wide = _plan_shares().assign(control="permuted", share_high=0.7)
    rows = share_bars(pd.concat([_plan_shares(), wide])).rows.dropna(subset="value")
    assert rows.groupby("part")["value"].count()[["tokens", "rest"]].tolist() == [2, 2]
    assert rows["part"].tolist().count("places") == 1


def test_in_a_browser_bars_stand_behind_one_another_and_bands_end_at_their_numbers(scores):
    steps = [("tokens", 0.5), ("places", np.nan), ("rest", 0.5)]
    rows = pd.DataFrame(steps, columns=["part", "value"]).assign(panel="model", name="layer 0")
    chart = plot(Shares(rows), dark=False)
    assert [bar.x.tolist() for bar in chart.data] == [[0.5], [0.0], [0.5]]  # NaN ends a stack
    chart = tp.draw("probes", scores, backend="plotly", colors=None)
    edges = [curve for curve in chart.data if curve.hoverinfo == "skip" and curve.mode == "lines"]
    assert "tonexty" in {curve.fill for curve in edges}
    assert {curve.line.width for curve in edges} == {0}


def test_in_a_browser_intervals_lie_above_all_bars_and_points_tell_their_words():
    steps = [("tokens", 0.5, 0.4, 0.7, True), ("places", 0.2, 0.0, 0.4, False)]
    rows = pd.DataFrame(steps, columns=["part", "value", "low", "high", "sure"])
    rows = pd.concat([rows, pd.DataFrame({"part": ["rest"], "value": [0.3], "sure": [True]})])
    *bars, intervals, hatched = plot(
        Shares(rows.assign(panel="model", name="layer 0")), dark=False
    ).data
    assert [[*bar.marker.pattern.shape] for bar in bars] == [[""], ["/"], [""]]
    assert hatched.name == "hatched: not shown to be there"
    assert intervals.x[0] + intervals.error_x.array[0] == pytest.approx(0.7)
    assert intervals.x[0] - intervals.error_x.arrayminus[0] == pytest.approx(0.4)
    marks = pd.DataFrame({"value": ["noun", "other"], "word": ["cat", "of"]})
    points = Points(np.eye(2), [*marks["value"]], ["noun", "other"], title="map", marks=marks)
    noun, other = plot(Grid([points]), dark=False).data
    assert (*noun.hovertext, *other.hovertext) == ("noun, cat", "other, of")


def test_bars_and_intervals_beyond_the_whole_stand_where_their_numbers_are():
    steps = [("tokens", 0.9, 0.8, 1.0, True), ("places", 0.3, 0.2, 0.45, True)]
    rows = pd.DataFrame(steps, columns=["part", "value", "low", "high", "sure"])
    [panel] = render(Shares(rows.assign(panel="model", name="layer 0"))).axes
    assert [bar.get_x() + bar.get_width() for bar in panel.patches][1::2] == pytest.approx(
        [0.9, 1.2]
    )
    ends = [line.get_segments()[0][:, 0] for line in panel.collections]
    np.testing.assert_allclose(ends, [[0.8, 1.0], [1.1, 1.35]])
    assert panel.get_xlim()[1] > 1.35  # no bar or interval seems cut
    ax = Figure().subplots()
    tp.draw("examined-states", _plan_shares(), ax=ax, panel=0, title="mine")
    assert ax.get_title() == "mine"


def test_every_panel_has_axes_of_its_own(scores):
    axes = Figure(figsize=(6, 3)).subplots(1, 2)
    with pytest.raises(
        InputError, match=r"2 panels \(POS.*; DEP.*\) for 1 axes: give `ax` as many"
    ):
        tp.draw("probes", scores, ax=axes[0])
    tp.draw("probes", scores, ax=axes[1], panel=1)
    assert [axes[1].get_title(), len(axes[0].lines)] == ["DEP", 0]
    shared = Figure().subplots(1, 2, sharey=True)
    for panel, table in zip(shared, (scores.assign(f1_low=0.1), scores), strict=True):
        tp.draw("probes", table, ax=panel, task="pos")
    assert shared[0].get_ylim()[0] <= 0.1
    alone = Figure().subplots()
    tp.draw("probes", scores, ax=alone, task="pos")
    for panel, is_cut in ((shared[0], False), (alone, True)):
        with matplotlib.rc_context({"svg.fonttype": "none"}), io.BytesIO() as stream:
            panel.figure.savefig(stream, format="svg")
            assert ("≈".encode() in stream.getvalue()) == is_cut
    with pytest.raises(InputError, match="unknown panel of this figure 'NER'"):
        tp.draw("probes", scores, panel="NER")
    axes[1].clear()
    tp.draw("probes", scores, ax=axes)
    assert [panel.get_title() for panel in axes] == ["POS", "DEP"]
    assert [panel.lines[1].get_ydata().tolist() for panel in axes] == [[0.5, 0.8]] * 2
    ax = Figure().subplots()
    tp.draw("probes", scores, ax=ax, task="dep")
    assert ax.get_title() == "DEP"
    with pytest.raises(InputError, match="unknown task of these probes 'deps'; did you mean 'dep'"):
        tp.draw("probes", scores, task="deps")


def test_several_models_have_their_own_controls_and_own_tokens_are_known(scores):
    rows = scores[scores["task"] == "pos"].assign(model="a", side="target", site="decoder.0.hidden")
    majority = rows.head(1).assign(control="identity", f1=0.6, layer=None)
    tables = pd.concat([rows, majority])
    other = tables.assign(model="b", f1=tables["f1"] + 0.1, is_at_token=True)
    lines = probe_table(pd.concat([tables.assign(is_at_token=False), other])).lines
    assert lines.named_bands.groupby("line")["value"].max().round(1).tolist() == [0.6, 0.7]
    assert lines.levels[["line", "value"]].to_numpy().tolist() == [[CONTROLS["identity"], 0.7]]
    beside = [scores, scores.assign(control="permuted", f1=0.2)]
    models = [
        table.assign(model=stack, site=f"{stack}.0.hidden") for stack in PLAIN for table in beside
    ]
    scene = tp.draw("probes", pd.concat(models)).scene
    assert scene.panels == ["POS", "DEP"]
    assert "layers: hidden, baseline model (permuted weights)" in {*scene.rows["line"]}
    places = scene.tabulate()[["panel", "line"]].agg(": ".join, axis=1).tolist()
    assert [place for place, _ in groupby(places)] == [*dict.fromkeys(places)]


def test_words_and_colors_are_ones_own_in_given_axes_too(scores):
    ax = Figure().subplots()
    look = {"labels": {"hidden": "MiniLM"}, "colors": ["red"]}
    tp.draw("probes", scores, ax=ax, task="pos", **look)
    handles, labels = ax.get_legend_handles_labels()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "MiniLM" in texts
    assert "hidden" not in texts
    assert to_rgb(handles[labels.index("MiniLM")].get_color()) == (1, 0, 0)
    with pytest.raises(
        InputError, match=r"unknown text of this figure 'hiden'; did you mean 'hidden'"
    ):
        tp.draw("probes", scores, task="pos", labels={"hiden": "MiniLM"})
    plain = Figure().subplots()
    with pytest.raises(InputError, match="unknown text"):
        tp.draw("probes", scores, ax=plain, task="pos", labels={"hiden": "MiniLM"})
    assert not plain.lines  # what fails draws nothing
    tp.draw("probes", scores, ax=plain, task="pos", legend=False, colors={"hidden": "red"})
    assert plain.get_legend() is None
    handles, labels = plain.get_legend_handles_labels()
    assert to_rgb(handles[labels.index("hidden")].get_color()) == (1, 0, 0)
    with pytest.raises(InputError, match="unknown line of this figure 'hiden'"):
        tp.draw("probes", scores, task="pos", colors={"hiden": "red"})


def test_attention_maps_of_any_site_and_of_positions_are_drawn(store, tmp_path):
    title = tp.draw("attention", store, site=CROSS, sample=1).axes[0].get_title("left")
    assert "cross" in title
    with pytest.raises(InputError, match="no attention maps"):
        tp.draw("attention", store, site="encoder.9.cross.attention")
    options = ["--store", store.path, "--positions", 1, "--out", tmp_path / "row.png"]
    assert "drawn" in run_command("figure", "attention", *options).stderr


def test_a_figure_has_the_size_that_is_asked_for_and_its_proportion(store, tmp_path, monkeypatch):
    usual, narrow = (tp.draw("attention", store, sample=1, **look) for look in ({}, {"width": 3}))
    sides = [figure.get_size_inches() for figure in (usual, narrow)]
    assert sides[1][0] == 3
    assert sides[1][1] / sides[1][0] == pytest.approx(sides[0][1] / sides[0][0])
    mine = tmp_path / "mine.mplstyle"
    mine.write_text("axes.facecolor: red\nfigure.facecolor: black\nfont.family: serif")
    (tmp_path / "mine.py").write_text("raise AssertionError('no style runs a module')", "utf-8")
    monkeypatch.chdir(tmp_path)
    styled = tp.draw("attention", store, sample=1, style="mine.mplstyle")
    assert styled.axes[0].get_facecolor() == (1, 0, 0, 1)
    assert min(to_rgb(styled.texts[-1].get_color())) > 0.5  # the note, on black
    own = Figure().subplots()
    tp.draw("attention", store, ax=own, sample=1, style=mine)
    assert {text.get_fontfamily()[0] for text in own.findobj(Text)} == {"serif"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "bokeh"}, "unknown backend 'bokeh'"),
        ({"backend": "plotly"}, "cannot be drawn by plotly"),
        ({"style": "absent.mplstyle"}, "no style absent.mplstyle"),
        ({"colour": 1}, "unknown option of roles 'colour'"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(store, options, message):
    with pytest.raises(InputError, match=message):
        tp.draw("roles", store, k=4, **options)


def test_given_axes_have_a_caption_a_legend_below_and_texts_that_fit(store, scores):
    figure = Figure(figsize=(6, 3))
    upper, _ = figure.subplots(2, 1)
    options = {"task": "pos", "labels": {"hidden": "MiniLM"}}
    caption = tp.draw("probes", scores, ax=upper, **options).caption
    whole, bare = (tp.draw("probes", scores, notes=notes, **options) for notes in (True, False))
    assert caption == whole.caption == bare.caption
    assert [len(drawn.texts) for drawn in (whole, bare)] == [1, 0]
    legend = upper.get_legend().get_window_extent()
    assert legend.y1 < upper.get_window_extent().y0
    for size, fits in (((3, 2.5), True), ((2, 1), False)):
        ax = Figure(figsize=size).subplots()
        if fits:
            tp.draw("roles", store, ax=ax, head=0, k=4)
            assert sum(text.isdigit() for text in texts(ax.figure)) > 10
        else:
            with pytest.raises(
                InputError,
                match=r"1\.6 × 0\.8 inches .* figsize=\(2, 2\.\d\), or leave out the key",
            ):
                tp.draw("roles", store, ax=ax, head=0, k=4)


def test_a_height_is_that_of_the_file_or_one_line_says_the_smallest(scores, tmp_path):
    with pytest.raises(
        InputError, match=r"height 1: this figure needs ([2-4]\.\d) or more"
    ) as raised:
        tp.draw("probes", scores, height=1, width="acl")
    least = float(re.search(r"needs (\S+)", str(raised.value))[1])
    tp.draw("probes", scores, height=least, width="acl", dpi=100).savefig(tmp_path / "p.png")
    assert imread(tmp_path / "p.png").shape[0] == pytest.approx(100 * least, abs=1)


def test_colors_are_used_or_refused_and_numbers_are_written(store, tmp_path):
    figure = tp.draw("attention", store, sample=1, colors=["white", "red"])
    assert figure.axes[0].images[0].cmap(1.0) == (1, 0, 0, 1)
    with pytest.raises(InputError, match="attention has no colors by name to choose"):
        tp.draw("attention", store, colors={"a": "red"})
    path = catalogue.write_figure("attention", store.path, [], {"sample": 1}, tmp_path / "map.csv")
    cells = pd.read_csv(path)
    np.testing.assert_allclose(cells["value"], store.attention(MAPS, 1)[0].ravel())
    assert not cells.duplicated(["query position", "key position"]).any()
    path = catalogue.write_figure("roles", store.path, [], {"k": 4}, tmp_path / "roles.csv")
    assert {"text", "position", "token", "value"} <= {*pd.read_csv(path)}


def test_tables_have_words_of_ones_own_and_files_of_numbers_columns(scores, tmp_path):
    scores.assign(head=-1).to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "settings.json").write_text('{"store": {"model": "m", "data": "d"}}')

    def write(name, **options):
        return catalogue.write_figure("probes", None, [tmp_path], options, tmp_path / name)

    look = {"labels": {"hidden": "MiniLM", "POS": "tags"}, "title": "Mine"}
    for name in ("table.md", "table.tex"):
        text = write(name, **look).read_text()
        assert {"Mine", "MiniLM", "tags"} <= {*re.findall(r"\w+", text)}
        assert "hidden" not in text
    for name in ("table.md", "numbers.csv"):
        with pytest.raises(InputError, match="unknown text of this figure 'hiden'"):
            write(name, labels={"hiden": "MiniLM"})
    numbers = pd.read_csv(write("numbers.csv", panel="POS", labels={"hidden": "MiniLM"}))
    of_model = numbers[numbers["line"] == "MiniLM"]
    assert of_model["value"].tolist() == [0.5, 0.8]
    assert pd.read_parquet(write("numbers.parquet"))["layer"].dtype == "Int64"
    assert {*numbers["panel"]} == {"POS"}
    renamed = Look(labels={"hidden": "MiniLM"}).rename("encoder.hidden, hidden")
    assert renamed == "encoder.hidden, MiniLM"


def test_learning_curve_draws_every_run_and_set():
    log = pd.DataFrame(
        [(100, "loss", "", "", 2.0), (200, "loss", "", "", 0.5)]
        + [(200, "exact_match", "mathematics:mixed", split, 0.25) for split in ("small", "large")],
        columns=["step", "metric", "data", "split", "value"],
    )
    figure = tp.draw("learning-curve", {"one": log, "two": log.assign(value=log["value"] / 2)})
    loss_axes, right = figure.axes
    assert [line.get_ydata().tolist() for line in loss_axes.lines] == [[2.0, 0.5], [1.0, 0.25]]
    labels = {line.get_label(): line.get_ydata().tolist() for line in right.lines}
    assert labels == {"one: large": [0.25], "one: small": [0.25], "two: large": [0.125], "two: small": [0.125]}  # fmt: skip
    with pytest.raises(InputError, match="log of one has no rows"):
        tp.draw("learning-curve", {"one": log[:0]})


def test_files_are_the_same_bytes_in_every_process(tmp_path):
    code = (
        "import sys, pandas as pd, tprprobe as tp;"
        "log = pd.DataFrame({'step': [1, 2], 'metric': 'loss', 'data': '', 'split': '', 'value': 1.});"
        "[tp.draw('learning-curve', {'ä': log}).savefig(file) for file in sys.argv[1:]]"
    )
    paths, subprocess_paths = (
        [str(tmp_path / f"{prefix}.{kind}") for kind in ("pdf", "svg", "png")] for prefix in "ht"
    )
    subprocess.run(
        [sys.executable, "-c", code, *subprocess_paths], check=True
    )  # other hashes of strings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["", *paths])
        exec(code, {})
    for path, subprocess_path in zip(paths, subprocess_paths, strict=True):
        assert Path(path).read_bytes() == Path(subprocess_path).read_bytes()


def test_files_have_embedded_fonts_and_searchable_text(store, roles, tmp_path):
    figure = figures.role_clusters(store, roles, n_rows=1)
    pdf = figures.save(figure, tmp_path / "new" / "roles.pdf").read_bytes()
    assert b"/FontFile2" in pdf  # TrueType, "type 42"
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf
    svg = figures.save(figure, tmp_path / "roles.svg").read_text()
    assert "Role clusters: layer 1, role, head 0</text>" in svg
    stream = io.BytesIO()
    figure.savefig(stream, format="svg")
    assert stream.getvalue().decode() == svg


def test_files_are_whole_or_absent(tmp_path):
    figure = style.drawing(1, 1)
    with pytest.raises(InputError, match=r"'roles\.doc': give a file that ends in \.pdf"):
        figures.save(figure, tmp_path / "roles.doc")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        figures.save(figure, tmp_path / "file" / "roles.pdf")
    figure.savefig = lambda path: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    with pytest.raises(InputError, match="No space left"):
        figures.save(figure, tmp_path / "roles.pdf")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@given(st.tuples(*[st.floats(0, 1)] * 3))
def test_text_can_be_read_on_any_color(background):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in background]
    luminance = np.dot(linear, (0.2126, 0.7152, 0.0722))
    ratio = {"white": 1.05 / (luminance + 0.05), "black": (luminance + 0.05) / 0.05}
    assert ratio[colors.text_color(background)] >= 4.5  # WCAG 2, AA


def test_lines_below_a_figure_leave_its_legend_where_it_is(tmp_path):
    pictures = {}
    for name in ("plain", "told"):
        figure = style.drawing(3, 2)
        figure.subplots().plot([0, 1], label="a line")
        figure.legend(loc="outside lower center")
        if name == "told":
            figure.put_below(["holds"] * 4 + ["WWWWWW " * 30])
            assert figure.texts[0].get_window_extent().x1 < figure.bbox.x1
        figure.savefig(tmp_path / f"{name}.png")
        pictures[name] = imread(tmp_path / f"{name}.png")[..., :3]
    height = len(pictures["plain"])
    assert len(pictures["told"]) > height
    assert (pictures["told"][: height - 3] == pictures["plain"][: height - 3]).all()


def test_a_block_of_a_table_is_drawn_alone():
    cells = pd.DataFrame({"direction": ["up", "up", "down"], "value": ["1", "2", "3"]})
    table = Table(cells, "Heads", ruled=(2,), block=("direction",))
    assert table.parts == ["up", "down"]
    assert table.choose("down").cells["value"].tolist() == ["3"]
    assert Table(cells, "Heads").parts == []
