"""Exact match beside what greedy decoding writes, and how an evaluation is saved."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.models.answers import (
    evaluate,
    save_evaluation,
    summarize,
)
from tprprobe.models.decoding.generation import generate
from tprprobe.site.attachment import attach

UNKNOWN, PAD, SOS, EOS = range(4)
CHARACTERS = "0123456789+-*/. abcxyz"


def random_questions(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(CHARACTERS), rng.integers(1, 12))) for _ in range(n)]


def greedy(model, question: str) -> list[int]:
    """What the model writes, one question at a time, up to and with the end symbol."""
    ids = [2, *model.vocabulary.encode(question), 3]
    out = generate(model, torch.tensor([ids]))[0].tolist()
    return out[: out.index(EOS) + 1] if EOS in out else out


@pytest.fixture(scope="module")
def model(make_model):
    return make_model(fluent=True)


@pytest.fixture(scope="module")
def answered(model) -> dict[str, list[int]]:
    """Questions with what the model writes; most of it ends, and all of it is text."""
    answers = {question: greedy(model, question) for question in random_questions(36)}
    return {q: ids for q, ids in answers.items() if not {UNKNOWN, PAD, SOS} & set(ids)}


def test_answers_are_what_greedy_decoding_writes(model, answered, make_data):
    texts = {q: model.vocabulary.decode(ids) for q, ids in answered.items() if ids[-1] == EOS}
    pairs = [(q, text if i % 2 else "wrong") for i, (q, text) in enumerate(texts.items())]
    rows = evaluate(model, make_data(pairs))
    assert list(rows.columns) == ["module", "question", "answer", "prediction", "correct"]
    assert rows["question"].tolist() == list(texts)
    assert rows["prediction"].tolist() == list(texts.values())
    assert rows["answer"].tolist() == [answer for _, answer in pairs]
    wrong = rows[rows["correct"] != (rows["prediction"] == rows["answer"])]
    assert wrong.empty, wrong.to_dict("records")
    assert 0 < rows["correct"].sum() < len(rows)


def test_evaluating_streams_the_data_in_its_order(model, questions, monkeypatch):
    data = load_data(questions, split="interpolate", n=12)
    table = evaluate(model, data)
    monkeypatch.setattr("tprprobe.models.answers.EVALUATED_AT_ONCE", 5)
    monkeypatch.setattr("tprprobe.models.answers.DECODED_AT_ONCE", 2)
    pd.testing.assert_frame_equal(evaluate(model, data), table)
    assert table["question"].tolist() == [question.question for question in data]
    assert set(table["module"]) == {"arithmetic__add_or_sub", "arithmetic__mixed"}


def test_an_evaluation_is_saved_with_every_prediction(model, questions, tmp_path):
    data = load_data(questions, split="interpolate", n=6)
    model.name = "owner/tiny"
    rows = evaluate(model, data)
    path = save_evaluation(rows, model, data, tmp_path / "evaluations")
    metadata = json.loads(path.read_text())
    assert metadata["model"] == "owner/tiny"
    assert metadata["parameters"] == sum(p.numel() for p in model.parameters())
    assert (metadata["data"], metadata["split"], metadata["seed"]) == (questions, "interpolate", 0)
    assert metadata["exact_match"] == summarize(rows)["exact_match"]
    pd.testing.assert_frame_equal(pd.read_parquet(path.with_suffix(".parquet")), rows)
    assert save_evaluation(rows, model, data, tmp_path / "evaluations") == path
    assert len(list(path.parent.iterdir())) == 2


def test_models_that_cannot_answer_are_refused(make_model, make_data):
    unknown = make_model()
    unknown.vocabulary = None
    with pytest.raises(InputError, match="vocabulary is unknown"):
        evaluate(unknown, make_data([("1", "1")]))
    attached = attach(torch.nn.Sequential(torch.nn.Embedding(73, 4)), {"encoder.0.hidden": "0"})
    with pytest.raises(InputError, match="attached module"):
        evaluate(attached, make_data([("1", "1")]), make_model().vocabulary)
