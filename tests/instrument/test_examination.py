"""One command puts a model on one page: a sentence, a figure and a control a question, tables beside it, and it goes on."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from planted.word_models import WORDS, save_words
from torch import nn

from tprprobe.analyses.attention.head_patterns import count_hits
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.examination import examine, examining, subject
from tprprobe.examination.measures import MEASURES, subtract_baseline
from tprprobe.figures import catalogue
from tprprobe.figures.heads import relation_squares
from tprprobe.figures.model_page import QUESTIONS, describe_bindings, show_heads
from tprprobe.models import load_model
from tprprobe.site.attachment import attach
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import choose_outputs
from tprprobe.store import open_store

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load_model(f"hf:{save_words(tmp_path_factory.mktemp('words') / 'llama')}")


@pytest.fixture(scope="module")
def examined(model, frame, tmp_path_factory):
    return examine(
        model, data=load_data(frame), out=tmp_path_factory.mktemp("runs") / "run", layers=1
    )


def test_a_line_and_a_section_for_every_question(examined):
    assert len(examined.lines) == len(MEASURES) == 5
    assert {*examined.tables} == {*MEASURES}
    for name, table in examined.tables.items():
        assert len(pd.read_csv(examined.folder / f"{name}.csv")) == len(table)
    page = examined.page.read_text("utf-8")
    assert all(QUESTIONS[name] in page for name in MEASURES)
    assert "refresh" not in page  # as it does while questions are open
    assert "<table" not in page
    assert f"--layers 1 --seed 0 --out {examined.folder}</code></footer>" in page
    assert {*examined.tables["heads"]["model"]} == {"trained", "permuted"}
    assert all(line in repr(examined) for line in examined.lines[:3])  # what the terminal shows
    assert "Go deeper: tprprobe decompose" in repr(examined)
    assert repr(examined).startswith("hf:llama read ")


def test_texts_that_the_model_was_trained_on_are_counted_or_left_out(model, tmp_path, monkeypatch):
    path = tmp_path / "pairs.tsv"
    path.write_text("source\ttarget\n" + "".join(f"the cat {i}\t{i}\n" for i in range(60)))
    for module in (examining, subject):
        monkeypatch.setattr(module, "trained_data", lambda _: {"data": str(path), "split": "test"})
    data = load_data(path)
    n_trained = len(load_data(path, split="train"))
    mixed = subject.Subject(model, data, tmp_path, (), None, (), 0)
    assert mixed.say_trained() == f", {n_trained} of which the model was trained on"
    assert examining.prefer_test(model, data).split == "all"  # of few test texts
    monkeypatch.setattr(examining, "FEWEST", 1)
    held_out = replace(mixed, data=examining.prefer_test(model, data))
    assert held_out.say_trained() == ", none of which the model was trained on"


def test_every_figure_is_a_file_beside_the_page(examined):
    links = re.findall(r'href="(figures/[^"]+)" download', examined.page.read_text("utf-8"))
    assert len(links) == 2 * len(examined.tables)
    assert {link.rpartition(".")[2] for link in links} == {"svg", "png"}
    assert all((examined.folder / link).stat().st_size > 1000 for link in links)


def test_every_figure_that_is_listed_of_its_folder_is_drawn(examined, tmp_path):
    names = [entry.name for entry in catalogue.list_drawable(examined.folder)]
    assert {"examined-states", "examined-heads", "probes", "behavior"} <= {*names}
    for name in names:
        path = tmp_path / f"{name}.png"
        assert catalogue.write_figure(name, None, [examined.folder], {}, path).is_file()


def test_states_stand_beside_those_of_the_baseline_model(examined):
    table = examined.tables["nested"]
    assert table["site"].unique().tolist() == ["layers.embedding", "layers.1.hidden"]
    assert {"bag", "additive", "factored"} <= {*table["family"]}
    assert {"left"} == {*table["roles"]}
    assert {"", "permuted", "shuffled roles"} <= {*table["control"]}


def test_what_cannot_be_asked_is_a_grey_line(model, tmp_path):
    texts = [f"the cat saw the {name} ." for name in ("dog", "man", "cat", "king") * 6]
    examined = examine(model, data=texts, out=tmp_path / "run", layers=1, n=12, labels="none")
    lines = dict(zip(MEASURES, examined.lines, strict=True))
    assert lines["behavior"].endswith(
        "Not measured: it needs minimal pairs, in which two words change places (--data pairs:FRAME)."
    )
    assert "Not measured: the words of these texts have no labels" in lines["probes"]
    assert lines["heads"].endswith(
        "need 20 texts with maps: read more texts (the data have 24: -n 24)."
    )
    assert "behavior" not in examined.tables


def test_labels_of_ones_own_are_probed_beside_those_of_another_file(model, tmp_path):
    words = np.random.default_rng(0).choice(WORDS, (40, 4)).tolist()
    for name, tags in {"mine": "abab", "other": "ccdd"}.items():
        records = (
            {"text": " ".join(text), "document": str(n)}
            | {"targets": [{"span1": [i, i + 1], "label": tag} for i, tag in enumerate(tags)]}
            for n, text in enumerate(words)
        )
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    options = {"data": tmp_path / "mine.jsonl", "out": tmp_path / "run", "layers": 1}
    examined = examine(model, labels=f"other={tmp_path / 'other.jsonl'}", **options)
    assert {*examined.tables["probes"]["task"]} == {"mine", "other"}
    with pytest.raises(InputError, match="TASK=FILE"):
        examine(model, labels="other", **options)


def test_an_attached_module_is_examined_with_the_ids_of_its_texts(tmp_path):
    module = nn.Sequential(nn.Embedding(30, 4), nn.Linear(4, 4))
    sites = {"encoder.embedding": "0", "encoder.0.hidden": "1"}
    attached = attach(module, sites, forward=lambda module, batch: module(batch[0]))
    texts = tmp_path / "texts.txt"
    texts.write_text("".join(f"{i} {i * i % 29} {i // 2}\n" for i in range(30)))
    examined = examine(attached, lambda text: [*map(int, text.split())], texts, tmp_path / "run")
    assert "<code>tprprobe examine" not in examined.page.read_text(
        "utf-8"
    )  # it knows no such model
    assert "k-means divides the tokens at layer 0 into" in repr(examined)
    assert "Not measured: no site of attention over the input" in repr(examined)


def test_what_training_changed_has_an_interval():
    rows = [
        {"site": site, "family": "bag", "control": control, "share": share}
        | {"share_low": share - half, "share_high": share + half}
        for site, control, share, half in (
            ("a", "", 0.6, 0.03), ("b", "", 0.6, 0.03),
            ("b", "permuted", 0.64, 0.04), ("a", "permuted", 0.8, 0.04),
        )
    ]  # fmt: skip
    subtract_baseline(table := pd.DataFrame(rows), "permuted")
    names = ["share_learned", "share_learned_low", "share_learned_high"]
    np.testing.assert_allclose(table.loc[0, names].astype(float), [-0.2, -0.25, -0.15])
    assert table["share_learned"].notna().tolist() == [True, True, False, False]


@pytest.mark.parametrize(
    ("half", "verdict"), [(0.03, "No binding of"), (0.3, "These texts do not")]
)
def test_a_wide_interval_is_no_finding_of_absence(half, verdict):
    share = {"share": 0.01, "share_low": 0.01 - half, "share_high": 0.01 + half}
    row = {"site": "encoder.0.hidden", "roles": "left", "family": "factored", "control": ""}
    bound, unbound = describe_bindings(pd.DataFrame([row | share | {"share_shuffled": 0.0}]))
    assert unbound.startswith(verdict)
    assert not bound


def test_sites_that_bind_are_counted_beside_those_of_the_baseline_model():
    sites = [
        {"site": f"encoder.{layer}.hidden", "roles": "left", "family": "factored"}
        | {"control": control, "share": share, "share_low": low, "share_high": high}
        for control, layer, share, low, high in (
            ("", 0, 0.3, 0.1, 0.6), ("", 1, 0, -0.1, 0.1), ("", 2, 0.3, -0.1, 0.6),
            ("permuted", 0, 0.2, 0.1, 0.6), ("permuted", 1, 0.4, 0.2, 0.6),
        )
    ]  # fmt: skip
    text, _ = describe_bindings(pd.DataFrame(sites))
    settled = "1 of 2 sites where that is settled (2 of 2 in the baseline model)"
    assert text.startswith(f"{settled} binds tokens to places")
    assert text.endswith(
        "is 30.0\u00a0% [10.0, 60.0] of the variance, at layer 0 (20.0\u00a0% [10.0, 60.0] in the baseline model)."
    )
    _, wide = describe_bindings(pd.DataFrame(sites).assign(share_high=0.9))
    assert (
        wide == "These texts do not settle a binding of tokens to places (counted from the left)."
    )
    alone, _ = describe_bindings(pd.DataFrame(sites[:1]))
    share = "30.0\u00a0% [10.0, 60.0] of the variance"
    assert alone == f"At layer 0, states bind tokens to places (counted from the left): {share}."
    rows = pd.DataFrame(sites[:1] * 2).assign(site=["layers.embedding", "layers.0.hidden"])
    rows["share"], rows["share_low"], rows["share_high"] = [0.0, np.nan], 0.0, [0.0, np.nan]
    assert describe_bindings(rows)[1].startswith("These texts do not settle a binding")  # not: none


def test_heads_look_at_targets_more_often_than_chance():
    n = 6
    previous = np.eye(n, k=-1)
    uniform = np.tril(np.full((n, n), 1.0))
    tally = count_hits(np.stack([previous + 0.01 * uniform, uniform]), previous > 0, 0)
    assert tally.hits[:, 0].all()
    assert len(tally.hits) == n - 1  # the first token sees no other one
    np.testing.assert_allclose(tally.chance, 1 / np.arange(1, n))


def test_heads_of_an_earlier_page_are_all_the_models(examined):
    heads = examined.tables["heads"].query("model == 'trained'")
    squares, earlier = (relation_squares(t) for t in (heads, heads.drop(columns="model")))
    np.testing.assert_array_equal(squares.values, earlier.values)


def test_heads_that_look_at_the_first_token_are_counted_apart(examined):
    heads = examined.tables["heads"].assign(relation="first token", beyond_low=0.5)
    run = SimpleNamespace(folder=examined.folder, store=open_store(examined.folder / "store"))
    section, n = show_heads(heads, run), len(heads) // 2
    assert f" 0 of {n} heads look" in section.lack
    assert f"beside {n} ({n}) that look" in section.lack


def test_it_goes_on_and_refuses_another_run(examined, model, frame):
    resumed = examine(model, data=load_data(frame), out=examined.folder, layers=1, resume=True)
    assert resumed.lines == examined.lines
    with pytest.raises(InputError, match="--resume"):
        examine(model, data=load_data(frame), out=examined.folder, layers=1)
    with pytest.raises(InputError, match="another run"):
        examine(model, data=load_data(frame), out=examined.folder, layers=2, resume=True)


def test_layers_are_evenly_spaced_and_the_last_is_there(model):
    names = [*find_sites(model)]
    assert choose_outputs(names, 2) == ["layers.embedding", "layers.0.hidden", "layers.1.hidden"]
    assert choose_outputs(names, 1) == ["layers.embedding", "layers.1.hidden"]
    with pytest.raises(InputError, match="one or more"):
        choose_outputs(names, 0)
