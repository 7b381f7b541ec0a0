"""The TPGN and the CNN-LSTM: sizes, sites, decoding; their numbers are in test_networks.py."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tprpapers.captions.words import Words
from tprprobe.data.vocabularies.characters import SPECIALS
from tprprobe.errors import InputError
from tprprobe.models import build, count_parameters, load_model
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.site.hooks import capture, intervene, sites
from tprprobe.site.patterns import side_of

TINY = {"d_embedding": 4, "d_features": 6, "vocab_size": 9}
SITES = ["sentence.tpr", "word.hidden", "word.unbinding", "word.filler"]


def tiny(seed: int = 0, d: int = 3, **options: Any) -> Any:
    """A double-precision TPGN whose every parameter, biases and v̄ too, is random."""
    name = options.pop("architecture", "tpgn")
    model: Any = build({"architecture": name, "d_model": d, **TINY, **options}, seed=seed).double()
    random = torch.Generator().manual_seed(seed)
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.data = torch.randn(tensor.shape, generator=random, dtype=torch.float64) * 0.7
    return model.eval()


def batch(seed: int, n: int = 3, length: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    features = torch.randn(n, 6, generator=random, dtype=torch.float64)
    return features, torch.randint(0, 9, (n, length), generator=random)


TABLE = {  # weights at the paper's size
    "sentence.gates.from_word": 62_500,
    "sentence.gates.from_input": 62_500,
    "sentence.gates.from_sentence": 1_562_500,
    "sentence.initial.weight": 1_280_000,
    "word.unbind.weight": 15_625,
    "word.gates.from_input": 2_500,
    "word.gates.from_word": 2_500,
    "word.gates.from_sentence": 100,
    "embedding.weight": 219_775,
    "output": 5_494_375,
}


def test_the_preset_has_the_papers_weights():
    with torch.device("meta"):
        model = build({"preset": "tpgn"})
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    assert {name: sizes.pop(name) for name in TABLE} == TABLE
    assert sum(TABLE.values()) == 8_702_375 == count_parameters({"preset": "tpgn", "biases": False})
    assert sum(sizes.values()) == 12_641
    assert count_parameters({"preset": "tpgn"}) == 8_702_375 + 12_641
    tied = {"preset": "tpgn", "output": "tied", "d_embedding": 625, "biases": False}
    assert count_parameters(tied) == 8_702_375 - 219_775 + (625 - 25) * 4 * (625 + 25)


def test_tying_needs_words_as_wide_as_fillers():
    with pytest.raises(InputError, match=r"d² = 625.*d_embedding 625"):
        build({"preset": "tpgn", "output": "tied"})


def test_sites_have_a_time_axis_and_belong_to_the_words():
    model = tiny()
    table = sites(model)
    assert sorted(table["site"]) == sorted(SITES)
    assert {side_of(name) for name in SITES} == {"target"}
    features, target = batch(0, n=2, length=4)
    with capture(model, "*") as acts, torch.no_grad():
        model(features, target)
    shapes = {"sentence.tpr": (2, 4, 3, 3), "word.hidden": (2, 4, 3)}
    shapes |= {"word.unbinding": (2, 4, 9), "word.filler": (2, 4, 9)}
    assert {name: tuple(acts[name].shape) for name in acts} == shapes


def test_an_unbinding_vector_put_in_changes_the_words_and_nothing_that_recurs():
    model = tiny()
    features, target = batch(0)
    with torch.no_grad(), capture(model, "word.hidden") as acts:
        plain = model(features, target)
        hidden = acts["word.hidden"]
        with intervene(model, {"word.unbinding": torch.zeros_like}):
            edited = model(features, target)
        torch.testing.assert_close(edited, model.output_bias.expand_as(edited))
        torch.testing.assert_close(acts["word.hidden"], hidden)
        assert not torch.allclose(plain, edited)


@pytest.mark.parametrize("architecture", ["tpgn", "cnn-lstm"])
@settings(max_examples=10)
@given(seed=st.integers(0, 1000), split_at=st.integers(1, 4))
def test_decoding_in_parts_is_decoding_at_once(architecture, seed, split_at):
    model = tiny(seed, architecture=architecture)
    features, target = batch(seed)
    with torch.no_grad():
        expected = model(features, target)
        memory = model.encode(features)
        head, cache = model.decode(target[:, :split_at], memory)
        second, _ = model.decode(target[:, split_at:], memory, cache)
    torch.testing.assert_close(torch.cat([head, second], 1), expected)


@pytest.mark.parametrize("options", [{}, {"output": "tied", "d_embedding": 9, "cells": "features"}])
def test_a_checkpoint_brings_everything_back(tmp_path, options):
    model: Any = build({"architecture": "tpgn", "d_model": 3, **TINY, **options}, seed=1).eval()
    model.mean += torch.rand(6)
    model.vocabulary = Words((*SPECIALS, "a", "dog", "cat", "in", "it"))
    features, target = batch(0)
    loaded: Any = load_model(save_pretrained(model, tmp_path / "model"))
    torch.testing.assert_close(loaded(features.float(), target), model(features.float(), target))
    torch.testing.assert_close(loaded.mean, model.mean)
    assert loaded.vocabulary == model.vocabulary
