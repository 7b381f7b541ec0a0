"""What extraction writes beside vectors: words of sub-words, labels, what the encoder is given."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from planted.foreign import save_foreign

import tprprobe as tp
from tprpapers.worlds.english.reportsets import DrawnReports
from tprprobe.data.annotated.sentencesets import join_labels, set_source
from tprprobe.data.vocabularies.subwords import train_subwords
from tprprobe.errors import InputError
from tprprobe.extraction.alignment import PLAIN, place_written
from tprprobe.gold.labels import Labelled, words_of_tokens
from tprprobe.models import build

SITES = ["encoder.0.hidden", "decoder.0.hidden"]
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"  # bytes that are no character
CONLLU = """# newdoc id = a
# sent_id = 1
# text = It's rain-ing.
1\tIt\t_\t_\tPRP\t_\t3\tnsubj\t_\t_
2\t's\t_\t_\tVBZ\t_\t3\taux\t_\t_
3\train-ing\t_\t_\tVBG\t_\t0\troot\t_\t_
4\t.\t_\t_\t.\t_\t3\tpunct\t_\t_

# sent_id = 2
# text = Kim naps
1\tKim\t_\t_\tNNP\t_\t2\tnsubj\t_\t_
2\tnaps\t_\t_\tVBZ\t_\t0\troot\t_\t_
"""


@pytest.fixture(scope="module")
def reports() -> Any:
    return tp.load_data("english", split="train", n=5, seed=3)


@pytest.fixture(scope="module")
def model(reports) -> Any:
    vocabulary = train_subwords((r.source for r in reports), 400, max_source=60, max_target=30)
    sizes = {"d_model": 16, "n_heads": 2, "d_head": 8, "d_ff": 16, "n_layers": 1, "n_roles": 3}
    built: Any = build({"architecture": "tpt", "vocab_size": len(vocabulary), **sizes}, seed=0)
    built.vocabulary, built.name = vocabulary, "tiny"
    return built


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.conllu"
    path.write_text(CONLLU)
    return path


def side(store: Any, name: str, sample: int) -> pd.DataFrame:
    tokens = store.tokens
    return tokens[(tokens["side"] == name) & (tokens["sample"] == sample)]


def words(model: Any, tokens: pd.DataFrame) -> list[str]:
    """The words of a side as its sub-words spell them."""
    inside = tokens[tokens["word"] >= 0]
    return [model.vocabulary.decode(ids).strip() for _, ids in inside.groupby("word")["id"]]


def test_words_are_spelt_by_their_subwords_and_cut_where_the_source_is(model, reports, tmp_path):
    store = tp.extract(model, reports, SITES, tmp_path / "store", control=False)
    for i, report in enumerate(reports):
        summary, document = side(store, "target", i), side(store, "source", i)
        spelt = words(model, summary)
        assert spelt[:-1] == list(report.summary.forms)[: len(spelt) - 1]  # the last may be cut
        assert len(summary) == 30 or len(spelt) == len(report.summary.forms)
        forms = [form for sentence in report.document for form in sentence.forms]
        spelt_words = words(model, document)
        assert spelt_words[:-1] == forms[: len(spelt_words) - 1]
        assert len(document) == 60 or len(spelt_words) == len(forms)


def test_the_untrained_twin_reads_as_many_samples_as_asked(model, reports, tmp_path):
    store = tp.extract(model, reports, SITES, tmp_path / "store", control_samples=3)
    assert (store.samples, store.control.samples) == (5, 3)
    full_store = tp.extract(model, reports, SITES, tmp_path / "whole", control_samples=10**6)
    assert full_store.control.samples == 5
    with pytest.raises(InputError, match="--no-control"):
        tp.extract(model, reports, SITES, tmp_path / "none", control_samples=0)


def test_no_sample_is_lost_behind_the_last_one_that_the_permuted_baseline_reads(tmp_path):
    attached = tp.load_model(f"hf:{save_foreign('gpt2', tmp_path / 'gpt2', 'causal')}")
    texts = [f"the dog sees cats {'.' * (n % 5)}" for n in range(12)]
    store = tp.extract(attached, texts, "layers.*.hidden", tmp_path / "store", control_samples=5)
    alone = tp.extract(attached, texts, "layers.*.hidden", tmp_path / "alone", control=False)
    assert store.control.samples == 5
    assert store.samples == 12
    assert store.tokens.equals(alone.tokens)
    np.testing.assert_allclose(
        store.read("layers.0.hidden"), alone.read("layers.0.hidden"), atol=1e-6
    )


def test_a_decoder_without_an_encoder_reads_texts(tmp_path):
    texts = tp.load_data("openings:english", split="train", n=40)
    vocabulary = train_subwords((t.target for t in texts), 300, max_source=4, max_target=150)
    sizes = {"d_model": 16, "n_heads": 2, "d_head": 8, "d_ff": 16, "n_layers": [0, 1]}
    model: Any = build({"architecture": "t5", "vocab_size": len(vocabulary), **sizes})
    model.vocabulary, model.name = vocabulary, "language-model"
    store = tp.extract(model, texts, ["decoder.0.hidden"], tmp_path / "store", control=False)
    final_tokens = store.tokens.groupby(["side", "sample"], observed=True).tail(1).set_index("side")
    assert set(final_tokens.loc["source", "token"]) == {"</s>"}  # nothing but the end symbol
    assert set(final_tokens.loc["target", "pos"]) == {"."}
    fit = tp.decompose(store, "decoder.0.hidden", "svo", unit="sample", family="bag")
    assert fit.scores["n"].iloc[0] == 10  # sentences, not tokens


def test_what_a_model_writes_is_aligned_as_it_was_written(model, reports, tmp_path):
    store = tp.extract(model, reports, SITES, tmp_path / "store", target="generated", control=False)
    for i in range(len(reports)):
        tokens = side(store, "target", i)
        text = model.vocabulary.decode(list(tokens["id"]))
        assert REPLACEMENT not in text
        assert "".join(words(model, tokens)) == "".join(text.split())
        assert tokens["prediction"].iloc[0].startswith(text)


def written_words(vocabulary: Any, ids: list[int]) -> tuple[str, list[tuple[int, int]], list[int]]:
    """A written text, and the place and the word of each of its tokens."""
    text = vocabulary.decode(ids)
    places = place_written(vocabulary, ids, len(ids))
    marked = Labelled("", "", tuple(PLAIN.findall(text)), text)
    return text, places, list(words_of_tokens(marked.offsets, places))


@given(ids=st.lists(st.integers(3, 399), max_size=12))
@example(ids=[105, 205, 184, 105])  # the two bytes of a letter, between two letters
@example(ids=[81, 233, 174, 174])
@example(ids=[85, 211, 148])
@example(ids=[131, 3])
def test_every_token_that_is_written_has_its_place_and_its_word(model, ids):
    text, places, numbers = written_words(model.vocabulary, ids)
    assert len(places) == len(ids)
    assert places == sorted(places)
    for (start, end), word in zip(places, numbers, strict=True):
        assert (word >= 0) == bool(text[start:end].strip())
    covered = {offset for start, end in places for offset in range(start, end)}
    assert covered >= {offset for offset, character in enumerate(text) if not character.isspace()}


def test_the_encoder_reads_what_it_is_given(file):
    data = tp.load_data(str(file))
    sources = {
        context: [example.source for example in set_source(data, context)]
        for context in ("same", "document", "empty")
    }
    document = "It's rain-ing. Kim naps"
    assert sources == {
        "same": ["It's rain-ing.", "Kim naps"],
        "document": [document, document],
        "empty": ["", ""],
    }


def test_labels_of_another_file_are_joined(file, tmp_path):
    names = tmp_path / "names.iob2"
    names.write_text("Kim B-PER\nnaps O\n")
    data = join_labels(tp.load_data(str(file)), {"nel": str(names)})
    assert [[t.label for t in e.sentence.targets["nel"]] for e in data] == [[], ["PER"]]
    named = join_labels(tp.load_data(str(names)), {"who": str(names)})
    assert named.tasks == ("who",)  # not twice


def test_what_is_not_annotated_has_no_other_source(reports):
    assert isinstance(reports, DrawnReports)
    with pytest.raises(InputError, match="--source is for annotated files"):
        set_source(reports, "empty")
