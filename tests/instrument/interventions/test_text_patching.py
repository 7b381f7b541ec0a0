"""Patching between two texts: what must be recovered where, the refusals, the command and its figure."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from planted.cli import run_command

import tprprobe as tp
from tprprobe.errors import InputError
from tprprobe.figures.dots import render
from tprprobe.figures.patching import patching_squares, summarize_patching
from tprprobe.figures.scenes import GAP
from tprprobe.figures.squares import SquareText
from tprprobe.interventions import patch_positions
from tprprobe.interventions.text_patching import PatchedRuns, is_judged, read_answer_ids

TEXT, AGAINST = "The cat saw the dog ", "The cat say the dog "  # open behind a blank


def test_the_embedding_of_the_changed_word_and_the_last_state_carry_all(folder):
    model = tp.load_model(f"hf:{folder}")
    n_tokens, answers = len(model.read(TEXT)[0]), ["dog", "a"]
    table = patch_positions(model, TEXT, AGAINST, answers)
    recovered = table[table["control"] == ""].pivot_table("recovered", "site", "position")
    differs = (table["token"] != table["other_token"]).to_numpy()[:n_tokens]
    embedding = recovered.loc["layers.embedding"].to_numpy()
    assert differs.sum() == 1
    assert embedding == pytest.approx(differs.astype(float), abs=1e-4)
    assert recovered.loc[table["site"].iloc[-1]].to_numpy() == pytest.approx(
        np.eye(n_tokens)[-1], abs=1e-4
    )
    is_control = table["control"] != ""
    edited = table[~is_control]
    judged = edited[is_judged(edited["site"], edited["recovered"])]
    assert judged["site"].nunique() < len(judged)
    n_draws = table[is_control].groupby(["site", "position"], sort=False).size()
    assert n_draws.eq(5).all()
    assert n_draws.index.to_list() == [*zip(judged["site"], judged["position"], strict=True)]
    change = table["difference_against"] - table["difference_text"]
    share = (table["difference"] - table["difference_text"]) / change
    assert share.to_numpy() == pytest.approx(table["recovered"].to_numpy())


@pytest.mark.parametrize(
    ("shares", "expected"),
    [([0.9, 0.8, 0.7, -0.2, 0.6], "11110"), ([-0.3, 0.04, 0.01], "110"), ([0.04, -0.04], "10")],
)
def test_the_most_the_least_and_the_largest_shares_have_controls(shares, expected):
    is_control = is_judged(pd.Series(["a"] * len(shares)), pd.Series(shares))
    assert is_control.tolist() == [digit == "1" for digit in expected]


def test_layers_below_are_computed_once_and_change_nothing(folder):
    model = tp.load_model(f"hf:{folder}")
    runs = PatchedRuns(model, model.read(TEXT), (1, 2))
    assert list(runs.step_of_layer) == [0, 1]
    assert runs.can_hold
    held = patch_positions(model, TEXT, AGAINST, ["dog", "a"])
    model.taps.layer_modules = {}
    assert not PatchedRuns(model, model.read(TEXT), (1, 2)).can_hold
    whole = patch_positions(model, TEXT, AGAINST, ["dog", "a"])
    assert held["difference"].to_numpy() == pytest.approx(whole["difference"].to_numpy(), abs=1e-5)


def plant_shares(shares, random, text=-2.0, against=3.0):
    """A table of patchings with these shares [layer, token], and random directions of so large an effect by layer."""
    rows = [
        {"site": f"layers.{layer}.hidden", "layer": layer, "position": i, "control": control, "recovered": x}
        for layer, row in enumerate(shares)
        for i, share in enumerate(row)
        for control, values in (("", [share]), ("random direction", [0.01, -random[layer]]))
        for x in values
    ]  # fmt: skip
    table = pd.DataFrame(rows).assign(answer=" is", other_answer=" are")
    table["token"] = table["other_token"] = table["position"].map("abc".__getitem__)
    return table.assign(difference_text=text, difference_against=against, difference=0.0)


def test_the_sentence_is_true():
    sentence = summarize_patching(
        plant_shares([[0.9, 0.1, 0], [0.6, 0.2, 0], [0.4, 0.3, 0], [0, 0, 0.7]], [0.1, 0.2, 0.1, 0.8])
    )  # fmt: skip
    assert sentence.startswith(
        "log p(are) − log p(is) is −2.00 in the first text, 3.00 in the second."
    )
    assert (
        "from layer 0 to layer 1 (position 0, ‘a’: 0.60 to 0.90; at least 0.40 more than random)."
        in sentence
    )
    assert "Elsewhere no token carries half of it (at most 0.40, random 0.10)." in sentence
    assert "In layer 3 one does, but a random direction moves the answers as far" in sentence
    nothing = summarize_patching(plant_shares([[0.4, 0.1], [0.2, 0.3]], [0.1, 0.1]))
    assert (
        "Nowhere does the state of one token carry most of the difference beyond the control."
        in nothing
    )
    assert "against" not in sentence + nothing
    against = summarize_patching(plant_shares([[0.9, -0.1], [0.6, -0.7]], [0.2, 0.3]))
    assert (
        "against it works the state of one token in layer 1 (position 1, ‘b’, the last: −0.70; random 0.30)."
        in against
    )
    table = plant_shares([[0.9, 0]] * 3, [0.1] * 3)
    assert "at the 2 sites tried from layer 0 to layer 2 (" in summarize_patching(
        table[table["layer"] != 1]
    )
    with pytest.raises(InputError, match="several tables of patch_positions: give those of one"):
        tp.draw("patching", pd.concat([table, table]))
    table = plant_shares([[0.9, -0.7]], [0])
    is_last = table["control"].ne("") & table["position"].eq(1)
    table.loc[is_last, "recovered"] = -0.8  # beyond random directions at the other token alone
    assert "against" not in summarize_patching(table) + summarize_patching(table[~is_last])
    assert patching_squares(table).within.tolist() == [[False, True, False, False]]
    undecided = summarize_patching(plant_shares([[0.9, 0.1]], [0.1], text=0.09, against=-1.0))
    assert undecided.startswith(
        "Take care: the first text does not clearly prefer its answer ‘is’ and "
        "the second text does not prefer its answer ‘are’."
    )
    swapped = summarize_patching(plant_shares([[0.9, 0.1]], [0.1], text=1.0, against=-1.0))
    assert "(exchange them: --answers are,is)" in swapped


def test_the_map_has_the_control_of_every_layer_and_is_pale_within_it():
    table = plant_shares([[0.9, 0.02], [0.2, -0.9]], [0.3] * 2)
    squares = patching_squares(table)
    assert squares.rows[:2] == ["0", "1"]
    assert squares.values[:, -1] == pytest.approx(-0.3)  # the largest, with its sign
    assert squares.texts[0].tolist() == ["0.90", "", "", "−0.30"]
    marks = squares.tabulate()
    assert [*marks.columns, *marks["token"][:3]] == [
        "layer",
        "token",
        "value",
        "0: a",
        "1: b",
        "random",
    ]
    ax = tp.draw("patching", table, labels={"random": "control", "0": "first"}).axes[0]
    names = [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    assert names == ["first: a", "1: b", GAP, "control", "first", "1"]
    assert {text.get_text() for text in ax.texts} == {"0.90", "0.20", "−0.90", "−0.30"}
    [image] = render(squares).axes[0].images
    colors = image.get_array()[:, :2, :3]
    (full, within), (pale, away) = colors
    assert np.ptp(full) > 2 * np.ptp(pale) > 0  # the color is seen
    assert within.min() > 0.95
    assert away[2] > away[0] + 0.3


@pytest.mark.parametrize(("inches", "n_written"), [(8, 60), (1, 0)])  # with those of the control
def test_numbers_are_written_where_squares_have_room(inches, n_written, monkeypatch):
    written = []
    monkeypatch.setattr(Text, "draw", lambda text, _: written.append(text))
    ax = Figure(figsize=(inches, inches)).subplots()
    render(patching_squares(plant_shares([[0.9, 0.4]] * 20, [0.3] * 20)), ax)
    ax.figure.savefig(io.BytesIO())
    assert ax.get_aspect() == "auto"
    assert sum(type(text) is SquareText for text in written) == n_written


def test_texts_of_other_lengths_and_equal_answers_are_refused(folder):
    model = tp.load_model(f"hf:{folder}")
    with pytest.raises(tp.InputError, match="texts of as many tokens"):
        patch_positions(model, TEXT, "The dog")
    assert (
        len({*read_answer_ids(model, (TEXT, AGAINST), None)}) == 2
    )  # though both predict one token
    with pytest.raises(tp.InputError, match="different tokens"):
        patch_positions(model, TEXT, AGAINST, ["dog", "dog"])
    with pytest.raises(tp.InputError, match="the two texts are the same"):
        patch_positions(model, TEXT, TEXT, ["dog", "a"])
    with pytest.raises(tp.InputError, match="no vector for every token"):
        patch_positions(model, TEXT, AGAINST, ["dog", "a"], sites="*.attention")


def test_the_command_writes_a_table_and_a_figure(folder, tmp_path):
    command = ["intervene", "--ckpt", f"hf:{folder}", "--text", TEXT, "--against", AGAINST]
    command += ["--out", tmp_path / "out"]
    with pytest.raises(tp.InputError, match="different tokens"):  # and nothing is written
        run_command(*command, "--answers", "dog,dog")
    result = run_command(*command, "--answers", "dog,a")
    assert "answers: 'd', the first token of 'dog'; to the other text 'a'\n" in result.stderr
    assert "embedding" in result.stdout
    assert re.search(
        r"log p\(a\) − log p\(d\) is .* in the first text, .* in the second", result.stdout
    )
    table = pd.read_parquet(tmp_path / "out" / "patching.parquet")
    assert pd.read_csv(tmp_path / "out" / "patching.csv").shape == table.shape
    assert set(tp.load_results(tmp_path / "out").table["metric"]) == {"difference", "recovered"}
    assert all((tmp_path / "out" / f"patching.{e}").stat().st_size for e in ("pdf", "svg", "png"))
    run_command("figure", "patching", "--ckpt", tmp_path / "out", "--out", tmp_path / "p.svg")
    with pytest.raises(tp.InputError, match="--against goes with --text"):
        run_command(*command, "--exchange", "cat,dog")
