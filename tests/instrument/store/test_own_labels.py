"""Labels of one's own: on a store in memory, as good as labels of its data."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from planted.cli import run_command
from planted.sentences import ENCODER, plant
from planted.stores import number_tokens, write_store

import tprprobe as tp
from tprprobe.analyses.naming import name_words
from tprprobe.analyses.probing.file_labels import add_file_labels
from tprprobe.analyses.probing.plan import _with_symbols, find_replaced
from tprprobe.cli.overview import inspect_store
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.store.layout import OWN_LABELS
from tprprobe.store.own_labels import add_labels

WORDS = ("dog", "cat", "king", "horse", "teacher", "woman")
PLACES = ["first", "second", ""]


@pytest.fixture
def store(tmp_path):
    """60 samples of three tokens, whose vectors tell the places of tokens."""
    rng = np.random.default_rng(0)
    tokens = number_tokens([list(rng.choice([*"abcdefgh"], 3)) for _ in range(60)])
    vectors = np.tile(np.eye(3), (60, 1)) + 0.1 * rng.normal(size=(180, 3))
    tokens = tokens.assign(document=[f"d{sample}" for sample in tokens["sample"]])
    return write_store(tmp_path / "store", {"layers.0.hidden": vectors}, tokens)


def test_labels_are_probed_and_nothing_on_disk_changes(store, capsys):
    labeled = store.with_labels("place", PLACES * 60)
    rows = tp.probe(labeled.with_labels("next", [*PLACES[1:], PLACES[0]] * 60), ["place", "next"])
    assert (
        capsys.readouterr().err.count(
            "place, next: the (last) words of the targets are few (at most 30 different"
        )
        == 1
    )
    assert "f1_high best_control" in repr(rows)
    assert "<th>f1_high</th>\n      <th>best_control</th>" in rows._repr_html_()
    rows = rows[rows["task"] == "place"].set_index("control")
    assert type(rows) is pd.DataFrame
    assert rows.loc["real", "f1"] == 1
    assert rows.loc["identity", "f1"] < 0.8
    assert rows.loc["real", "best_control"] not in ("control", "prefix")
    assert "place" not in store.tokens
    assert "place" not in tp.open_store(store.path).tokens
    clusters = tp.cluster(labeled, "layers.0.hidden", k=3)
    names = tp.name_roles(labeled, clusters)["name"]
    assert {"place first", "place second"} <= {*names}
    assert pickle.loads(pickle.dumps(labeled)).tokens["place"].tolist() == PLACES * 60


def test_exports_and_resumed_names_see_labels_as_they_are_now(store, tmp_path):
    labeled = store.with_labels("place", PLACES * 60, save=True)
    tp.export_store(labeled, tmp_path / "out.npz")
    assert pd.read_parquet(tmp_path / "out.parquet")["place"].tolist() == PLACES * 60
    options = {"k": 3, "out": tmp_path / "names"}
    name_words(labeled, **options)
    assert len(name_words(labeled, **options, resume=True))
    changed = store.with_labels("place", [*PLACES[1:], PLACES[0]] * 60)
    with pytest.raises(InputError, match=r"another run.*labels"):
        name_words(changed, **options, resume=True)
    tp.probe(labeled, "place", out=tmp_path / "probes", controls=[])
    assert find_replaced(labeled, tmp_path / "probes") == []
    assert find_replaced(changed, tmp_path / "probes") == ["place"]


def test_labels_of_a_decoders_tokens_are_read_where_they_are_given(tmp_path, capsys):
    """From the state of the token itself and of the start symbol, too, which is no word; so is a saved probe."""
    rng = np.random.default_rng(0)
    tokens = number_tokens([["<s>", *rng.choice([*"abcdefgh"], 2)] for _ in range(60)], "target")
    tokens = tokens.assign(word=tokens["word"] - 1, question="q" + tokens["sample"].astype(str))
    vectors = np.tile(np.eye(3), (60, 1)) + 0.1 * rng.normal(size=(180, 3))
    store = write_store(tmp_path / "store", {"decoder.0.hidden": vectors}, tokens, "target")
    labeled = store.with_labels("place", ["start", "first", "second"] * 60, "target", save=True)
    assert "‘<s>’ of sample 0 has a label and is no word" in capsys.readouterr().err
    rows = tp.probe(labeled, "place", out=tmp_path / "run", controls=[]).set_index("control")
    assert rows.loc["real", "f1"] == 1
    assert rows.loc["real", "n_test"] == 180
    assert rows.loc["real", "best_control"] == "identity"  # it knows the start symbol, too
    assert read_json(tmp_path / "run/settings.json")["at_tokens"] == ["place"]
    saved = next((tmp_path / "run/probes").iterdir())
    assert tp.load_probe(saved).predict(labeled)["predicted"].tolist() == [*labeled.tokens["place"]]
    others = tokens.assign(token=tokens["token"].str.upper(), place=labeled.tokens["place"])
    others["question"] += " of others"
    test = write_store(tmp_path / "test", {"decoder.0.hidden": vectors}, others, "target")
    rows = tp.probe(labeled, "place", test=test, controls=[]).set_index("control")
    assert rows.loc["real", "f1"] == 1
    tp.probe(labeled.with_labels("same", tokens["token"], "target"), "same", controls=[])
    warning = "same: the control identity alone predicts 100.0 % of these labels"
    assert warning in " ".join(capsys.readouterr().err.split())
    with pytest.raises(InputError, match="180 tokens of side='target', where side is 'source'"):
        store.with_labels("place", ["start"] * 180)
    words = store.with_labels("place", [None, "first", "second"] * 60, "target")
    assert words.tokens["word"].eq(store.tokens["word"]).all()


def test_saved_labels_are_there_when_the_store_is_opened_again(store):
    store.with_labels("place", PLACES * 60, save=True).with_labels("next", PLACES * 60, save=True)
    opened = tp.open_store(store.path)
    assert opened.labels == ("place", "next")
    assert opened.tokens["next"].tolist() == PLACES * 60
    opened.with_labels("place", ["", *PLACES * 59, "a", "b"], save=True)
    assert tp.open_store(store.path).tokens["place"].iloc[-1] == "b"
    pd.DataFrame({"place": ["a"]}).to_parquet(store.path / OWN_LABELS)
    with pytest.raises(InputError, match="labels of 1 tokens, the store 180: remove this file"):
        _ = tp.open_store(store.path).tokens


def test_a_token_without_a_label_is_missing_and_no_target_of_a_probe(store):
    several = store.with_labels("part", [None, "first", "second"] * 60, save=True)
    for labeled in (several, tp.open_store(store.path)):
        assert labeled.tokens["part"].isna().tolist() == [True, False, False] * 60
        rows = tp.probe(labeled, "part", controls=["shuffled"])
        assert set(rows["n_test"]) == {120}
        assert set(rows["labels"]) == {2}
        names = tp.name_roles(labeled, tp.cluster(labeled, labeled.sites[0], k=3))["name"]
        assert {"part first", "part second"} <= {*names}
        assert not names.str.contains("nan").any()


def test_a_word_of_a_quarter_of_the_targets_makes_the_control_task_no_rival(tmp_path, capsys):
    """Such as the full stop, the last word of texts that have a label as a whole."""
    ends = [f"word{i}" if i % 3 else "." for i in range(120)]
    tokens = number_tokens([[end] for end in ends])
    vectors = np.random.default_rng(0).normal(size=(120, 3))
    store = write_store(tmp_path / "store", {"layers.0.hidden": vectors}, tokens)
    options = {"controls": ["control"]}
    rows = tp.probe(store.with_labels("odd", ["yes", "no"] * 60), "odd", **options)
    assert rows.set_index("control").loc["real", "best_control"] in ("majority", "identity")
    assert "one in more than a quarter of the targets" in " ".join(capsys.readouterr().err.split())


def test_labels_of_pairs_are_read_from_a_file(tmp_path, capsys):
    tokens = number_tokens([["Rome", "shines"], ["It", "rains"]])
    texts = ["Rome shines", "It rains"]
    tokens = tokens.assign(question=[texts[sample] for sample in tokens["sample"]])
    store = write_store(tmp_path / "store", {"layers.0.hidden": np.zeros((4, 2))}, tokens)
    target = {"span1": [0, 1], "span2": [1, 2], "label": "nsubj"}
    lines = [{"text": text, "targets": [target]} for text in ("Rome  shines", "No such text")]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    labeled = add_file_labels(store.path, "dep", file)
    assert labeled.tokens["dep"].tolist() == ["nsubj[0,1)[1,2)", "", "", ""]
    assert tp.open_store(store.path).tokens["dep"].tolist() == labeled.tokens["dep"].tolist()
    messages = " ".join(capsys.readouterr().err.split())
    assert "labels of dep for 1 of 2 samples" in messages
    assert "1 of 2 sentences are no text of the store, the first: No such text" in messages
    assert "own labels dep" in " ".join(inspect_store(str(store.path)).as_text().split())
    file.write_text(json.dumps(lines[0] | {"targets": [target | {"label": "subj"}]}))
    add_file_labels(store.path, "dep", file)
    assert "dep: these labels replace others of that name" in capsys.readouterr().err
    file.write_text(json.dumps({"text": "It r ains", "targets": [target]}))
    with pytest.raises(
        InputError, match=r"1 has 3 words, sample 1 of .* 2 \(first 'r' and 'rains'\)"
    ):
        add_file_labels(store, "dep", file)
    file.write_text(json.dumps(lines[1]))
    with pytest.raises(InputError, match="no sentence with labels of dep is a text of"):
        add_file_labels(store, "dep", file)


def test_a_checkpoint_is_probed_for_labels_of_a_file(tmp_path):
    texts = [f"the {noun} sees {name} ." for noun in WORDS for name in WORDS]
    sentences = ["".join(f"{word}\t{len(word)}\n" for word in text.split()) for text in texts]
    file, out = tmp_path / "words.conll", tmp_path / "run"
    file.write_text("\n".join([*sentences, ""]))
    model = ["--ckpt", "tpt-d-english", "--sites", "encoder.-1.hidden", "--control", "shuffled"]
    labels = ["--data", file, "--labels", f"length={file}"]
    run_command("probe", "length", *model, *labels, "--out", out)
    assert pd.read_csv(out / "rows.csv").loc[0, ["task", "n_test"]].tolist() == ["length", 180]
    table, lines = tmp_path / "texts.csv", [f"{text},{text.split()[1]}" for text in texts]
    table.write_text("\n".join(["text,label", *lines, ""]))
    run_command("probe", "label", *model, "--data", table, "--out", tmp_path / "texts")
    rows = pd.read_csv(tmp_path / "texts/rows.csv")
    assert rows.loc[0, ["n_test", "labels", "f1"]].tolist() == [36, 6, 1]
    assert "majority" in {*rows["control"]}
    assert "identity" not in {*rows["control"]}  # a text has no word
    assert "label       36       6" in run_command("inspect", table).output


def test_labels_of_the_data_are_not_replaced_by_those_of_a_file(tmp_path):
    """Unless they are the same; the store is as it was."""
    tokens = number_tokens([["Rome", "shines"], ["It", "rains"]])
    texts = [["Rome shines", "It rains"][sample] for sample in tokens["sample"]]
    tokens = tokens.assign(question=texts, pos=["NNP", "VBZ", "PRP", "VBZ"])
    store = write_store(tmp_path / "store", {"layers.0.hidden": np.zeros((4, 2))}, tokens)
    file = tmp_path / "other.jsonl"

    def write(*tags):
        targets = [[{"span1": [i, i + 1], "label": tags[n + i]} for i in (0, 1)] for n in (0, 2)]
        lines = zip(["Rome shines", "It rains"], targets, strict=True)
        file.write_text("\n".join(json.dumps({"text": t, "targets": made}) for t, made in lines))

    write("NNP", "VBZ", "PRP", "VB")
    with pytest.raises(InputError, match=r"already has another pos .*--labels NAME=FILE"):
        add_file_labels(store, "pos", file)
    write("NNP", "VBZ", "PRP", "VBZ")
    file.write_text(f"{file.read_text()}\n{file.read_text()}")  # sentences that come twice
    assert add_file_labels(store, "pos", file) is store
    assert not (store.path / OWN_LABELS).exists()


def test_pieces_of_words_and_tokens_without_words(store):
    store = tp.open_store(store.path)
    words = store.tokens["word"].replace({1: 0, 2: -1})
    object.__setattr__(store, "table", store.tokens.assign(word=words))
    del store.__dict__["tokens"]
    labeled = store.with_labels("place", ["whole", "whole", None] * 60)
    assert labeled.tokens["place"].isna().tolist() == [False, False, True] * 60
    with pytest.raises(InputError, match="sample 0 has several labels of next in word 0"):
        labeled.with_labels("next", PLACES * 60)
    pieces = store.with_labels("place", PLACES * 60)
    assert pieces.tokens["word"].tolist() == [0, 1, 2] * 60
    assert pieces.tokens["place"].tolist() == PLACES * 60


def test_texts_of_one_word_are_one_target_and_their_tokens_places(store, capsys):
    words = store.tokens.assign(word=[0, 0, -1] * 60, last_word=[0, 0, -1] * 60)
    labels = ["whole", "whole", ""] * 60
    assert add_labels(words, "kind", labels, "source")["word"].equals(words["word"])
    assert "kind: every text is one word, and one target" in capsys.readouterr().err
    assert _with_symbols(words, "token")["word"].tolist() == [0, 1, -1] * 60
    assert "every text is one word: its tokens are the places" in capsys.readouterr().err
    several = words.assign(word=[0, 1, -1] * 60)
    assert _with_symbols(several, "token") is several


@pytest.mark.parametrize(
    ("task", "labels", "side", "message"),
    [
        ("place", PLACES * 59, "source", "177 labels of place for 180 tokens"),
        (
            "place",
            PLACES * 60,
            "target",
            "180 labels of place for 180 tokens of side='source', where side is 'target'",
        ),
        ("place", PLACES * 60, "left", "unknown side"),
        ("word", PLACES * 60, "source", "this name is reserved"),
        ("two-back", PLACES * 60, "source", "'two-back': '-' cannot stand there"),
        ("2back", PLACES * 60, "source", "'2back': '2' cannot stand there"),
        ("place", ["a b", *PLACES * 59, "", ""], "source", "a label has no blanks"),
        ("place", ["a[1,2)", *PLACES * 59, "", ""], "source", "a label has no blanks"),
    ],
)
def test_labels_that_cannot_be(store, task, labels, side, message):
    with pytest.raises(InputError, match=message):
        store.with_labels(task, labels, side)


def test_the_command_names_clusters_by_saved_labels_which_the_twin_has_too(tmp_path):
    store = plant(tmp_path / "store", 60)
    tokens = store.tokens[store.tokens["side"] == "source"]
    tags = tokens["pos"].astype(str).where(tokens["word"] >= 0, "")
    store.with_labels("tag", tags, save=True)
    run_command("name", store.path, "--site", ENCODER, "--k", 8, "--out", tmp_path / "names")
    contents = tp.load_run(tmp_path / "names")
    names = contents["names"]
    assert names is contents["."]
    agreements = names.groupby("model")[["ami_tag", "ami_pos"]].first()
    np.testing.assert_allclose(agreements["ami_tag"], agreements["ami_pos"])
    with pytest.raises(InputError, match="unknown result of this folder 'ones'"):
        contents["ones"]
