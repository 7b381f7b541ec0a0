"""Probes of a store: what they may know and what not, alone and together, cut off and resumed."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from planted.cli import run_command
from planted.sentences import ENCODER, FILLER, ROLE, STATE, plant

from tprprobe.analyses.probing import Schedule, load_probe, plan, probe, read_task, stored_states
from tprprobe.analyses.probing.features import FeatureSource
from tprprobe.errors import InputError
from tprprobe.figures.probes import probe_table
from tprprobe.files.jsonfiles import read_json
from tprprobe.store import open_store

KEY = ["task", "side", "site", "head", "seed", "control"]
QUICK = Schedule(limit=3, learning_rate=3e-3)
LONGER = Schedule(limit=25, learning_rate=5e-3)
PLAIN = {"controls": (), "information": False}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("labelled") / "store", 60)


@pytest.fixture(scope="module")
def larger(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("labelled") / "larger", 150, seed=1, control=False)


def real(rows):
    return rows.loc[rows["control"] == "real"].iloc[0]


def guess(larger):
    """The share of target words whose tag is the commonest one behind the word before."""
    tokens = larger.tokens_of(STATE)
    before = tokens["token"].astype(str).to_numpy()[:-1]
    after = tokens["pos"].astype(str).to_numpy()[1:]
    pairs = pd.DataFrame({"before": before, "after": after})[after != ""]
    return pairs.groupby("before")["after"].agg(
        lambda tags: tags.value_counts().iloc[0]
    ).sum() / len(pairs)


def test_a_state_knows_the_next_word_only_by_the_word_before(larger):
    """Source: jiang §4: state i is probed for token i, of which it has seen nothing."""
    settings = {"sites": STATE, "schedule": LONGER, **PLAIN}
    single = real(probe(larger, "pos", **settings))
    causal = real(probe(larger, "pos", kernel=3, **settings))
    leaking = real(probe(larger, "pos", kernel=3, causal=False, **settings))
    chance = guess(larger)
    assert abs(single["accuracy"] - chance) < 0.08
    assert causal["accuracy"] < chance + 0.08
    assert leaking["f1"] > 0.97


def test_later_states_of_a_span_have_read_its_words(larger):
    """Entities here are told by their first word, which only the second state has read."""
    settings = {"sites": STATE, "schedule": LONGER, **PLAIN}
    first_state = real(probe(larger, "nel", **settings))
    every = real(probe(larger, "nel", span_mode="all_states", **settings))
    last_state = real(probe(larger, "nel", span_mode="last_state", **settings))
    assert first_state["accuracy"] < 0.8
    assert min(every["f1"], last_state["f1"]) > 0.95


def test_probes_together_are_the_probes_one_by_one(store):
    """Initialisation, dropout and batches depend on the seed only, so nothing else does."""
    settings = {"sites": ["encoder.*.self.role", ENCODER], "schedule": QUICK, "seeds": 2}
    settings |= {"controls": ("control", "untrained", "previous"), "information": False}
    together = probe(store, ["pos", "srl"], **settings)
    one_by_one = probe(store, ["pos", "srl"], budget=1, **settings)
    single = probe(store, "srl", **(settings | {"sites": ROLE, "controls": (), "seeds": 1}))
    joined = together.merge(one_by_one, on=KEY, suffixes=("", "_alone"), validate="1:1")
    assert len(joined) == len(together) == 2 * (2 * (4 * 1 + 2 + 1) + 2)
    for measure in ("f1", "accuracy", "f1_single", "validations"):
        np.testing.assert_allclose(joined[measure], joined[f"{measure}_alone"], atol=1e-9)
    matched = together.merge(single, on=KEY, suffixes=("", "_alone"))
    np.testing.assert_allclose(matched["f1"], matched["f1_alone"], atol=1e-9)
    assert len(matched) == 1 + 2


def test_vectors_that_fit_are_read_once_and_others_in_every_epoch(store, monkeypatch):
    """Each of three epochs trains and validates; before them is what standardizes, after them the test."""
    calls, read_vectors = [], FeatureSource.read
    monkeypatch.setattr(FeatureSource, "read", lambda *args: calls.append(0) or read_vectors(*args))
    settings = {
        "sites": ROLE,
        "schedule": replace(QUICK, stop=3),
        "estimator": "span-conv",
        **PLAIN,
    }
    rows = probe(store, "pos", **settings)
    n_reads = len(calls)
    streamed = probe(store, "pos", budget=1, **settings)
    assert real(rows)["validations"] == 3
    assert n_reads == 1
    assert len(calls) - n_reads == 1 + 3 * 2 + 1
    assert real(rows)["f1"] == real(streamed)["f1"]


def test_chunks_behind_the_last_sample_of_the_untrained_twin_have_none_of_it(store, monkeypatch):
    assert store.control.samples < store.samples
    settings = {"sites": ROLE, "schedule": QUICK, "controls": "untrained", "information": False}
    one_chunk = probe(store, "pos", **settings)
    monkeypatch.setattr(stored_states, "CHUNK", 8)
    chunked = probe(store, "pos", **settings)
    twins = [rows.set_index("control").loc["untrained"] for rows in (one_chunk, chunked)]
    assert twins[0]["n_test"] == twins[1]["n_test"] < real(one_chunk)["n_test"]
    assert twins[1]["f1"] > 0


def test_saved_probes_predict_what_they_were_tested_on(store, larger, tmp_path):
    rows = probe(store, "dep", sites=ENCODER, schedule=LONGER, out=tmp_path / "run", **PLAIN)
    saved = load_probe(tmp_path / "run" / "probes" / f"dep.{ENCODER}.seed0")
    predictions = saved.predict(store)
    spans = ["sample", "span1", "span2", "words"]
    assert list(predictions) == [*spans, "label", "predicted", "probability", "learned"]
    assert predictions["words"].str.contains(r"^\S+ \| \S+", regex=True).all()
    assert predictions["learned"].sum() == real(rows)["n_train"]
    assert saved.metrics["f1"] == pytest.approx(real(rows)["f1"])
    assert np.mean(predictions["label"] == predictions["predicted"]) > 0.9
    new_predictions = saved.predict(larger)
    assert new_predictions["learned"].mean() < predictions["learned"].mean()
    assert np.mean(new_predictions["label"] == new_predictions["predicted"]) > 0.85
    with pytest.raises(InputError, match="is 8 wide, this probe reads 21 numbers"):
        replace(saved, site=FILLER).predict(store)
    config = tmp_path / "run" / "probes" / f"dep.{ENCODER}.seed0" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"shape": {}}))
    with pytest.raises(InputError, match=r"shape\.width"):
        load_probe(config.parent)


def test_another_store_is_tested_on(store, larger):
    """No document of the test is trained on; labels that training lacks are missed, not hidden."""
    tested = real(probe(larger, "pos", sites=ENCODER, test=store, schedule=QUICK, **PLAIN))
    words = (store.tokens_of(ENCODER)["word"] >= 0).sum()
    assert tested["n_test"] == words
    within = real(probe(larger, "pos", sites=ENCODER, schedule=QUICK, **PLAIN))
    assert tested["n_train"] < within["n_train"]


def test_what_tells_nothing_is_no_better_than_the_commonest_label(larger):
    """ROLE is noise here, FILLER is a map of the word: what one adds to the other follows."""
    sites = [ROLE, FILLER]
    rows = probe(larger, "pos", sites=sites, schedule=QUICK, controls=("shuffled", "dictionary"))
    by_site = rows[rows["control"] == "real"].set_index("site")
    majority = rows.loc[rows["control"] == "majority", "accuracy"].iloc[0]
    assert by_site.loc[ROLE, "accuracy"] < majority + 0.1
    assert by_site.loc[ROLE, "information"] < 0.1
    assert by_site.loc[FILLER, "information"] > 1
    assert by_site.loc[FILLER, "added"] > 1
    assert by_site.loc[ROLE, "added"] < 0.2
    assert by_site.loc[FILLER, "compression"] > 1.2 > by_site.loc[ROLE, "compression"]
    assert rows.loc[rows["control"] == "shuffled", "accuracy"].max() < majority + 0.15
    assert {"indices", "quantized", "random_roles"} < {*rows["control"]}
    quantized = rows.loc[rows["control"] == "quantized", "accuracy"].iloc[0]
    indices = rows.loc[rows["control"] == "indices", "accuracy"].iloc[0]
    assert quantized > indices + 0.2
    assert rows.loc[rows["control"] == "identity", "f1"].iloc[0] == 1.0


def test_bad_input_is_one_line(store, tmp_path, tmp_path_factory):
    small_store = plant(tmp_path / "few", 12, control=False)
    bare = plant(tmp_path / "bare", 40, control=False)
    del bare.tokens["word"]
    own = store.with_labels("next", store.tokens["pos"][store.tokens["side"] == "source"])
    for arguments, settings, message in (
        (
            (own, "nextt"),
            {},
            r"unknown labels 'nextt'; did you mean 'next'\? \(accepted: .*, next\)",
        ),
        ((store, "pos"), {"sites": "encoder.7.*"}, "unknown site"),
        ((store, "pos"), {"controls": "contrl"}, "unknown control 'contrl'"),
        ((store, "pos"), {"schedule": "long"}, "unknown schedule 'long'"),
        ((store, "pos"), {"span_mode": "first"}, "unknown span mode"),
        ((store, "pos"), {"kernel": 2, "causal": False}, "has no middle"),
        ((small_store, "pos"), {}, "6 different documents"),
        ((small_store, "pos"), {"controls": "untrained"}, "different documents|no untrained twin"),
        ((bare, "pos"), {}, "token table has no words"),
    ):
        with pytest.raises(InputError, match=message):
            probe(*arguments, **settings)
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        probe(store, "pos", out=tmp_path / "used")


def test_a_store_to_test_on_is_looked_at_before_anything_is_trained(store, larger, tmp_path):
    bare = plant(tmp_path / "bare", 12, control=False)
    bare.tokens["pos"] = ""
    for test, settings, message in (
        (bare, {}, "has no labels of pos on the source side to test on"),
        (larger, {"controls": "untrained"}, "has no untrained twin"),
    ):
        with pytest.raises(InputError, match=message):
            probe(store, "pos", test=test, sites=ROLE, **settings)
    with pytest.raises(InputError, match="no targets of pos in the train documents"):
        probe(store, "pos", test=larger, sites=ROLE)  # it has all documents that this one has
    small_store = plant(tmp_path / "few", 12, control=False)
    rows = probe(store, "pos", test=small_store, sites=FILLER, schedule=QUICK, information=False)
    assert "untrained" not in set(rows["control"])


def test_a_run_is_that_of_its_labels(store, tmp_path):
    settings = {"sites": ROLE, "schedule": QUICK, **PLAIN}
    probe(store, "pos", out=tmp_path / "run", **settings)
    changed = store.tokens.assign(pos=store.tokens["pos"].astype(str).replace("NN", "VB"))
    with pytest.raises(InputError, match=r"\(its labels\)"):
        probe(store, "pos", tokens=changed, out=tmp_path / "run", resume=True, **settings)


def test_a_twin_whose_samples_lack_a_split_is_no_control(store):
    last_sample = store.tokens["sample"].max()
    split = np.where(store.tokens["sample"] > last_sample - 4, "test", "train")
    split = np.where(store.tokens["sample"] < 4, "dev", split)
    tokens = store.tokens.assign(split=split)
    settings = {"sites": ROLE, "schedule": QUICK, "information": False, "tokens": tokens}
    with pytest.raises(InputError, match="the untrained twin has read the first 50 samples"):
        probe(store, "pos", controls="untrained", **settings)
    assert "untrained" not in set(probe(store, "pos", **settings)["control"])


def test_a_twin_learns_from_as_many_targets(store):
    rows = probe(store, "pos", sites=ROLE, most=150, controls="untrained")
    n_train = rows.set_index("control")["n_train"]
    assert n_train["real"] == pytest.approx(150, abs=8)
    assert n_train["untrained"] == pytest.approx(n_train["real"], abs=8)
    everything = probe(store, "pos", sites=ROLE, most=0, controls="untrained")
    n_train = everything.set_index("control")["n_train"]
    assert n_train["untrained"] < 0.9 * n_train["real"]  # it has read fewer samples
    caption = probe_table(everything.assign(model="planted")).caption
    assert f"POS untrained {n_train['untrained']:,} of {n_train['real']:,}" in caption


def test_all_says_what_it_skips(store, monkeypatch):
    messages: list[str] = []
    monkeypatch.setattr(
        plan, "stderr", SimpleNamespace(print=lambda text, **_: messages.append(text))
    )
    tokens = store.tokens.assign(nel="").drop(columns="srl")
    rows = probe(store, "all", tokens=tokens, sites=ENCODER, controls=())
    assert {*rows["task"]} == {"pos", "dep"}
    (line,) = [text for text in messages if text.startswith("probing")]
    assert line.startswith("probing dep, pos; skipped: srl: no labels in this store")
    assert f"no side of {store.path} has both these sites and labels of nel" in line
    with pytest.raises(InputError, match="labels of nel"):
        probe(store, "nel", tokens=tokens, sites=ENCODER)


def test_a_task_of_one_label_is_not_probed(store, capsys):
    cells = store.tokens["pos"].astype(str)
    tokens = store.tokens.assign(nel=cells.where(cells == "", "PER"))
    with pytest.raises(InputError, match=r"nel has one label \(PER\): there is nothing to predict"):
        probe(store, "nel", tokens=tokens, sites=ENCODER)
    rows = probe(store, ["pos", "nel"], tokens=tokens, sites=ENCODER, controls=())
    assert {*rows["task"]} == {"pos"}
    assert "skipped: nel has one label (PER)" in " ".join(capsys.readouterr().err.split())


def test_tasks_are_folders(tmp_path, store, monkeypatch):
    assert {read_task(name).spans for name in ("pos", "nel")} == {1}
    assert not read_task("srl").is_scored("R-ARG0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "srl").mkdir()  # such as of results
    assert read_task("srl").spans == 2
    folder = tmp_path / "tag"
    folder.mkdir()
    for text, message in (
        ("spans = 1", "title: Field required"),
        ('title = "x"\nspans = 3', "spans: Input should be 1 or 2"),
        ('title = "x"\nspans = 1\nlabel = "training"', "unknown key.*'label'"),
        ("title = ", "task.toml is not TOML"),
    ):
        (folder / "task.toml").write_text(text)
        with pytest.raises(InputError, match=message):
            read_task(folder)
    (folder / "task.toml").write_text('title = "Tag"\nspans = 1\nlabels = ["NN", "VB"]\n')
    with pytest.raises(InputError, match="unknown labels 'tag'"):
        probe(store, folder)
    tokens = store.tokens.assign(tag=store.tokens["pos"])
    row = real(probe(store, folder, tokens=tokens, sites=ENCODER, schedule=QUICK, **PLAIN))
    assert row["labels"] == 2
    assert row["recall"] < 0.9  # labels that the inventory lacks are missed


def test_a_run_says_which_labels_were_guessed(store, tmp_path, capsys):
    labels = {"pos": {"source": "spacy:en", "agreement": 0.9}, "dep": None}
    guessed = replace(store, manifest={**store.manifest, "labels": labels})
    settings = {"sites": ENCODER, "estimator": "linear", "controls": (), "out": tmp_path / "run"}
    probe(guessed, ["pos", "dep"], **settings)
    assert "pos: the labels are guesses, right or wrong, of spacy:en" in capsys.readouterr().err
    assert read_json(tmp_path / "run" / "settings.json")["guessed"] == {"pos": "spacy:en"}


def test_own_labels_of_pairs_are_a_task(store):
    settings = {"sites": ENCODER, "estimator": "linear", "controls": ()}
    tokens = store.tokens.assign(mine=store.tokens["dep"])
    mine = real(probe(store, "mine", tokens=tokens, **settings))
    assert mine["f1"] == real(probe(store, "dep", **settings))["f1"]
    mixed = tokens.assign(mine=tokens["mine"].astype(str) + " single")
    with pytest.raises(InputError, match="pairs of spans, and its target single has 1"):
        probe(store, "mine", tokens=mixed, **settings)


def test_the_command_prints_rows(store, tmp_path):
    command = ["probe", "nel", store.path, "--sites", FILLER, "--no-information", "--json"]
    result = run_command(*command, "--control", "control", "--out", tmp_path / "o")
    rows = json.loads(result.stdout)
    assert [row["control"] for row in rows] == ["real", "control", "majority", "identity"]
    assert (tmp_path / "o" / "rows.parquet").exists()
    assert open_store(store.path).sites == store.sites
