"""Figures of decompositions are drawn from what the commands write, and say what they show."""

import re

import numpy as np
import pytest
from planted.bindings import STATE, both, plant_bindings

from tprprobe.analyses.decomposition import decompose_all, search_all
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.role_fits import scheme_table, step_shares
from tprprobe.figures.tables import Table


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Decompositions and a search of vectors that are bound by left*right."""
    root = tmp_path_factory.mktemp("figures")
    store = plant_bindings(root / "store", both, n=160, noise=0.3, twin=True)
    decompose_all(store, STATE, ["left", "left*right"], root / "decomposed", rank="4x3")
    decompose_all(store, STATE, ["left"], root / "unwithheld", family="additive", withheld=0.0)
    store = plant_bindings(root / "searched", both, n=300, noise=0.3, twin=True)  # more than pairs
    search_all(store, STATE, root / "roles", fields=["left", "right"])
    return root


def test_the_table_shows_every_scheme_beside_its_controls(run):
    table = catalogue.make("decomposition", decompositions=[run / "decomposed"])
    assert isinstance(table, Table)
    rows = table.cells.set_index("roles")
    value = {name: float(rows.loc[name, "+ bindings"].split()[0]) for name in rows.index}
    assert value["left*right"] > value["left"] + 0.3
    right = rows.loc["left*right"]
    assert float(right["untrained"]) < 0.1 < float(right["saturated"])
    assert float(right["fillers"]) < value["left*right"]
    gain = float(re.search(r"\((.*)\)", right["+ bindings"])[1])
    steps = [float(right[name].split()[0]) for name in ("+ roles", "+ bindings")]
    assert gain == pytest.approx(steps[1] - steps[0], abs=2e-3)
    shares = [float(right[name].split()[0]) for name in ("share", "baseline share", "learned")]
    assert shares[2] == pytest.approx(shares[0] - shares[1], abs=2e-3)
    assert re.fullmatch(r"0\.\d{3}", right["learned"])  # of one baseline model: no interval
    assert re.fullmatch(r"-?\d\.\d{3}", right["withheld"])  # fewer than ten pairs: no interval


def test_steps_are_drawn_beside_those_of_the_twin(run):
    figure = catalogue.draw("decomposition-steps", decompositions=[run / "decomposed"])
    panel, baseline = figure.axes
    assert [label.get_text() for label in panel.get_yticklabels()][:2] == ["left", "left*right"]
    assert baseline.get_title(loc="left") == "baseline model"
    notes = " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert re.search(r"left: \w+ .*: share of variance [−+\d].*, with shuffled roles [−+\d]", notes)
    assert catalogue.find_figure("tpdn-table").name == "decomposition"


def test_a_narrow_table_keeps_what_decides(run):
    scores = load_tables([run / "decomposed"], DECOMPOSITIONS)
    names = [str(name).replace(" \n", " ") for name in scheme_table(scores).fit(2.5).cells]
    assert names == ["roles", "share", "shuffled share", "baseline share", "learned"]


def test_the_note_has_the_share_of_the_baseline_beside_it(run):
    scores = load_tables([run / "decomposed"], DECOMPOSITIONS)
    note = step_shares(scores[scores["roles"] == "left*right"]).note
    assert re.search(r"Binds fillers .*, in the baseline [−+]0\.\d{3} \(one or two models", note)


def test_a_control_that_says_nothing_is_left_out(run):
    scores = load_tables([run / "decomposed"], DECOMPOSITIONS)
    table = scheme_table(scores[scores["control"] != "pca"])
    assert "PCA" not in table.cells


def test_withheld_pairs_stand_beside_held_out_sequences(run):
    figure = catalogue.draw("withheld", decompositions=[run / "decomposed"])
    [panel] = figure.axes
    _, names = panel.get_legend_handles_labels()
    assert names == ["held-out sequences", "those with a withheld pair"]
    ticks = [label.get_text() for label in panel.get_yticklabels()]
    assert "left*right: factored" in ticks
    assert len(ticks) == 6
    assert ticks[:3] == ["left: additive", "left: factored", "left: saturated"]
    with pytest.raises(InputError, match="no held-out sequence"):
        catalogue.draw("withheld", decompositions=[run / "unwithheld"])


def test_a_search_shows_its_curve_what_it_found_and_its_controls(run):
    figure = catalogue.draw("role-search", roles=[run / "roles"])
    [panel] = figure.axes
    assert panel.get_title(loc="left").endswith("encoding, found: left*right")
    notes = " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert "of permuted fields: " in notes
    bits = panel.lines[0].get_ydata()
    assert np.all(np.diff(bits) < 0)
    _, names = panel.get_legend_handles_labels()
    assert names[0].startswith("left*right")
