"""Edits of two words' states on minimal pairs: what is measured, beside what, and from one command."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from planted.cli import run_command
from planted.word_models import save_words

import tprprobe as tp
from tprprobe.data import load_data
from tprprobe.data.frames.pairsets import pair_of_text
from tprprobe.errors import InputError
from tprprobe.figures.behavior import behavior_scene, describe_change
from tprprobe.figures.dots import render
from tprprobe.interventions import edits
from tprprobe.interventions.behavior import measure_pairs, summarize_pairs
from tprprobe.interventions.pair_trials import make_trials
from tprprobe.interventions.word_edits import EDITS, WordStates, list_edits
from tprprobe.models import load_model

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TEXT, EXCHANGED = "the dog sees the cat . who ? the", ["dog", "cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_words(tmp_path_factory.mktemp("words") / "llama")


@pytest.fixture(scope="module")
def model(folder):
    return load_model(f"hf:{folder}")


@pytest.fixture(scope="module")
def table(model, frame):
    return measure_pairs(model, load_data(frame), edits=list(EDITS))


def of(table, edit, control="", site=None):
    rows = table[table["edit"].eq(edit) & table["control"].eq(control)]
    return rows if site is None else rows[rows["site"].eq(site)].iloc[0]


def ids_of(model, text):
    return torch.tensor([model.vocabulary.encode(text)])


def test_exchange_is_the_swap_of_the_two_positions(model):
    rows = measure_pairs(model, pair_of_text(TEXT, EXCHANGED, ("dog", "cat")))
    order = edits.exchange([[1]], [[4]], 9)
    for site in ("layers.embedding", "layers.0.hidden"):
        with tp.intervene(model, {site: edits.swap(order)}):
            probabilities = model.predict(ids_of(model, TEXT))[0]
        row = of(rows, "exchange", site=site)
        dog, cat = (model.vocabulary.encode(word)[0] for word in EXCHANGED)
        assert (row["p_answer"], row["p_other"]) == pytest.approx(
            (float(probabilities[dog]), float(probabilities[cat]))
        )
        assert row["difference"] == pytest.approx(
            float((probabilities[cat] / probabilities[dog]).log()), abs=1e-5
        )


def test_floor_and_ceiling_are_the_two_texts(model):
    rows = measure_pairs(model, pair_of_text(TEXT, EXCHANGED, ("dog", "cat")))
    text, other_text = (
        model.predict(ids_of(model, prompt))[0]
        for prompt in (TEXT, "the cat sees the dog . who ? the")
    )
    floor, ceiling = of(rows, "none").iloc[0], of(rows, "other text").iloc[0]
    dog = model.vocabulary.encode("dog")[0]
    assert (floor["p_answer"], ceiling["p_answer"]) == pytest.approx(
        (float(text[dog]), float(other_text[dog]))
    )
    assert floor["kl"] == pytest.approx(
        float((other_text * (other_text / text).log()).sum()), abs=1e-5
    )
    assert (ceiling["kl"], ceiling["agrees"], floor["change"]) == (pytest.approx(0, abs=1e-6), 1, 0)
    assert (floor["answer"], floor["other"]) == ("dog", "cat")
    # without position nothing tells the two texts apart at the embedding: the exchange is the other text
    assert of(rows, "exchange", site="layers.embedding")["kl"] == pytest.approx(0, abs=1e-5)


def test_identity_changes_nothing_and_the_last_layer_s_words_are_read_by_nobody(table):
    for site in table["site"].unique()[1:]:
        assert of(table, "any", "identity", site)["change"] == 0
    top_layer = table[table["site"].eq("layers.1.hidden")]
    assert (top_layer["change"].abs() < 1e-6).all()


def test_every_edit_stands_beside_its_controls(table, frame):
    places = set(zip(table["edit"], table["control"], strict=True))
    controls = ("", "wrong role", "wrong position", "random direction")
    assert places == {("none", ""), ("other text", ""), ("any", "identity"), ("any", "mean")} | {
        (edit, control) for edit in EDITS for control in controls
    }
    items = len(load_data(frame)) // 2
    assert (table["n"] + table["missing"] == items).all()
    real = table[table["control"].eq("") & table["edit"].isin(EDITS)]
    assert real["p"].between(0, 1).all()
    assert real["against"].notna().all()
    assert (real["beyond_low"] <= real["beyond"]).all()
    substituted = of(table, "substitute", site="layers.embedding")
    assert substituted["kl"] == pytest.approx(0, abs=1e-5)  # the two words are all that differs


def words_of(x, y, names):
    n = len(x)
    positions = torch.tensor([[1, 4]] * n)
    return WordStates(tuple(names), positions, torch.full((n, 2), -1), x, y, x, y)


def test_surgery_exchanges_the_means_of_words_at_a_place():
    """Where states are V[word, role] + noise-free context, the edited state is V[other word, role] + context."""
    rng = torch.Generator().manual_seed(0)
    v, names = torch.randn(3, 2, 5, generator=rng), [(0, 1), (1, 2), (2, 0), (1, 0), (0, 2), (2, 1)]
    x = torch.stack([torch.stack([v[a, 0], v[b, 1]]) for a, b in names])
    y = torch.stack([torch.stack([v[b, 0], v[a, 1]]) for a, b in names])
    words = words_of(x, y, [(str(a), str(b)) for a, b in names])
    ways = {way.control: way for way in list_edits(words, ["surgery"]) if way.edit == "surgery"}
    assert ways[""].is_possible.all()
    assert torch.allclose(ways[""].states, y, atol=1e-6)
    elsewhere = torch.stack(
        [torch.stack([v[a, 0] + v[b, 1] - v[a, 1], v[b, 1] + v[a, 0] - v[b, 0]]) for a, b in names]
    )
    assert torch.allclose(ways["wrong role"].states, elsewhere, atol=1e-6)
    assert not ways["wrong position"].is_possible.any()  # there is no token beside
    moved = [(way.states - x).norm(dim=-1) for way in (ways[""], ways["random direction"])]
    assert torch.allclose(*moved, atol=1e-5)


def test_erasing_leaves_nothing_linear_of_the_places():
    rng = torch.Generator().manual_seed(0)
    x = torch.randn(400, 2, 6, generator=rng)
    x[:, 1] += 2
    ways = {
        w.control: w.states
        for w in list_edits(words_of(x, x, [("a", "b")] * 400), ["erase"])
        if w.edit == "erase"
    }
    gap = {name: float((to[:, 1] - to[:, 0]).mean(0).norm()) for name, to in ways.items()}
    assert gap[""] < 0.5 < 4 < gap["wrong role"]


def test_trials_that_cannot_be_made_are_counted(model):
    data = pair_of_text("the dog sees the cat", EXCHANGED, ("dog", "dog"))
    with pytest.raises(
        InputError, match=r"none of 1 items can be run .* 1 have answers that begin alike"
    ):
        make_trials(model, data)


def plant_trials(n_items):
    """Trials of which the site "one" is far beyond the mean state, the others are not at all."""
    rows = []
    for site in ("none", "one", "two", "three"):
        for control in ("",) if site == "none" else ("", "mean"):
            for item in range(n_items):
                value = 3.0 + item / 100 if (site, control) == ("one", "") else item / 100
                edit = "none" if site == "none" else "exchange"
                rows.append({"site": site, "layer": 0, "edit": edit, "control": control, "item": str(item),
                             "made": True, "left_out": 2, "answer": "a", "other": "b", "agrees": 0.0, "kl": 0.0,
                             "difference": value, "p_answer": 0.1, "p_other": 0.1})  # fmt: skip
    return pd.DataFrame(rows)


def test_holm_corrects_over_the_sites_of_an_edit():
    table = summarize_pairs(plant_trials(12)).set_index(["site", "control"])
    assert table.loc[("one", ""), "p"] == pytest.approx(3 * 2 * 0.5**12)
    assert table.loc[("one", ""), "beyond"] == pytest.approx(3.0)
    assert table.loc[("two", ""), "p"] == 1
    assert (table["missing"] == 2).all()


def test_the_sentence_is_of_the_site_most_beyond_its_control_and_names_what_is_too_little():
    trials = plant_trials(12)
    trials.loc[trials["site"].eq("two"), "difference"] += 9  # with its control
    text, moves = describe_change(summarize_pairs(trials), "exchange")
    assert moves
    assert "moves the answer, as at one: over 12 pairs" in text
    is_back = trials["site"].eq("one") & trials["control"].eq("") & trials["item"].isin([*"01"])
    trials.loc[is_back, "difference"] = -9.0  # 10 of 12 pairs: p = 0.039, of three sites
    text, moves = describe_change(summarize_pairs(trials), "exchange")
    assert not moves
    assert (
        "(sign test of 12 pairs, Holm over 3 sites: p = 0.12); most beyond the strongest control at one: "
        in text
    )
    summary, moves = describe_change(summarize_pairs(plant_trials(6)), "exchange")
    assert not moves
    assert (
        "(6 pairs: too few for a sign test at 3 sites); most beyond the strongest control at one"
        in summary
    )


def test_the_picture_has_a_row_an_edit(table):
    figure = render(behavior_scene(table))
    titles = [axes.get_title(loc="left") for axes in figure.axes[::2]]
    assert titles == [f"{edit}, hidden" for edit in EDITS]
    lines = {line.get_label(): np.asarray(line.get_ydata()) for line in figure.axes[0].lines}
    assert lines["the edit itself"] == pytest.approx(of(table, "exchange")["difference"].to_numpy())
    assert {"mean", "identity", "wrong role", "wrong position", "random direction"} <= {*lines}


def test_one_command_for_a_typed_text(folder, tmp_path):
    words = ["intervene", "--ckpt", f"hf:{folder}", "--text", TEXT, "--exchange", "dog,cat"]
    rows = json.loads(run_command(*words, "--out", tmp_path / "run", "--json").stdout)
    assert [row["site"] for row in rows if row["edit"] == "exchange" and row["control"] == ""] == [
        "layers.embedding", "layers.0.hidden", "layers.1.hidden"
    ]  # fmt: skip
    assert {"behavior.pdf", "behavior.svg", "behavior.csv"} <= {
        p.name for p in (tmp_path / "run").iterdir()
    }
    figure = ["figure", "behavior", "--ckpt", tmp_path / "run", "--out", tmp_path / "again.svg"]
    run_command(*figure)
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "run" / "behavior.svg").read_bytes()


def test_next_words_of_a_typed_text(folder, model):
    text = "the dog sees the"
    words = ["predict", text, "--ckpt", f"hf:{folder}", "-k"]
    rows = json.loads(run_command(*words, 3, "--json").stdout)
    p = model.predict(ids_of(model, text))[0]
    best = p.topk(3)
    assert [row["id"] for row in rows] == best.indices.tolist()
    assert [row["p"] for row in rows] == pytest.approx(best.values.tolist(), abs=1e-6)
    assert rows[0]["word"] == model.vocabulary.spell([rows[0]["id"]])
    with pytest.raises(InputError, match="give a text with --ckpt MODEL"):
        run_command("predict", text)
    with pytest.raises(InputError, match="ask for at least one"):
        run_command(*words, 0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], r"give one of a recipe \(FILE\.toml\), --data pairs:FRAME, or --text"),
        (["--data", "mathematics:arithmetic__mixed"], "give pairs:FRAME, of active"),
        (["--text", TEXT], "give two words and two answers"),
        (["--text", TEXT, "--exchange", "dog,fox"], "no word 'fox' in"),
        (["recipe.toml", "--edit", "exchange"], "--edit: of minimal pairs, not of a recipe"),
    ],
)
def test_what_is_said_of_wrong_calls(folder, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        run_command("intervene", "--ckpt", f"hf:{folder}", *words)
