"""Clusters of labelled words are named by their exact labels, and by no guessed ones."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from planted.cli import run_command
from planted.sentences import ENCODER, plant

import tprprobe as tp
from tprprobe.analyses.naming import load_word_names
from tprprobe.analyses.naming.fields import Field, describe, list_exact, read_labels
from tprprobe.analyses.naming.name_counts import count_names
from tprprobe.analyses.naming.names import name_clusters
from tprprobe.dashboard.folders import find_runs
from tprprobe.dashboard.names import show_names
from tprprobe.dashboard.scene import summarize_roles
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.names import build_lattice
from tprprobe.figures.catalogue.makers import draw_roles
from tprprobe.figures.cluster_labels import label_named
from tprprobe.figures.naming import (
    WORD_KEYS,
    list_names,
    summarize_words,
    tabulate_names,
    words_table,
)
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
    roles = tp.cluster(store, ENCODER, k=5, n_seeds=2)
    tags = read_labels(store, "source")["pos"]
    codes, names = pd.factorize(tags.fillna("none"))
    planted = replace(roles, labels=codes.astype(np.int32), k=len(names))
    cluster_names = tp.name_roles(store, planted)["name"].tolist()
    for tag, name in zip(names, cluster_names, strict=True):
        assert tag == "none" or name.split(" ∧ ")[0] == tag


def test_a_label_that_is_a_sign_is_told_from_the_token():
    labels = pd.DataFrame({"pos": [".", "NN"]})
    assert describe(labels, {"pos": Field(("pos",))})["pos"].tolist() == ["pos=.", "NN"]


def test_what_a_tagger_guessed_names_nothing(store):
    guessed = replace(
        store, manifest={**store.manifest, "labels": {"pos": {"source": "spacy:en 3.8"}}}
    )
    assert set(list_exact(store)) - set(list_exact(guessed)) == {"pos"}


def test_the_command_names_the_clusters_of_words_beside_the_untrained_twin(tmp_path):
    path, out = tmp_path / "store", tmp_path / "out"
    trained = plant(path, 300)
    arguments = ["name", path, "--site", ENCODER, "--k", 16, "--out", out]
    result = run_command(*arguments)
    word_table = load_word_names(out)
    assert set(word_table["model"]) == {"trained", "untrained"}
    assert len(word_table) == 32
    of_trained = word_table[(word_table["model"] == "trained") & (word_table["name"] != "unnamed")]
    first_letters = {name.lstrip("‘")[:2].upper() for name in of_trained["name"]}  # ‘dt0’, DT
    assert len(first_letters & {"DT", "NN", "VB", "IN"}) > 1
    counts = count_names(word_table, WORD_KEYS).set_index("model")
    assert counts.loc["trained", "named"] == len(of_trained)
    assert counts.loc["trained", "coverage"] == pytest.approx(of_trained["coverage"].sum())
    assert f"{len(of_trained)} of 16 clusters of the trained model" in result.output
    with pytest.raises(InputError, match="--resume"):
        run_command(*arguments)
    assert [*find_runs(tmp_path).beside(trained, "word-names").values()] == [out]
    scene = tp.dashboard.build_scene(trained, ENCODER, k=16)
    assert f"{counts.loc['untrained', 'named']} of 16 of its baseline model" in str(
        summarize_roles(scene)
    )
    clusters = tp.cluster(trained, ENCODER, k=16)
    held = tp.name_roles(trained, clusters)
    labels = {text for _, text in draw_roles(trained, site=ENCODER, k=16, every=True).key}
    drawn = {text for text in labels if re.match(r"\d+: .* \([1.]", text)}
    assert drawn
    assert drawn <= {f"{cluster}: {name}" for cluster, name in label_named(held).items()}
    figure = tp.figures.role_clusters(trained, clusters, correct_only=False, names=held)
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert texts & {text.partition(": ")[2] for text in labels}
    agreements = word_table.groupby("model")["ami_pos"].first()
    assert agreements.min() > 0.5  # the twin has the same clusters
    sizes = word_table.loc[word_table["model"] == "trained", ["cluster", "candidate", "size"]]
    expected = held[["cluster", "candidate", "size"]]
    assert sizes.to_numpy().tolist() == expected.to_numpy().tolist()
    cells = words_table(word_table).cells
    assert ((cells["unnamed because"] == "–") == (cells["name"] != "unnamed")).all()
    assert (cells["name"] != "unnamed").sum() == len(of_trained)
    assert len(cells) == (word_table["model"] == "trained").sum()
    assert cells["documents"].astype(int).between(0, 150).all()
    numbers = [int(cell.rpartition(": ")[2]) for cell in cells["cluster"]]
    assert numbers == sorted(numbers)
    view = show_names(word_table)
    assert view.data["value"].tolist() == count_names(word_table, WORD_KEYS)["coverage"].tolist()


def test_names_are_counted_beside_the_baselines():
    rows = {"site": ENCODER, "head": None, "layer": 0, "cluster": 0, "stability": 1.0, "size": 9}
    rows["precision"] = 0.9
    table = pd.DataFrame([{**rows, "model": "trained"}, {**rows, "model": "permuted"}])
    named = table.assign(name="DT", coverage=0.5)
    assert "1 of 1 of its baseline model (permuted)" in summarize_words(named)
    fewer = summarize_words(named.assign(size=[90, 40]))
    assert "on 90 tokens of the trained model, and on 40 of its baseline model" in fewer
    for stability, verdict in ((0.5, ""), (0.49, ", below 0.5: one of many divisions")):
        text = summarize_words(named.assign(stability=stability))
        assert text.endswith(f"{stability:.2f} (adjusted Rand index){verdict}.\n")
    better = named.assign(name=["DT", "unnamed"])
    assert ", 0 of 1 of its baseline model" in summarize_words(better)
    by_layer = pd.concat([named, named.assign(site="encoder.1.hidden", layer=1)])
    assert "layer 1: trained 1 of 1; permuted 1 of 1" in summarize_words(by_layer)
    assert "no baseline model" in summarize_words(named.iloc[:1])
    later = [{**rows, "site": "encoder.1.hidden", "layer": 1, "model": "trained", "ami_pos": 0.4}]
    agreements = pd.concat([table.assign(ami_pos=[0.3, 0.1]), pd.DataFrame(later)])
    agreements = agreements.assign(name="DT", coverage=0.5, ami_pos_low=0.05, ami_pos_high=0.5)
    text = summarize_words(agreements)
    assert "AMI with pos at layer 1 (where most): 0.40 [0.05" in text
    gain = agreements.iloc[:2].assign(gain_ami_pos=0.2, gain_ami_pos_low=0.1, gain_ami_pos_high=0.3)
    assert "difference +0.200 [+0.100, +0.300]" in summarize_words(gain)


def test_names_stand_beside_those_of_the_baseline_model(tmp_path):
    rows = {"site": ENCODER, "head": None, "layer": 0, "k": 2, "stability": 1.0, "documents": 20}
    rows |= {"recall": 0.5, "recall_low": 0.4, "recall_high": 0.6, "f05": 0.7, "coverage": 0.2}
    rows |= {"precision": 0.9, "precision_low": 0.8, "precision_high": 1.0, "unit": "characters"}
    names = [("trained", 0, "DT"), ("trained", 1, "[SEP]"), ("permuted", 0, "NN ∧ nsubj")]
    table = pd.DataFrame([{**rows, "model": m, "cluster": c, "name": n} for m, c, n in names])
    table = table.assign(commonest=["the 96%", "[SEP] 100%", "he 50%"], recovery=[0.5, 1, 1])
    table = table.assign(distinctive=["the", "[SEP]", "he · it"], unnamed_because="", size=40)
    of_names = tabulate_names(table)
    assert "special tokens ([SEP]) count as unnamed: 1 (trained)" in of_names.caption
    assert "0.60] \\\\\n\\midrule\nbaseline model (permuted) & 0" in of_names.latex()
    assert "agree to 1.00 (adjusted Rand index" in of_names.caption
    assert of_names.caption.endswith(
        "; *: not found again from other random starts (Jaccard index below 0.6)."
    )
    assert of_names.choose(1).caption.endswith("fewer than ten documents.")
    cells = of_names.cells
    assert cells.to_numpy().tolist() == [
        ["trained model", "0", "DT (the)*", "0.90 [0.80, 1.00]", "0.50 [0.40, 0.60]"],
        ["baseline model (permuted)", "0", "NN ∧ nsubj", "0.90 [0.80, 1.00]", "0.50 [0.40, 0.60]"],
    ]
    assert of_names.numbers["low"].tolist() == [0.8, 0.4, 0.8, 0.4]
    unnamed = tabulate_names(table.assign(name=["DT", "[SEP]", "unnamed"]))
    assert unnamed.cells.iloc[1].tolist()[1:] == ["–", "no name holds", "–", "–"]
    titles = {
        tuple(panel.get_title("left") for panel in tp.draw("names", table, panel=panel).axes)
        for panel in (1, "baseline model")
    }
    assert titles == {("baseline model\n1 of 1 named",)}
    figure = tp.draw("names", table, width="acl")
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert {"trained\n1 of 2 named", "baseline\n1 of 1 named", "0: DT (the)*"} <= {*texts}
    printed = list_names(pd.concat([table] * 20, ignore_index=True), "runs/names")
    assert printed.startswith("**Names of clusters of characters**")
    assert printed.count("\n| layer 0: 0") == 20
    assert printed.count("\n| baseline (permuted), layer 0: 0") == 20
    assert "18 more clusters (18 of the trained model): runs/names/results.parquet" in printed
    with pytest.raises(InputError, match="layer 0"):
        tabulate_names(table, layer=3)


def test_a_name_that_rests_on_few_documents_has_no_interval():
    tokens = pd.DataFrame({"pos": ["DT", "NN"] * 60}).astype("category")
    labels, documents = np.tile([0, 1], 60), np.repeat(np.arange(30), 4)
    labels[(tokens["pos"] == "DT") & (documents >= 8)] = 2
    names = name_clusters(labels, build_lattice(tokens), documents)
    few = names["documents"] < 10
    assert 0 < few.sum() < len(few)
    assert names.loc[few, "precision_low"].isna().all()
    assert names.loc[few, "precision"].notna().all()
    assert names.loc[~few, "precision_low"].notna().all()


@pytest.mark.parametrize("options", [["--baseline", "other"], ["--k", "3", "--k", "4"]])
def test_what_words_have_no_use_for_is_refused(store, options):
    with pytest.raises(InputError, match="tokens of texts are named with one --k"):
        run_command("name", store.path, "--site", ENCODER, *options)
    with pytest.raises(InputError, match="one group divides nothing"):
        run_command("name", store.path, "--k", 1)
