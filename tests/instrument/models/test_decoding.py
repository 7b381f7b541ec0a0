"""Decoding with a cache against decoding without one, written out row by row."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tprprobe.errors import InputError
from tprprobe.models import build
from tprprobe.models.decoding.generation import BeamState, generate
from tprprobe.site.hooks import intervene

SIZES = {"d_model": 16, "n_heads": 2, "n_layers": (1, 2), "d_ff": 24, "vocab_size": 8}
T5_SIZES = {**SIZES, "d_head": 8, "n_roles": 5}
CASES: dict[str, dict[str, Any]] = {
    "tp-transformer": SIZES,
    "tp-transformer outer": {**SIZES, "binding": "outer"},
    "transformer": SIZES,
    "lstm": {"d_model": 12, "vocab_size": 8, "thinking_steps": 2},
    "tpt": T5_SIZES,
    "t5": T5_SIZES,
}
SOURCES = [[2, 4, 5, 3], [2, 6, 3], [2, 7, 7, 4, 5, 6, 3], [2, 3], [2, 5, 4, 5, 4, 3]]


def model_of(case: str, seed: int) -> Any:
    """A random model of few symbols, so that end symbols and pads are often written.

    T5's tied embedding would repeat its input, were its layers not loud.
    """
    model: Any = build({"architecture": case.split()[0], **CASES[case]}, seed=seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if case not in ("tpt", "t5"):
                parameter.mul_(1.5)
            elif parameter.ndim > 1 and not name.startswith("embedding"):
                parameter.mul_(4)
    return model.double().eval()


def batch(pad: int) -> Tensor:
    width = max(map(len, SOURCES))
    return torch.tensor([row + [pad] * (width - len(row)) for row in SOURCES])


def as_rows(ids: Tensor, model: Any) -> list[list[int]]:
    """The rows up to their end symbol, after checking that nothing but pads follows it."""
    pad, eos = model.config.pad, model.config.eos
    rows = []
    for row in ids.tolist():
        end = row.index(eos) + 1 if eos in row else len(row)
        assert row[end:] == [pad] * (len(row) - end)
        rows.append(row[:end])
    return rows


@pytest.fixture
def alone(monkeypatch):
    """What a model writes behind one source, every symbol by a pass over all before it: no cache, no padding."""

    def write(model: Any, source: list[int], *limits: int, **options: Any) -> list[int]:
        with monkeypatch.context() as patch:
            never = property(lambda _: False, lambda *_: None)
            patch.setattr(BeamState, "exact", never, raising=False)
            return as_rows(generate(model, torch.tensor([source]), *limits, **options), model)[0]

    return write


@pytest.mark.parametrize("case", CASES)
def test_greedy_is_the_uncached_argmax_of_each_row(case, alone):
    pads = ends = 0
    for seed in range(4):
        model = model_of(case, seed)
        rows = as_rows(generate(model, batch(model.config.pad), max_length=8), model)
        assert rows == [alone(model, source, 8) for source in SOURCES]
        ends += sum(row[-1] == model.config.eos for row in rows)
        pads += sum(model.config.pad in row for row in rows)
    if "transformer" in case:
        assert pads > 1, "hardly a row has written a pad: this test shows too little"
        assert 0 < ends < 20, "rows should end, and not all of them"


@pytest.mark.parametrize("case", CASES)
def test_a_beam_is_the_uncached_beam_of_each_row(case, alone):
    """Beams are compared with those of transformers in tests/papers/parity."""
    pads = 0
    for seed, beam, penalty, early in ((0, 2, 1.0, False), (1, 4, 0.0, True), (2, 3, 2.0, "never")):
        model, options = model_of(case, seed), {"length_penalty": penalty, "early_stopping": early}
        rows = as_rows(generate(model, batch(model.config.pad), 6, beam, **options), model)
        assert rows == [alone(model, row, 6, beam, **options) for row in SOURCES]
        pads += sum(model.config.pad in row for row in rows)
    assert pads or case not in ("tp-transformer", "transformer")


EDITS = {
    "encoder.0.self.filler": lambda x: 1.5 * x,
    "decoder.*.self.key": lambda x: x + 0.3,
    "decoder.0.cross.value": lambda x: -x,
    "decoder.1.cross.query": lambda x: x.roll(1, -1),
}


@pytest.mark.parametrize(("case", "seed"), [("tp-transformer", 1), ("tpt", 0), ("t5", 1)])
def test_edited_sites_are_edited_once_at_every_step(case, seed, alone):
    model = model_of(case, seed)
    plain = generate(model, batch(model.config.pad), 6, beam=3)
    with intervene(model, EDITS):
        greedy = as_rows(generate(model, batch(model.config.pad), 6), model)
        beams = as_rows(generate(model, batch(model.config.pad), 6, beam=3), model)
        assert greedy == [alone(model, source, 6) for source in SOURCES]
        assert beams == [alone(model, source, 6, 3) for source in SOURCES]
    assert as_rows(plain, model) != beams


def test_rows_that_have_ended_are_dropped():
    model, rows = model_of("tpt", 0), []
    model.decoder[0].register_forward_hook(lambda _m, args, _o: rows.append(len(args[0])))
    answers = as_rows(generate(model, batch(0), 8), model)
    assert len({len(row) for row in answers}) > 1, "all rows are of one length: nothing to drop"
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[-1]


@pytest.mark.parametrize("case", ["tp-transformer", "t5", "lstm"])
def test_a_batch_of_many_lengths_writes_what_its_rows_write_alone(case):
    model = model_of(case, 2)
    pad = model.config.pad
    sources = [[2, *((n * i) % 5 + 3 for i in range(n % 13))] for n in range(40)]
    padded = torch.tensor([row + [pad] * (13 - len(row)) for row in sources])
    padded[7] = pad  # nothing but pads
    together = as_rows(generate(model, padded, 6), model)
    rows = [0, 7, 12, 25, 39]
    assert [together[row] for row in rows] == [
        as_rows(generate(model, padded[row : row + 1], 6), model)[0] for row in rows
    ]


def test_dropout_is_off_while_decoding_and_the_model_is_left_as_it_was():
    model: Any = build({"architecture": "tp-transformer", **SIZES, "dropout": 0.5}, seed=1)
    model.train()
    ids, repeated = (generate(model, batch(1), max_length=9, beam=2) for _ in range(2))
    assert ids.equal(repeated)
    assert all(module.training for module in model.modules())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_length": 5}, "less than max_length"),
        ({"min_length": -1}, "less than max_length"),
        ({"no_repeat": -1}, "less than max_length"),
        ({"beam": 0}, "at least 1"),
        ({"max_length": 0}, "at least 1"),
    ],
)
def test_rules_that_nothing_can_follow_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        generate(model_of("lstm", 0), batch(1), **{"max_length": 5} | options)
