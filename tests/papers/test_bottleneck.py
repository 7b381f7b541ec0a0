"""Models with one vector between source and answer: their parts beside the authors', training, surgery."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import tprprobe as tp
from tprpapers.mccoy.bottleneck import CODERS
from tprprobe.data.vocabularies.characters import SPECIALS, SymbolTable
from tprprobe.files.settings import parse, read_toml
from tprprobe.interventions.surgeries import surgery
from tprprobe.models import build
from tprprobe.models.decoding.generation import generate
from tprprobe.training.logs import read_log
from tprprobe.training.loop import train
from tprprobe.training.recipes import Recipe

DIGITS = SymbolTable((*SPECIALS, *"0123456789"))
SIZES = {"d_model": 8, "d_ff": 12, "d_embedding": 5, "n_heads": 2, "n_layers": 1}
SEQUENCES = ["3 1 4 1 5", "2", "9 9 8", "0 7", "5 4 3 2 1 0"]


def model_of(encoder: str, decoder: str, **sizes: int) -> Any:
    settings = {"architecture": "bottleneck", "encoder": encoder, "decoder": decoder}
    model: Any = build(settings | SIZES | sizes, seed=1).eval()
    model.vocabulary = DIGITS
    return model


def ids_of(*texts: str) -> torch.Tensor:
    rows = [torch.tensor(DIGITS.encode(text)) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, True, DIGITS.pad)


@pytest.mark.parametrize("encoder", CODERS)
@pytest.mark.parametrize("decoder", CODERS)
def test_a_sequence_has_its_vector_and_answer_whatever_stands_beside_it(encoder, decoder):
    model, together = model_of(encoder, decoder), ids_of(*SEQUENCES)
    memory, answers = model.encode(together), generate(model, together)
    for row, text in enumerate(SEQUENCES):
        ids, n = ids_of(text), len(text.split())
        assert torch.allclose(model.encode(ids).vector[0], memory.vector[row], atol=1e-6)
        answer = generate(model, ids)[0].tolist()
        assert answers[row].tolist()[: n + 1] == answer
        assert answer[n] == DIGITS.eos
        assert min(answer[:n]) not in (DIGITS.pad, DIGITS.sos, DIGITS.eos)
    assert generate(model, together, beam=2).shape == answers.shape


def test_weights_of_the_authors_write_every_published_sequence(shared):
    model: Any = build({"architecture": "bottleneck"}).eval()
    state = model.state_dict()
    for side in ("encoder", "decoder"):
        for name, value in load_file(shared / "data" / "tpdn" / f"{side}.safetensors").items():
            weights = state[f"{side}.{name}"]  # four rows of special symbols stand first
            weights[len(weights) - len(value) :] = value
    model.load_state_dict(state)
    with gzip.open(shared / "data" / "tpdn" / "example.data_from_dev.gz", "rt") as file:
        lines = [line.split("\t") for line, _ in zip(file, range(500), strict=False)]
    source = ids_of(*(line[0] for line in lines))
    vectors = np.array([line[1].split() for line in lines], float)
    with torch.no_grad():
        assert np.abs(model.encode(source).vector.numpy() - vectors).max() < 1e-5
    sequences = [DIGITS.decode(ids) for ids in generate(model, source).tolist()]
    assert sequences == [line[0] for line in lines]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (["1 2 3 4 5 6 7"], 8, "a source of 7 symbols; this model has max_length 6"),
        (["1 2"], 5, "answers of 4 symbols to questions of at most 2"),
    ],
)
def test_what_a_model_cannot_hold_is_told(source, target, message):
    with pytest.raises(tp.InputError, match=message):
        model_of("mlp", "transformer")(ids_of(*source), torch.zeros(1, target).long())


def test_the_recipe_trains_a_model_that_learns(tmp_path):
    settings = read_toml(Path(__file__).parents[2] / "studies" / "tpdn" / "recipe.toml")
    [stage], [watched] = settings["stages"], settings["evaluate"]
    stage["steps"], stage["warmup"] = 120, 5  # both in proportion
    stage["mix"][0]["n"], watched["n"] = 2000, 100
    settings["model"]["encoder"] = "tree"
    out = train(parse(Recipe, settings | {"batch_size": 32}, "recipe"), tmp_path / "run")
    model: Any = tp.load_model(out)
    assert model.vocabulary == DIGITS
    assert model.config.vocab_size == 14
    losses = [row["value"] for row in read_log(tmp_path / "run") if row["metric"] == "loss"]
    assert float(losses[-1]) < 0.8 * float(losses[0])


@pytest.fixture(scope="module")
def exact(tmp_path_factory):
    """A model that copies, by construction: its encoding is the one-hot symbols, place by place."""
    model = model_of("mlp", "mlp", d_model=60, d_ff=120)
    data = tp.load_data("sequences:copy", n=160)
    state = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    encoder, decoder = model.encoder, model.decoder
    encoder.embedding.weight.data = torch.eye(14, 5)  # too narrow: the codes are binary
    for digit in range(10):
        bits = [int(bit) for bit in f"{digit:04b}"]
        encoder.embedding.weight.data[4 + digit] = torch.tensor([*bits, 1.0])
    for place in range(6):
        start = 5 * place
        encoder.hidden.weight.data[start : start + 5, start : start + 5] = torch.eye(5)
        encoder.out.weight.data[start : start + 5, start : start + 5] = torch.eye(5)
        decoder.hidden.weight.data[start : start + 5, start : start + 5] = torch.eye(5)
        for digit in range(10):
            code = encoder.embedding.weight.data[4 + digit]
            ones = torch.tensor([0, 0, 0, 0, code[:4].sum()])
            decoder.out.weight.data[14 * place + 4 + digit, start : start + 5] = 2 * code - ones
    store = tp.extract(model, data, ["encoding"], tmp_path_factory.mktemp("bottleneck") / "store")
    return model, data, store


def accuracies(table: Any) -> dict[str, float]:
    return dict(zip(table["edit"], table["accuracy"], strict=True))


@pytest.fixture(scope="module")
def left_fit(exact):
    return tp.decompose(exact[2], "encoding", "left", family="saturated", rank="2x2")


def test_encodings_are_decomposed_and_replaced(exact, left_fit):
    model, data, store = exact
    bag = tp.decompose(store, "encoding", "bag", family="bag")
    assert left_fit.scores["r2"].iloc[0] > 0.99
    replaced = accuracies(tp.substitute(model, data[:80], left_fit))
    assert replaced["decomposition"] == replaced["unedited"] == 1
    assert accuracies(tp.substitute(model, data[:80], bag))["decomposition"] < 0.2


def test_a_filler_is_replaced_by_surgery(exact, left_fit):
    model, *_ = exact
    source = ids_of("3 1 4 1 5")
    with tp.intervene(model, {"encoding": surgery(left_fit, replace=("2", "4", "9"))}):
        assert DIGITS.decode(generate(model, source)[0].tolist()) == "3 1 9 1 5"
