"""Figures for print: fonts inside, widths of a page, colors for all eyes, labels apart, and a look that stays."""

import io
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread
from matplotlib.text import Text
from planted.printed import DPI, FIGURES, FOLDER

from tprprobe.errors import InputError
from tprprobe.figures import colors
from tprprobe.figures.dots import render
from tprprobe.figures.line_styles import BASELINE, EMBEDDING, style_lines
from tprprobe.figures.look import Look
from tprprobe.figures.scenes import Lines, Squares
from tprprobe.figures.tables import Table

# Severe deficiency of cones for long, middle and short waves. Source: Machado, Oliveira & Fernandes (2009), Table 1.
SEEN_AS = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
MIN_DISTANCE = 10  # CIE76; about four just noticeable differences
FAR = 1.0  # of 255, the mean over pixels: other versions of matplotlib smooth edges a little otherwise


def lab(rgb):
    """CIE L*a*b* (D65) of linear RGB."""
    xyz = np.clip(rgb, 0, 1) @ np.array(
        [[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]]
    )
    x, y, z = np.cbrt(np.maximum(xyz / (0.9505, 1, 1.089), 0.008856))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", SEEN_AS)
def test_hues_are_told_apart_by_all_eyes(eyes):
    linear = [
        np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        for c in np.array([to_rgb(hue) for hue in colors.HUES])
    ]
    perceived = [lab(np.array(SEEN_AS[eyes]) @ color) for color in linear]
    assert min(np.linalg.norm(a - b) for a, b in combinations(perceived, 2)) > MIN_DISTANCE


def test_lines_beyond_the_colors_that_are_asked_for_have_hues_of_their_own():
    with Look(colors=["#009E73"]).used():
        styles = style_lines(pd.DataFrame({"line": ["a", "b", "c"]}))
    assert [tuple(np.round(style["color"], 9)) for style in styles.values()] == [
        tuple(np.round(to_rgb(hue), 9)) for hue in ("#009E73", *colors.HUES[:2])
    ]


def test_a_style_file_has_colors_of_series_and_a_width_of_lines(tmp_path):
    file = tmp_path / "mine.mplstyle"
    file.write_text("axes.prop_cycle: cycler(color=['aa0000', '00aa00'])\nlines.linewidth: 3")
    rows = pd.DataFrame({"line": ["a", "b"], "x": 0, "value": 0.5, "low": 0.4, "high": 0.6})
    with Look(style=file).used():
        (panel,) = render(Lines(rows.assign(panel="p", sure=True))).axes
    assert [(line.get_color(), line.get_linewidth()) for line in panel.lines] == [
        (to_rgb(color), 3) for color in ("#aa0000", "#00aa00")
    ]


def test_marks_and_dashes_mean_the_baseline_model_and_the_input_embedding():
    meanings = {"a": "", "a, permuted": BASELINE, "b": "", "c": EMBEDDING}
    rows = pd.DataFrame({"line": [*meanings], "stands_for": [*meanings.values()]})
    styles = style_lines(rows.assign(group=["a", "a", "b", EMBEDDING]))
    shapes = {line: (style["marker"], style["linestyle"]) for line, style in styles.items()}
    assert shapes == {"a": ("o", "-"), "a, permuted": ("v", "--"), "b": ("s", "-"), "c": ("*", "")}
    assert styles["a, permuted"]["color"] == colors.shade_color(styles["a"]["color"], 0.5)


def draw(figure):
    with io.BytesIO() as stream:
        figure.savefig(stream, format="png", dpi=DPI)
        stream.seek(0)
        return imread(stream)[..., :3] * 255


def distance(picture, reference):
    """The mean difference of two pictures; of two of unlike sizes, infinite."""
    return np.inf if picture.shape != reference.shape else np.abs(picture - reference).mean()


@pytest.mark.parametrize("name", FIGURES)
def test_figures_look_as_they_did(name):
    """`python tests/planted/printed.py` draws them anew, where a change is meant: look at them then."""
    reference = imread(FOLDER / f"{name}.png")[..., :3] * 255
    figure = FIGURES[name]()
    assert distance(draw(figure), reference) < FAR
    restyled = FIGURES[name]()
    for axes in restyled.axes:  # a style that changed: larger labels
        axes.tick_params(labelsize=10)
        axes.set_title(axes.get_title(loc="left"), loc="left", fontsize=13)
    assert distance(draw(restyled), reference) > FAR


@pytest.mark.parametrize("name", FIGURES)
def test_labels_lie_apart(name):
    assert overlaps(FIGURES[name]()) == []


def overlaps(figure):
    """The pairs of texts that are drawn over one another."""
    figure.canvas.draw()
    texts = [
        (text, text.get_window_extent())
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip()
    ]
    drawn_texts = [(text.get_text(), box) for text, box in texts if is_drawn(text)]
    return [
        (name, other_name)
        for (name, a), (other_name, b) in combinations(drawn_texts, 2)
        if a.padded(-1).overlaps(b.padded(-1))
    ]


def test_names_of_squares_in_given_axes_lie_apart_and_are_thinned_alike():
    names = [f"token {i}" for i in range(31)]
    titles = ("query", "key")
    figure = Figure(figsize=(6.3, 2.4), layout="constrained")
    panel = figure.subplots(1, 2)[1]
    with Look(fontsize=9).used():
        render(Squares(np.eye(31), names, names, titles, bar="attention"), panel)
    FigureCanvasAgg(figure).draw()  # settles the layout
    assert overlaps(figure) == []
    x_names, y_names = (
        [t.get_text() for t in axis.get_ticklabels()] for axis in (panel.xaxis, panel.yaxis)
    )
    assert x_names == y_names == names[::2]
    assert [panel.get_xlabel(), panel.get_ylabel()] == [f"{t}, 1 of 2 named" for t in titles[::-1]]


def test_squares_leave_no_empty_height():
    names = [*map(str, range(29))]
    with Look(width="acl").used():
        figure = render(Squares(np.eye(3, 29), names[:3], names, ("output", "source"), title="t"))
    draw(figure)
    (panel,) = figure.axes
    assert panel.get_tightbbox().height < figure.bbox.height < 1.3 * panel.get_tightbbox().height


def is_drawn(text):
    """False for labels of ticks outside the axes, which are kept but not drawn."""
    if not re.fullmatch(r"[−+-]?[\d.,k%]+", text.get_text()):
        return True
    if text.axes is None:
        return False
    inside = text.axes.get_window_extent().padded(20)
    return bool(inside.overlaps(text.get_window_extent()))


def test_a_table_has_room_for_its_headings_and_none_too_much_below():
    cells = pd.DataFrame({"a long heading of a number": ["1"], "another long heading": ["2"]})
    assert "$-$1 [$-$2]" in Table(cells.map(lambda _: "-1 [-2]"), "Title").latex()
    figure = Table(cells, "Title", "a note\nof two lines").draw()
    assert overlaps(figure) == []
    figure.canvas.draw()
    lowest = min(text.get_window_extent().y0 for text in figure.axes[0].texts)
    assert 0 < lowest < 0.35 * figure.dpi
    axes = Figure(figsize=(1, 1)).subplots()
    with pytest.raises(InputError, match=r"1\.\d points in this room: give \S+ × \S+ inches"):
        Table(cells, "Title").draw(axes)


def test_a_table_in_a_column_has_blocks_intervals_below_and_leaves_out_what_has_no_room(capsys):
    wide = {f"spare {i}": ["0.51 [0.41, 0.61]"] * 2 for i in range(9)}
    cells = pd.DataFrame({"model": "m", "layer": ["1", "2"], "of": "a long name", **wide})
    table = Table(cells, "t", block=("model", "layer"), spare=(("spare 0", "spare 8"), *wide))
    with Look(width="acl").used():
        narrow, text = table.fit(3.03), table.latex()
    kept = [name for name in wide if name in " ".join(narrow.cells).split(" \n")]
    assert 0 < len(narrow.cells.columns) - 1 < len(wide), kept
    assert r"\rlap{\textit{m, layer 1}}" in text
    assert r"0.51 & " in text
    assert r"\mbox{\scriptsize{[0.41, 0.61]}}" in text
    assert "Left out in this width: spare 0; spare 8; spare 1" in text
    words = Table(pd.DataFrame({f"unbreakable{i}": ["1"] for i in range(5)}), "t")
    with Look(width="acl").used():
        words.latex()
        assert "inches are wider than the 3.03" in capsys.readouterr().err
        words.draw()
    assert re.fullmatch(
        r"t: letters of cells have [45]\.\d points, to fit 3\.03 inches\n", capsys.readouterr().err
    )
