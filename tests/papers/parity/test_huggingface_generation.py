"""Our T5 with weights of Hugging Face's T5 writes what its ``generate`` writes, token for token."""

import pytest
import torch
import transformers
from torch import Tensor

from tprprobe.models import load_model
from tprprobe.models.convert import convert
from tprprobe.models.decoding.generation import generate

PAD, EOS, SYMBOLS, MAX_LENGTH = 0, 1, 40, 20
OPTIONS = {  # ours, theirs
    "greedy": ({}, {}),
    "greedy, no 3-gram twice": ({"no_repeat": 3}, {"no_repeat_ngram_size": 3}),
    "beam 4": (
        {"beam": 4, "length_penalty": 2.0, "no_repeat": 3},
        {"num_beams": 4, "length_penalty": 2.0, "no_repeat_ngram_size": 3},
    ),
    "beam 4, stopped early": (
        {"beam": 4, "min_length": 4, "early_stopping": True},
        {"num_beams": 4, "min_new_tokens": 4, "early_stopping": True},
    ),
    "beam 3, never stopped early": (
        {"beam": 3, "length_penalty": 0.5, "no_repeat": 2, "early_stopping": "never"},
        {
            "num_beams": 3,
            "length_penalty": 0.5,
            "no_repeat_ngram_size": 2,
            "early_stopping": "never",
        },
    ),
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Their model, whose random weights are large enough to write varied rows, and ours of it."""
    config = transformers.T5Config(
        vocab_size=SYMBOLS, d_model=32, d_kv=8, num_heads=4, d_ff=48, num_layers=2
    )
    config.decoder_start_token_id, config.dropout_rate = PAD, 0.0
    library_model = transformers.T5ForConditionalGeneration(config).eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in library_model.parameters():
            scale = 1.5 if parameter.ndim == 1 else parameter.shape[-1] ** -0.5
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
        library_model.shared.weight[EOS] *= 1.5
        library_model.shared.weight *= 8
    folder = tmp_path_factory.mktemp("t5")
    library_model.save_pretrained(folder / "theirs")
    convert(folder / "theirs", folder / "ours")
    return library_model, load_model(folder / "ours").eval()


@pytest.fixture(scope="module")
def source() -> Tensor:
    """256 rows of 2 to 17 symbols, an end symbol and pads."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(2, SYMBOLS, (256, 18), generator=generator)
    ends = torch.randint(2, 18, (256, 1), generator=generator)
    places = torch.arange(18)[None]
    return rows.masked_fill(places == ends, EOS).masked_fill(places > ends, PAD)


def upto_end(row: Tensor) -> list[int]:
    ids = row.tolist()
    return ids[: ids.index(EOS) + 1] if EOS in ids else ids


@pytest.mark.parametrize("case", OPTIONS)
def test_generation(pair, source, case):
    library_model, model = pair
    our_options, options = OPTIONS[case]
    rows = [upto_end(row) for row in generate(model, source, MAX_LENGTH, **our_options)]
    library_rows = library_model.generate(
        source, attention_mask=(source != PAD).long(), max_new_tokens=MAX_LENGTH, **options
    )
    expected = [upto_end(row) for row in library_rows[:, 1:]]
    assert rows == expected
    assert len({tuple(row) for row in rows}) > 100, "too few rows differ"
    assert sum(row[-1] == EOS for row in rows) > 25, "hardly a row ends"
    assert len({len(row) for row in rows}) > 8, "lengths hardly differ"
