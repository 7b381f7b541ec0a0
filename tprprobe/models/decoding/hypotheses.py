"""What decoding asks of a model; rows written symbol by symbol, and the symbols that may follow."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from tprprobe.console import note
from tprprobe.site.site import Site

note_once = cache(note)
WORTH_DROPPING = 0.25  # the share of ended samples from which copying the others' cache pays


class SequenceModel(nn.Module, ABC):
    """A model that encodes a source and decodes a target, which begins with a start symbol."""

    config: Any
    name: str
    pads_look_ahead: bool = False  # a written pad reads what follows, which no cache can hold
    shares_memory: bool = False  # a row of its memory may serve several rows, a beam's

    @abstractmethod
    def encode(self, source: Tensor) -> Any:
        """The memory of sources, ids [batch, seq] or image features; its rows can be picked."""

    @abstractmethod
    def decode(self, target: Tensor, memory: Any, cache: Any = None) -> tuple[Tensor, Any]:
        """Logits [batch, seq, vocab] of the symbol after every symbol of ``target``, which continues the ``cache``; and the new cache."""

    def room(self, source: Shaped[Tensor, "batch ..."]) -> Int[Tensor, " batch"] | None:
        """How many symbols the model's window leaves behind every padded source, 1 or more; None without a window."""
        del source


@dataclass(frozen=True)
class Rules:
    """Limits of length, in symbols after the start symbol, and the size of n-grams not to be repeated."""

    max_length: int
    min_length: int = 0
    no_repeat: int = 0


class BeamState:
    """Rows of ids, ``beam`` hypotheses a sample; while a site is read none is dropped, so that what is read has a row for each."""

    def __init__(
        self, model: SequenceModel, source: Shaped[Tensor, "batch seq"], beam: int, rules: Rules
    ):
        n, device = len(source) * beam, source.device
        self.model, self.beam = model, beam
        self.is_read = any(site.is_read for site in model.modules() if isinstance(site, Site))
        self.memory = model.encode(source)
        if beam > 1 and (self.is_read or not model.shares_memory):
            self.memory = self.memory[torch.arange(n, device=device) // beam]
        self.cache = None
        self.ids = torch.full((n, 1), model.config.sos, device=device)
        self.exact = True  # whether the cache equals a fresh pass
        self.room, self.rules = self._fit(source, rules)
        self._ends = torch.tensor(getattr(model.config, "ends", (model.config.eos,)), device=device)

    def _fit(self, source: Tensor, rules: Rules) -> tuple[Int[Tensor, " sample"], Rules]:
        """The most symbols behind every source, and the rules for the longest; sites need one length of all."""
        limits = torch.full((len(source),), rules.max_length, device=source.device)
        if (room := self.model.room(source)) is None or bool((room >= limits).all()):
            return limits, rules
        short = room.amin().expand_as(room) if self.is_read else room.minimum(limits)
        note_once(f"{self.model.name}: what it writes behind long texts ends where its window does")
        longest = int(short.max())
        shortest = min(rules.min_length, longest - 1)
        return short, replace(rules, max_length=longest, min_length=shortest)

    def following(self) -> Float[Tensor, "row vocab"]:
        if self.exact:
            logits, self.cache = self.model.decode(self.ids[:, -1:], self.memory, self.cache)
        else:
            logits, _ = self.model.decode(self.ids, self.memory)
        return logits[:, -1]

    def allowed(self, scores: Float[Tensor, "row vocab"]) -> Float[Tensor, "row vocab"]:
        """The scores, with −∞ for symbols that the rules forbid."""
        length, n = self.ids.shape[1], self.rules.no_repeat
        if length <= self.rules.min_length:
            scores[:, self._ends] = -torch.inf
        if length == 1 and (forced := getattr(self.model.config, "forced", None)) is not None:
            is_other = torch.arange(scores.shape[1], device=scores.device) != forced
            scores = scores.masked_fill(is_other, -torch.inf)
        if 0 < n <= length:
            windows = self.ids.unfold(1, n, 1)  # [row, window, n]
            prefix = self.ids[:, None, length + 1 - n :]
            row, window = (windows[..., :-1] == prefix).all(-1).nonzero(as_tuple=True)
            scores[row, windows[row, window, -1]] = -torch.inf
        return scores

    def ends(self, symbols: Int[Tensor, "..."]) -> Bool[Tensor, "..."]:
        return torch.isin(symbols, self._ends)

    def write(self, symbols: Int[Tensor, " row"], live: Bool[Tensor, " row"]) -> None:
        """Appends a symbol to every row; on rows that are not live any symbol may follow."""
        self.ids = torch.cat([self.ids, symbols[:, None]], 1)
        if self.model.pads_look_ahead:
            wrote_pad = (symbols == self.model.config.pad) & live
            self.exact = self.exact and not bool(wrote_pad.any())

    def pick(self, rows: Int[Tensor, " row"]) -> None:
        """Continues with these rows, in this order: ``beam`` of one sample, then of the next."""
        if len(rows) < len(self.ids) and self.model.shares_memory:  # others' caches hold all
            self.memory = self.memory[rows[:: self.beam] // self.beam]
        self.ids, self.cache = self.ids[rows], self.cache and self.cache[rows]

    def drop(self, ended: Bool[Tensor, " sample"], must: bool) -> Int[Tensor, " kept"] | None:
        """Drops these samples, if it pays or one of them has no room; does nothing if none is dropped."""
        if self.is_read or (ended.float().mean() < WORTH_DROPPING and not must):
            return None
        live_rows = (~ended).nonzero()[:, 0]
        hypotheses = torch.arange(self.beam, device=live_rows.device)
        self.pick((live_rows[:, None] * self.beam + hypotheses).flatten())
        return live_rows
