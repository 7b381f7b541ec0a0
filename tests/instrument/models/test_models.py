"""Architectures: sizes, options, and that padding and batching change nothing."""

from typing import Any

import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tprprobe.errors import InputError
from tprprobe.files import assets
from tprprobe.models import build, count_parameters
from tprprobe.models.checkpoint import read_config
from tprprobe.models.listing import list_models, list_presets

TINY = {"d_model": 16, "n_heads": 2, "n_layers": (2, 1), "d_ff": 24}


def lstm_parameters(d: int, vocab: int = 73) -> int:
    return 4 * d * (vocab + d + 2) + d * vocab + vocab


PRINTED = {
    "transformer": 44_188_160,
    "tp-transformer": 49_178_624,
    "tp-transformer-b": 43_001_760,
    "tp-transformer-c": 30_023_168,
    "lstm": lstm_parameters(2048),
    "lstm-thinking": lstm_parameters(2048),
    "t5": 60_506_880,
    "tpt-d": 64_258_080,
    "tpt-c-t5": 65_234_688,
}


@pytest.mark.parametrize("name", PRINTED)
def test_presets_have_the_published_number_of_parameters(name):
    assert count_parameters({"preset": name}) == PRINTED[name]


def test_every_preset_is_listed_with_its_count():
    rows = {row["name"]: row for row in list_models()["presets"]}
    assert set(rows) == set(list_presets()) >= set(PRINTED)
    counts = {name: count_parameters({"preset": name}) for name in list_presets()}
    assert {name: row["parameters"] for name, row in rows.items()} == counts
    assert all(set(row) == {"name", "architecture", "parameters"} for row in rows.values())


def test_every_checkpoint_is_listed_with_the_count_of_its_configuration():
    rows = {row["name"]: row["parameters"] for row in list_models()["checkpoints"]}
    folders = assets.available("models")
    assert rows == {name: count_parameters(read_config(folders[name])) for name in rows}
    assert len(rows) > 1


@pytest.mark.parametrize("buffer", ["mean", "encoder.positions"])
def test_buffers_and_damaged_weights_are_not_counted(buffer, tmp_path, monkeypatch):
    tensors = {"weight": torch.zeros(3, 4), buffer: torch.zeros(7)}
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"architecture": "lstm"}')
    safetensors.torch.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    monkeypatch.setenv("TPRPROBE_PATH", str(tmp_path))
    listed = {row["name"]: row["parameters"] for row in list_models()["checkpoints"]}
    assert listed["mine"] == 12
    (folder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(InputError, match="is damaged or no safetensors file"):
        list_models()


def test_the_baseline_is_the_tp_transformer_without_roles():
    options = {"roles": "none", "embedding_binding": False}
    plain = build({"architecture": "transformer", **TINY}, seed=3)
    unbound = build({"architecture": "tp-transformer", **TINY, **options}, seed=3)
    states = plain.state_dict(), unbound.state_dict()
    assert states[0].keys() == states[1].keys()
    assert all(states[0][key].equal(states[1][key]) for key in states[0])


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        ({}, "unknown architecture 'None'"),
        ({"architecture": "tp-transfomer"}, "did you mean 'tp-transformer'"),
        ({"d_modell": 16}, "did you mean 'd_model'"),
        ({"thinking_steps": 2}, "unknown option of tp-transformer 'thinking_steps'"),
        ({"d_model": 0}, "d_model = 0: give a positive int"),
        ({"d_model": 16.0}, "positive int"),
        ({"d_model": True}, "positive int"),
        ({"d_model": 15}, "d_model 15 cannot be divided among 2 heads"),
        ({"n_layers": [1, 2, 3]}, "n_layers"),
        ({"n_layers": [1, 0]}, "n_layers = .1, 0.: give a positive int or two, of which the enc"),
        ({"vocab_size": 3}, "eos = 3: give an id from 0 to 2"),
        ({"pad": -1}, "pad = -1"),
        ({"dropout": 1.0}, "dropout = 1.0: give 0 or more"),
        ({"dropout": "none"}, "dropout"),
        ({"roles": "discrete"}, "unknown roles 'discrete'"),
        ({"binding": "hadamar"}, "did you mean 'hadamard'"),
        ({"embedding_binding": "yes"}, "embedding_binding = 'yes': give of type bool"),
        ({"architecture": "tpt", "n_buckets": "many", "d_head": 8}, "n_buckets"),
        ({"architecture": "tpt", "role_stacks": [True, 1], "d_head": 8}, "role_stacks"),
    ],
)
def test_settings_that_make_no_model_are_refused(given_settings, message):
    base = {"architecture": "tp-transformer", **TINY} if given_settings else {}
    with pytest.raises(InputError, match=message) as refused:
        build(base | given_settings)
    assert "\n" not in str(refused.value)


def test_more_symbols_than_positions_are_refused(make_model):
    model = make_model(max_length=6)
    model(torch.full((1, 6), 9), torch.full((1, 6), 9))
    with pytest.raises(InputError, match="7 symbols: this model has max_length 6"):
        model(torch.full((1, 7), 9), torch.tensor([[2]]))
    with pytest.raises(InputError, match="max_length 6"):
        model(torch.tensor([[2]]), torch.full((1, 7), 9))


sequences = st.lists(st.integers(4, 72), min_size=1, max_size=9)
pairs = st.lists(st.tuples(sequences, sequences), min_size=2, max_size=4)
MODELS = {
    "tp-transformer": {},
    "outer": {"binding": "outer"},
    "one": {"roles": "one"},
    "transformer": {"architecture": "transformer"},
}


def padded(rows: list[list[int]], pad: int = 1) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [pad] * (width - len(row)) for row in rows])


@pytest.mark.parametrize("case", [*MODELS, "lstm", "lstm-thinking"])
@settings(max_examples=8)
@given(pairs=pairs)
def test_a_batch_is_its_rows_one_by_one(case, make_model, pairs):
    model = lstm(case) if case.startswith("lstm") else make_model(**MODELS[case])
    logits = model(padded([s for s, _ in pairs]), padded([t for _, t in pairs]))
    for row, (source, target) in enumerate(pairs):
        single = model(torch.tensor([source]), torch.tensor([target]))[0]
        assert logits[row, : len(target)].allclose(single, atol=2e-5)


@pytest.mark.parametrize("case", [*MODELS, "lstm", "lstm-thinking"])
@settings(max_examples=8)
@given(source=sequences, target=sequences, data=st.data())
def test_logits_depend_on_no_later_symbol(case, make_model, source, target, data):
    model = lstm(case) if case.startswith("lstm") else make_model(**MODELS[case])
    length = data.draw(st.integers(1, len(target)))
    full_logits = model(torch.tensor([source]), torch.tensor([target]))
    begun = model(torch.tensor([source]), torch.tensor([target[:length]]))
    assert full_logits[:, :length].allclose(begun, atol=2e-5)


def lstm(case: str) -> Any:
    steps = 3 if case == "lstm-thinking" else 0
    settings = {"architecture": "lstm", "d_model": 8, "thinking_steps": steps}
    return build(settings, seed=0).eval()
