"""Greedy and beam decoding with a key/value cache, for any model with ``encode`` and ``decode``."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.errors import InputError


@torch.no_grad()
def generate(
    model: Any, source: Int[Tensor, "batch seq"], max_length: int = 32, beam: int = 1
) -> Int[Tensor, "batch out"]:
    """The decoded ids behind the start symbol: up to and with the end symbol, then pads.

    Greedy (``beam=1``) gives the tokens of the uncached argmax; a beam gives the hypothesis of
    the highest total log-probability among those that end, or of all where none ends.
    """
    if beam < 1 or max_length < 1:
        raise InputError(f"beam {beam}, max_length {max_length}: both are at least 1")
    was_training = model.training
    model.eval()
    try:
        return (
            _greedy(model, source, max_length)
            if beam == 1
            else _beam(model, source, max_length, beam)
        )
    finally:
        model.train(was_training)


class Rows:
    """What is being written: the ids so far, start symbol first, and which rows have ended."""

    def __init__(self, model: Any, memory: Any, batch: int, device: torch.device):
        self.model, self.memory, self.cache = model, memory, None
        self.ids = torch.full((batch, 1), model.config.sos, device=device)
        self.done = torch.zeros(batch, dtype=torch.bool, device=device)
        self.exact = True  # whether the cache equals a fresh pass: not once a live row wrote a pad

    def following(self) -> Float[Tensor, "row vocab"]:
        """The logits of the symbol behind each row."""
        if self.exact:
            logits, self.cache = self.model.decode(self.ids[:, -1:], self.memory, self.cache)
        else:
            logits, _ = self.model.decode(self.ids, self.memory)
        return logits[:, -1]

    def pick(self, rows: Int[Tensor, " row"]) -> None:
        """Go on from these rows, in this order (their memories must be alike)."""
        self.ids, self.done = self.ids[rows], self.done[rows]
        self.cache = self.cache and self.cache[rows]

    def write(self, symbols: Int[Tensor, " row"]) -> Bool[Tensor, ""]:
        """Append a symbol to every row (a pad to those that have ended); whether all have ended."""
        ids = self.model.config
        symbols = symbols.masked_fill(self.done, ids.pad)
        self.ids = torch.cat([self.ids, symbols[:, None]], 1)
        self.exact = self.exact and not bool(((symbols == ids.pad) & ~self.done).any())
        self.done = self.done | (symbols == ids.eos)
        return self.done.all()


def _greedy(model: Any, source: Tensor, max_length: int) -> Tensor:
    rows = Rows(model, model.encode(source), len(source), source.device)
    for _ in range(max_length):
        if rows.write(rows.following().argmax(-1)):
            break
    return rows.ids[:, 1:]


def _beam(model: Any, source: Tensor, max_length: int, beam: int) -> Tensor:
    pad, batch = model.config.pad, len(source)
    first = torch.arange(batch, device=source.device)[:, None] * beam
    memory = model.encode(source)[first.expand(-1, beam).flatten() // beam]
    rows = Rows(model, memory, batch * beam, source.device)
    score = torch.full((batch, beam), -torch.inf, device=source.device)
    score[:, 0] = 0.0
    for _ in range(max_length):
        step = rows.following().log_softmax(-1)
        stay = torch.full_like(step[0], -torch.inf)
        stay[pad] = 0.0
        step = torch.where(rows.done[:, None], stay, step).unflatten(0, (batch, beam))
        score, best = (score[..., None] + step).flatten(1).topk(beam)
        rows.pick((first + best // step.shape[-1]).flatten())
        if rows.write((best % step.shape[-1]).flatten()):
            break
    ended = rows.done.unflatten(0, (batch, beam))
    score = score.masked_fill(~ended & ended.any(1, keepdim=True), -torch.inf)
    return rows.ids[(first[:, 0] + score.argmax(1)), 1:]
