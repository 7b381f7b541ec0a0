"""Slices: tokens that meet conditions, the same in Python and on the pages, and metrics on them."""

import numpy as np
import pytest
from planted.questions import LAST
from planted.questions import plant as plant_questions
from planted.sentences import ENCODER, ROLE, STATE, plant

import tprprobe as tp
from tprprobe.analyses.naming.fields import label_words
from tprprobe.analyses.probing.slice_scores import score_slices as score_probe
from tprprobe.analyses.slices import find_slice, score_slices
from tprprobe.dashboard import slices
from tprprobe.errors import InputError


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("slices") / "store", 40)


def test_a_slice_has_the_tokens_that_meet_all_conditions(store):
    tokens = store.tokens_of(ENCODER)
    pos, lengths = label_words(tokens, "pos"), tokens.groupby("sample")["token"].transform("size")
    expected = np.flatnonzero(pos.isin(["NN", "VB"]) & lengths.between(6, 8))
    rows = tp.slice_tokens(store, "pos=nn|VB length=6-8", ENCODER)
    assert rows.index.tolist() == expected.tolist()
    assert 0 < len(rows) < len(tokens)
    assert (store.read(ENCODER, rows.index.to_numpy()) == store.read(ENCODER)[expected]).all()
    others = tp.slice_tokens(store, "pos!=NN", ENCODER)
    assert len(others) == (pos != "NN").sum()
    word = tokens["token"].iloc[-1]
    assert set(tp.slice_tokens(store, f"token='{word}'", ENCODER)["token"]) == {word}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("VERB", "no slice 'VERB': give COLUMN=VALUE"),
        ("pos='NN", "give COLUMN=VALUE"),
        ("part=NN", "unknown column 'part'"),
        ("pos=NOUN", "no token has that pos: it has NN"),
        ("pos=NN pos=VB", "meets 'pos=NN pos=VB' as a whole"),
    ],
)
def test_what_is_no_slice_is_one_line(store, where, message):
    with pytest.raises(InputError, match=message):
        tp.slice_tokens(store, where, ENCODER)


def test_advice_names_the_column_that_has_the_most_of_the_values(tmp_path, monkeypatch):
    store = plant(tmp_path / "store", 12, control=False)
    tokens = store.tokens_of(ENCODER)
    pos = tokens["pos"].astype(str)
    upos, dep = pos.replace({"VB": "VERB", "NN": "NOUN"}), pos.replace({"IN": "aux"})
    tagged = tokens.assign(upos=upos, dep=dep)
    monkeypatch.setattr("tprprobe.analyses.slices.read_side", lambda *_: tagged)
    for values, column in (("AUX", "dep"), ("AUX|VERB|NOUN", "upos")):
        with pytest.raises(InputError) as error:
            find_slice(store, "source", f"pos={values}")
        assert str(error.value).endswith(f"give {column}={values}")


def test_metrics_by_slice_are_those_of_its_tokens(tmp_path):
    asked = plant_questions(tmp_path / "asked", 24)
    table = score_slices(asked, "source", ["correct=False", "length=20-31"]).set_index("slice")
    assert table.loc["correct=False", "answered_right"] == 0
    right = asked.tokens.drop_duplicates("sample")["correct"].mean()
    assert table.loc["all tokens", "answered_right"] == pytest.approx(right)
    assert table["samples"].between(1, 24).all()


@pytest.mark.parametrize(("task", "site"), [("pos", ROLE), ("dep", ROLE), ("pos", STATE)])
def test_probes_are_scored_on_slices_as_on_all_their_targets(store, tmp_path, task, site):
    rows = tp.probe(store, task, sites=[site], out=tmp_path / "run")
    row = next(row for _, row in rows.iterrows() if row["control"] == "real")
    where = ["pos=NN", "pos!=NN"]
    table = score_probe(store, [tmp_path / "run"], {**row, "model": "planted"}, where)
    whole, *parts = table.to_dict("records")
    names = ["accuracy", "accuracy_low", "accuracy_high", "best_control"]
    assert [whole[name] for name in names] == row[names].tolist()
    assert whole["best_control_accuracy"] == pytest.approx(row["best_control_f1"])
    assert whole["targets"] == row["n_test"] == sum(part["targets"] for part in parts)
    n_right = [part["accuracy"] * part["targets"] for part in parts]
    assert sum(n_right) == pytest.approx(whole["accuracy"] * whole["targets"])
    assert parts[0]["accuracy"] != parts[1]["accuracy"]
    assert all(part["beyond_low"] <= part["beyond"] <= part["beyond_high"] for part in parts)


def test_saved_slices_are_kept_beside_the_store_and_cut_maps_and_samples(tmp_path):
    store = plant_questions(tmp_path / "store", 24)
    assert slices.read_slices(store) == []
    for where in ("correct=False", "token=(", "token=("):
        slices.save_slice(store, where)
    assert slices.read_slices(tp.open_store(store.path)) == ["correct=False"]
    (store.path / slices.FILE).write_text("[1]")
    assert slices.read_slices(store) == []
    scene = tp.dashboard.build_scene(store, LAST, 0, k=4)
    part = slices.take_slice(scene, "correct=False")
    flags = find_slice(store, "source", "correct=False")[scene.rows]
    assert part.rows.tolist() == scene.rows[flags].tolist()
    assert part.roles.labels.tolist() == scene.roles.labels[flags].tolist()
    assert tp.dashboard.maps.pack_points(part)["points"].num_rows == flags.sum()
    assert not store.tokens.query("sample in @slices.list_samples(@store, 'correct=False')")[
        "correct"
    ].any()
