"""Trained networks whose answer is known: a copying GRU by its decoder, a TP-Transformer by its equations.

The GRU is that of McCoy et al. 2019: it reads digits, and its decoder says from one vector whether they are all there.
The TP-Transformer binds by ``v ⊙ r``: its own fillers of digits and roles of places, captured at its first layer,
are led through that layer in every combination, and a vector is the sum of ``W_o (v ⊙ r) + b`` over digits.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from string import digits
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

import tprprobe as tp
from benchmarks.binding.structure import Array, Symbols
from benchmarks.binding.subject import Subject, World, by_length, permute
from benchmarks.binding.subjects.planted import draw_sequences

MODEL, LAYER = "tpt-c-arithmetic", "encoder.0.self"
FORM = "Calculate {}*({}+{})-{}/({}-{})."  # a digit has one of six places
SLOTS, QUESTIONS, GRU_SEQUENCES = 6, 400, 1600


class Coder(nn.Module):
    """TPDN's GRUs of digits; a random one where no folder of weights is given."""

    def __init__(self, folder: Path | None, seed: int = 0):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.embedding = nn.Embedding(10, 10)
            self.reader, self.writer = (nn.GRU(10, 60, batch_first=True) for _ in "rw")
            self.out = nn.Linear(60, 10)
        if folder is not None:
            encoder, decoder = (
                load_file(folder / f"{n}.safetensors") for n in ("encoder", "decoder")
            )
            self.embedding.weight.data = encoder["embedding.weight"]
            modules = (
                (self.reader, encoder, "rnn."),
                (self.writer, decoder, "rnn."),
                (self.out, decoder, "out."),
            )
            for module, weights, prefix in modules:
                named = {
                    k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)
                }
                module.load_state_dict(named)

    @torch.no_grad()
    def encode(self, sequences: Sequence[Symbols]) -> Array:
        """The last state of every sequence."""

        def encode(batch: list[Symbols]) -> Array:
            return self.reader(self.embedding(_ids(batch)))[1][0].numpy()

        return by_length(sequences, encode)

    @torch.no_grad()
    def read(self, states: Array, sequences: Sequence[Symbols]) -> list[Symbols]:
        """The digits that the decoder says, as many as the sequence has."""
        start = torch.from_numpy(states).float().relu()[None]
        steps = self.writer(torch.zeros(len(states), max(map(len, sequences)), 10), start)[0]
        symbols = self.out(steps).argmax(-1).tolist()
        return [tuple(map(str, row[: len(s)])) for row, s in zip(symbols, sequences, strict=True)]


def _ids(sequences: Sequence[Symbols]) -> Tensor:
    return torch.tensor([[int(c) for c in s] for s in sequences])


def make_gru(folder: Path | None, twin: str, seed: int) -> World:
    """The world of the GRU, or of its untrained or permuted twin."""
    sequences = draw_sequences(np.random.default_rng((seed, 5)), digits, n=GRU_SEQUENCES)

    def twin_of(kind: str, seed: int) -> Any:
        coder = Coder(None, seed) if kind == "untrained" else Coder(folder)
        return permute(coder, seed) if kind == "permuted" else coder

    model = Coder(folder) if not twin else twin_of(twin, seed)
    control = twin_of(twin or "permuted", seed + 100)
    reader = None if twin else model.read
    return World(sequences, model.encode, model.encode(sequences), reader, control.encode)


@cache
@torch.no_grad()
def bind_all(name: str) -> tuple[Array, Array]:
    """What a layer of a TP-Transformer makes of the digits' fillers at the slots' roles, [digit, slot, d]: by the
    model itself, whose fillers and roles are set, and by W_o (v ⊙ r) + b.
    """
    model: Any = tp.load_model(name)
    rng = np.random.default_rng(0)
    digit_rows = rng.integers(10, size=(QUESTIONS, SLOTS))
    ids = torch.tensor([model.vocabulary.encode(FORM.format(*row)) for row in digit_rows.tolist()])
    positions = [i for i, c in enumerate(FORM.format(*"000000")) if c == "0"]
    start = torch.full((len(ids), 1), model.config.sos)
    sites = [f"{LAYER}.{site}" for site in ("filler", "role", "tpr")]
    with tp.capture(model, sites[:2]) as acts:
        model(ids, start)
    # [question, slot, head, d_head]
    fillers, roles = (acts[site][:, positions] for site in sites[:2])
    by_digit = torch.stack([fillers[torch.from_numpy(digit_rows == d)].mean(0) for d in range(10)])
    by_slot = roles.mean(0)
    set_to = {
        sites[0]: by_digit[:, None].expand(-1, SLOTS, -1, -1),
        sites[1]: by_slot.expand(10, -1, -1, -1),
    }
    edits = {site: partial(_replace, value) for site, value in set_to.items()}
    with tp.intervene(model, edits), tp.capture(model, sites[2:]) as acts:
        model(ids[:10, :SLOTS], start[:10])
    layer: Any = model.get_submodule(LAYER)
    bound = (set_to[sites[0]] * set_to[sites[1]]).flatten(-2)
    return acts[sites[2]].double().numpy(), layer.output(bound).double().numpy()


def _replace(value: Tensor, _tensor: Tensor) -> Tensor:
    return value.contiguous()


def _add_up(table: Array, sequences: Sequence[Symbols]) -> Array:
    return np.stack([table[[int(c) for c in s], range(len(s))].sum(0) for s in sequences])


def make_tpt(twin: str, seed: int) -> World:
    """The world of the TP-Transformer's binding, or of a twin's."""
    prefix = f"{twin}:" if twin else ""
    table = bind_all(prefix + MODEL)[0]
    sequences = draw_sequences(np.random.default_rng((seed, 6)), digits)
    control = bind_all(f"{'untrained' if twin == 'permuted' else 'permuted'}:{MODEL}")[0]
    run = partial(_add_up, table)
    return World(sequences, run, run(sequences), None, partial(_add_up, control))


SIZE = "10 digits at 6 places, 1,000 × 96"
SUBJECTS = (
    Subject("TP-Transformer v⊙r", "network", "left", partial(make_tpt, ""), True, SIZE, ("left",)),
    Subject("permuted TP-Transformer", "twin", "left", partial(make_tpt, "permuted"), None, SIZE),
)


def list_grus(folder: Path) -> Iterator[Subject]:
    """The GRU of TPDN and its twins; their weights are in the folder."""
    for twin in ("", "untrained", "permuted"):
        name, family = (f"{twin} GRU", "twin") if twin else ("GRU of TPDN", "network")
        make_world, binding = partial(make_gru, folder, twin), None if twin else True
        options = {"size": f"10 digits, {GRU_SEQUENCES:,} × 60", "reads": not twin, "needs": "--tpdn"}  # fmt: skip
        yield Subject(name, family, "left*right", make_world, binding, **options)
