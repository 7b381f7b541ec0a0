"""Captioning from training to a store: exact resumption, scores, labels, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted.recipes import CAPTIONERS, figures, killed_at, same, state, weights
from planted.recipes import captioning as recipe

from tprpapers.captions.images import Captioned
from tprpapers.captions.words import count_words
from tprpapers.scoring.captions.toolkit import score_captions
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_pairs
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.files.settings import parse
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate, save_evaluation, summarize
from tprprobe.models.decoding.generation import generate
from tprprobe.training import loop
from tprprobe.training.loop import train
from tprprobe.training.pools import make_codec
from tprprobe.training.recipes import Recipe


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(loop, "REPORT_EVERY", 4)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A checkpoint of a tiny TPGN after twelve steps."""
    return train(recipe(), tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def model(trained) -> Any:
    return load_model(trained)


@pytest.mark.parametrize(("name", "step"), [("tpgn", 10), ("cnn-lstm", 7)])
def test_a_killed_run_goes_on_to_the_run_that_was_not_killed(name, step, tmp_path, monkeypatch):
    """Bit for bit, dropout too: the checkpoint, the log and the state."""
    settings = recipe(name, model=CAPTIONERS[name] | {"dropout": 0.2})
    train(settings, tmp_path / "whole")
    killed_at(step, monkeypatch, settings, tmp_path / "killed")
    train(settings, tmp_path / "killed", resume=True)
    uninterrupted, resumed = tmp_path / "whole", tmp_path / "killed"
    assert same(weights(resumed / "model"), weights(uninterrupted / "model"))
    assert figures(resumed) == figures(uninterrupted)
    resumed_state, uninterrupted_state = state(resumed), state(uninterrupted)
    assert resumed_state.pop("seconds") > 0 < uninterrupted_state.pop("seconds")
    assert same(resumed_state, uninterrupted_state)
    metrics = {row["metric"] for row in figures(uninterrupted)}
    assert metrics == {"loss", "learning_rate", "held_out_loss"}


def test_words_and_the_mean_are_those_of_the_first_stage(model):
    scenes = list(load_data("scenes", split="train", n=24))
    assert model.vocabulary == count_words((c for e in scenes for c in e.captions), 2)
    expected = np.mean([e.features for e in scenes], axis=0)
    np.testing.assert_allclose(model.mean.numpy(), expected, atol=1e-6)


def test_word_vectors_are_read(tmp_path):
    words = make_codec(recipe())
    some_words = words.symbols[4:7]
    path = tmp_path / "glove.txt"
    path.write_text("".join(f"{word}{f' {i}' * 6}\n" for i, word in enumerate(some_words)))
    model = CAPTIONERS["tpgn"] | {"embedding": "fixed"}
    settings = recipe(words={"threshold": 2, "glove": str(path)}, model=model)
    weight = load_model(train(settings, tmp_path / "run")).state_dict()["embedding.weight"]
    assert weight[4:7].tolist() == [[-1.0] * 6, [0.0] * 6, [1.0] * 6]


# What is written


def test_an_evaluation_has_the_toolkits_scores_of_what_a_beam_writes(model, tmp_path):
    data = load_data("scenes", n=6)
    rows = evaluate(model, data)
    features = torch.from_numpy(np.stack([e.features for e in data]))
    captions = [model.vocabulary.decode(ids) for ids in generate(model, features, beam=5).tolist()]
    assert rows["prediction"].tolist() == captions
    summary = summarize(rows)
    table = score_captions(captions, [e.captions for e in data]).table().set_index("metric")
    for name, row in table.iterrows():
        assert summary["scores"][name]["value"] == pytest.approx(row["value"])
    assert summary["n"] == 6
    path = save_evaluation(rows, model, data, tmp_path)
    saved = json.loads(path.read_text())
    assert saved["scores"] == summary["scores"]
    lines = path.with_suffix(".jsonl").read_text().splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == captions
    assert evaluate(model, data, beam=1)["prediction"].tolist() == [
        model.vocabulary.decode(ids) for ids in generate(model, features).tolist()
    ]


# Stores


def test_a_store_has_a_row_a_word_read_with_the_grammars_labels(model, tmp_path):
    data = load_data("scenes", n=8)
    store = extract(model, data, out=tmp_path / "store")
    assert set(store.sites) == {"sentence.tpr", "word.filler", "word.hidden", "word.unbinding"}
    tokens = store.tokens
    assert set(tokens["side"]) == {"target"}
    for sample, example in enumerate(data):
        rows = tokens[tokens["sample"] == sample]
        sentence = example.sentences[0]
        assert rows["token"].tolist()[0] == "<sos>"
        assert rows["pos"].tolist() == ["", *[word.xpos for word in sentence.words]]
        assert rows["word"].tolist() == [-1, *range(len(sentence.words))]
        assert rows["document"].unique().tolist() == [example.image]
        ids = torch.tensor([[model.config.sos, *model.vocabulary.encode(example.target)]])
        with torch.no_grad():
            logits = model(torch.from_numpy(example.features)[None], ids)[0]
        filler = torch.from_numpy(store.arrays["word.filler"].values[rows.index])
        torch.testing.assert_close(filler @ model.output.T + model.output_bias, logits)
    control = store.control
    assert control is not None
    assert not np.allclose(control.arrays["word.hidden"], store.arrays["word.hidden"])


def test_what_a_model_writes_is_read(model, tmp_path):
    data = load_data("scenes", n=5)
    store = extract(model, data, "word.*", tmp_path / "store", target="generated", control=False)
    texts = store.tokens.groupby("sample")["token"].agg(lambda tokens: " ".join(tokens[1:]))
    predictions = evaluate(model, data, beam=1)["prediction"].tolist()
    assert [text.removesuffix(" <eos>") for text in texts] == predictions
    tags = [data[0].lexicon.get(str(token), "") for token in store.tokens["token"]]
    assert store.tokens["pos"].tolist() == tags


# Refusals


def listed(*examples: Any) -> Any:
    """A data set of these examples."""
    methods = {"read": lambda self, rows: (examples[row] for row in rows)}
    return type("Listed", (Dataset,), methods)("listed", "train", 0, range(len(examples)))


def test_vectors_that_cannot_be_read_are_named(model):
    def image(name: str, *numbers: float) -> Captioned:
        return Captioned(name, np.array(numbers, np.float32), ("a dog",))

    words = model.vocabulary
    with pytest.raises(InputError, match="features of 2 and of 3 numbers"):
        encode_pairs(listed(image("a", 1, 2), image("b", 1, 2, 3)), words)
    with pytest.raises(InputError, match="image b have NaN"):
        encode_pairs(listed(image("a", 1, 2), image("b", 1, float("nan"))), words)
    with pytest.raises(InputError, match=r"shape \(1, 2\).*reads \[batch, 2048\]"):
        evaluate(model, listed(image("a", 1, 2)))
    with pytest.raises(InputError, match="is a text: this model reads images' features"):
        evaluate(model, load_data("english", n=1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"words": None}, "needs a section [words]"),
        ({"words": {"threshold": 9999}}, "no word occurs 9999 times"),
        ({"model": CAPTIONERS["tpgn"] | {"d_features": 100}}, "[batch, 100]"),
    ],
)
def test_recipes_that_do_not_fit_are_one_line(settings, message, tmp_path):
    options = recipe().model_dump(exclude_none=True) | settings
    chosen = {key: value for key, value in options.items() if value}
    with pytest.raises(InputError) as error:
        train(parse(Recipe, chosen, "recipe"), tmp_path / "run")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run" / "model").exists()
