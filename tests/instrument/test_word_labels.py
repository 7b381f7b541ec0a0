"""Clusters of labelled words are named by their exact labels, and by no guessed ones."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from planted.sentences import ENCODER, plant
from typer.testing import CliRunner

import tprprobe as tp
from tprprobe.analyses.naming import load_word_names, word_names
from tprprobe.analyses.naming.fields import list_exact, read_labels
from tprprobe.analyses.naming.names import count_names
from tprprobe.analyses.naming.word_names import name_words
from tprprobe.cli import app
from tprprobe.dashboard.folders import find_runs
from tprprobe.dashboard.names import show_word_names
from tprprobe.errors import InputError
from tprprobe.figures.naming import WORD_KEYS, words_table
from tprprobe.gold.labels import decode_cell


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("labels") / "store", 120)


def test_every_label_of_a_word_is_that_of_its_cell(store):
    tokens = read_labels(store, "source")
    words = tokens[tokens["word"] >= 0].reset_index(drop=True)
    cells = store.tokens.query("side == 'source' and word >= 0").reset_index(drop=True)
    assert words["pos"].tolist() == cells["pos"].astype(str).tolist()
    heads = [decode_cell(cell, 0)[0].label for cell in cells["dep"].astype(str)]
    assert words["dep"].tolist() == heads
    for (sample, _), rows in cells.groupby(["sample", "word"]):
        for label, _, span2 in decode_cell(str(rows["srl"].iloc[0]), 0):
            inside = words[
                (words["sample"] == sample) & words["word"].between(span2[0], span2[1] - 1)
            ]
            assert len(inside) == span2[1] - span2[0]
            assert inside["srl"].notna().all(), label


def test_clusters_of_words_have_the_names_of_their_labels(store):
    found = tp.cluster(store, ENCODER, k=5, n_seeds=2)
    tags = read_labels(store, "source")["pos"]
    codes, names = pd.factorize(tags.fillna("none"))
    planted = replace(found, labels=codes.astype(np.int32), k=len(names))
    named = tp.name_roles(store, planted)["name"].tolist()
    for tag, name in zip(names, named, strict=True):
        assert tag == "none" or name.split(" ∧ ")[0] == tag


def test_what_a_tagger_guessed_names_nothing(store):
    guessed = replace(store, manifest={**store.manifest, "labels": {"pos": "spacy:en 3.8"}})
    assert set(list_exact(store)) - set(list_exact(guessed)) == {"pos"}


def test_the_command_names_the_clusters_of_words_beside_the_untrained_twin(tmp_path):
    path = tmp_path / "store"
    trained = plant(path, 600)
    named = name_words(trained, ENCODER, k=16)
    assert set(named["model"]) == {"trained", "untrained"}
    assert len(named) == 32
    own = named[(named["model"] == "trained") & (named["name"] != "unnamed")]
    assert {name.split(" ∧ ")[0] for name in own["name"]} & {"DT", "NN", "VB", "IN"}
    counts = count_names(named, WORD_KEYS).set_index("model")
    assert counts.loc["trained", "named"] == len(own)
    assert counts.loc["trained", "coverage"] == pytest.approx(own["coverage"].sum())
    out = tmp_path / "out"
    given = ["name", str(path), "--site", ENCODER, "--k", "16", "--out", str(out)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert f"trained {len(own)} of 16" in done.output
    pd.testing.assert_frame_equal(load_word_names(out), named)
    again = CliRunner().invoke(app, given)
    assert again.exit_code != 0
    assert "--resume" in str(again.exception or again.output)
    assert [*find_runs(tmp_path).beside(trained, "word-names").values()] == [out]
    cells = words_table(load_word_names(out)).cells
    assert (cells["unnamed because"] == "").sum() == len(own)
    proposed = named[(named["model"] == "trained") & (named["candidate"] != "")]
    assert len(cells) == len(proposed)
    view = show_word_names(out)
    assert view.data["value"].tolist() == count_names(named, WORD_KEYS)["coverage"].tolist()


def test_a_run_that_was_cut_off_names_the_heads_that_are_missing(tmp_path, monkeypatch):
    trained = plant(tmp_path / "store", 120)
    whole = name_words(trained, ENCODER, k=4)
    cut, done = {"after": 1}, []

    def stop(model, *rest):
        if len(done) == cut["after"]:
            raise KeyboardInterrupt
        done.append(model)
        return name(model, *rest)

    name = word_names._name
    monkeypatch.setattr(word_names, "_name", stop)
    with pytest.raises(KeyboardInterrupt):
        name_words(trained, ENCODER, k=4, out=tmp_path / "out")
    with pytest.raises(InputError, match=r"has no results\.parquet"):
        load_word_names(tmp_path / "out")
    cut["after"] = 99
    found = name_words(trained, ENCODER, k=4, out=tmp_path / "out", resume=True)
    pd.testing.assert_frame_equal(found, whole)
    assert done == ["trained", "untrained"]
    with pytest.raises(InputError, match="another run"):
        name_words(trained, ENCODER, k=5, out=tmp_path / "out", resume=True)


@pytest.mark.parametrize("more", [["--baseline", "other"], ["--k", "3", "--k", "4"]])
def test_what_words_have_no_use_for_is_refused(store, more):
    done = CliRunner().invoke(app, ["name", str(store.path), "--site", ENCODER, *more])
    assert done.exit_code != 0
    assert isinstance(done.exception, InputError) or "labelled words" in done.output
