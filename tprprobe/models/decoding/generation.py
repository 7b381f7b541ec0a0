"""Greedy and beam decoding with a key/value cache, for any model with ``encode`` and ``decode``."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from tprprobe.console import note
from tprprobe.errors import InputError
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


class BeamState:
    """Rows of ids, ``beam`` hypotheses a sample; while a site is read none is dropped, so that what is read has a row for each."""

    def __init__(
        self,
        model: SequenceModel,
        source: Shaped[Tensor, "batch seq"],
        beam: int,
        lengths: tuple[int, int],
        no_repeat: int,
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
        self.min_length, self.max_length = lengths
        self.room, self.no_repeat = self._fit(source), no_repeat
        self._ends = torch.tensor(getattr(model.config, "ends", (model.config.eos,)), device=device)

    def _fit(self, source: Tensor) -> Int[Tensor, " sample"]:
        """The most symbols behind every source, to the longest of which lengths are cut; sites need one length of all."""
        limits = torch.full((len(source),), self.max_length, device=source.device)
        if (room := self.model.room(source)) is None or bool((room >= limits).all()):
            return limits
        short = room.amin().expand_as(room) if self.is_read else room.minimum(limits)
        note_once(f"{self.model.name}: what it writes behind long texts ends where its window does")
        self.max_length = int(short.max())
        self.min_length = min(self.min_length, self.max_length - 1)
        return short

    def following(self) -> Float[Tensor, "row vocab"]:
        if self.exact:
            logits, self.cache = self.model.decode(self.ids[:, -1:], self.memory, self.cache)
        else:
            logits, _ = self.model.decode(self.ids, self.memory)
        return logits[:, -1]

    def allowed(self, scores: Float[Tensor, "row vocab"]) -> Float[Tensor, "row vocab"]:
        """The scores, with −∞ for symbols that the rules forbid."""
        length, n = self.ids.shape[1], self.no_repeat
        if length <= self.min_length:
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


NOTHING = -1e9  # the score of what does not count


@torch.no_grad()
def generate(
    model: SequenceModel,
    source: Shaped[Tensor, "batch seq"],
    max_length: int = 32,
    beam: int = 1,
    *,
    min_length: int = 0,
    no_repeat: int = 0,
    length_penalty: float = 1.0,
    early_stopping: bool | Literal["never"] = False,
    seed: int | None = None,
    temperature: float = 1.0,
) -> Int[Tensor, "batch out"]:
    """The decoded ids after the start symbol, up to and with the end symbol, then pads.

    A beam gives the hypothesis of the highest (sum of log-probabilities) / length ** ``length_penalty``, where length
    counts the symbols written, the end symbol included; at ``max_length`` hypotheses that have not ended count as they
    are. Every option means what it means in Hugging Face's ``generate``, and gives its tokens.

    Args:
        max_length: most symbols written (there: ``max_new_tokens``).
        beam: hypotheses kept a sample (``num_beams``).
        min_length: fewest symbols before the end symbol (``min_new_tokens``).
        no_repeat: no n-gram of this size is written twice, the start symbol counted; 0: any
            may be (``no_repeat_ngram_size``).
        length_penalty: above 0 longer hypotheses gain, below shorter ones; 0: plain sums.
        early_stopping: when a sample that has ``beam`` ended hypotheses is finished. True: at
            once; False: when the best live one, scored as if it ended now, is no better than the
            worst ended one; "never": when no live one could become better.
        seed: symbols are drawn from the model's distribution by a generator of this seed; default: the most
            probable is written.
        temperature: above 0; logits are divided by it before they are drawn from.

    While a site is read or edited, every row is computed at every step, those that have ended
    too; else rows that have ended are dropped.
    """
    if beam < 1 or max_length < 1:
        raise InputError(f"beam {beam}, max_length {max_length}: both are at least 1")
    if not 0 <= min_length < max_length or no_repeat < 0:
        limits = f"min_length {min_length}, no_repeat {no_repeat}"
        raise InputError(f"{limits}: from 0, and less than max_length")
    if seed is not None and (beam > 1 or temperature <= 0):
        raise InputError(f"beam {beam}, temperature {temperature}: draw with beam 1, above 0")
    was_training = model.training
    model.eval()
    try:
        rows = BeamState(model, source, beam, (min_length, max_length), no_repeat)
        if beam == 1:
            greedy = partial(torch.argmax, dim=-1)
            return _write(rows, greedy if seed is None else _drawn(seed, temperature))
        return beam_search(rows, beam, length_penalty, early_stopping)
    finally:
        model.train(was_training)


def _drawn(seed: int, temperature: float) -> Callable[[Tensor], Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(scores: Tensor) -> Tensor:
        shares = (scores.float() / temperature).softmax(-1).cpu()
        return shares.multinomial(1, generator=generator)[:, 0].to(scores.device)

    return draw


def _write(rows: BeamState, choose: Callable[[Tensor], Tensor]) -> Tensor:
    ids, n = rows.model.config, len(rows.ids)
    row_index = torch.arange(n, device=rows.ids.device)
    is_done = torch.zeros_like(row_index).bool()
    out = torch.full((n, rows.max_length), ids.pad, device=rows.ids.device)
    for length in range(rows.max_length):
        symbols = choose(rows.allowed(rows.following())).masked_fill(is_done, ids.pad)
        out[row_index, length] = symbols
        rows.write(symbols, live=~is_done)
        full = rows.room[row_index] <= length + 1
        is_done = is_done | rows.ends(symbols) | full
        if is_done.all():
            return out[:, : length + 1]
        if (live_rows := rows.drop(is_done, bool(full.any()))) is not None:
            row_index, is_done = row_index[live_rows], is_done[live_rows]
    return out


@dataclass
class FinishedBeams:
    """The best ended hypotheses of every sample, best first; those not ``is_finished`` are empty."""

    ids: Int[Tensor, "sample beam length"]
    score: Float[Tensor, "sample beam"]
    is_finished: Bool[Tensor, "sample beam"]
    pad: int

    def admit(self, samples: Tensor, ids: Tensor, score: Tensor, ends: Tensor) -> None:
        """Adds the candidates that end, [sample, candidate, …], to those of samples ``at``."""
        longer = F.pad(ids, (0, self.ids.shape[2] - ids.shape[2]), value=self.pad)
        merged = torch.cat([self.score[samples], score.masked_fill(~ends, NOTHING)], 1)
        self.score[samples], best = merged.topk(self.score.shape[1])
        self.is_finished[samples] = torch.cat([self.is_finished[samples], ends], 1).gather(1, best)
        sample = torch.arange(len(samples), device=samples.device)[:, None]
        self.ids[samples] = torch.cat([self.ids[samples], longer], 1)[sample, best]


def beam_search(
    rows: BeamState, beam: int, length_penalty: float, early_stopping: bool | Literal["never"]
) -> Int[Tensor, "sample out"]:
    """The best hypothesis of every sample. Source: transformers' ``_beam_search`` (version 5), of which this gives the tokens."""
    config, limit, device = rows.model.config, rows.max_length, rows.ids.device
    batch = len(rows.ids) // beam
    sample_index = torch.arange(batch, device=device)
    is_done = torch.zeros(batch, 1, device=device).bool()
    score = torch.tensor([0.0] + [NOTHING] * (beam - 1), device=device).repeat(batch, 1)
    ended = FinishedBeams(
        torch.full((batch, beam, limit), config.pad, device=device),
        torch.full((batch, beam), NOTHING, device=device),
        torch.zeros(batch, beam, device=device).bool(),
        config.pad,
    )
    for length in range(1, limit + 1):
        logs = rows.allowed(rows.following().float().log_softmax(-1))
        total = (logs.unflatten(0, (-1, beam)) + score[..., None]).flatten(1)
        total, best = total.topk(2 * beam)  # candidates: beam of them at least do not end
        symbols = best % logs.shape[1]
        first_rows = torch.arange(len(sample_index), device=device)[:, None] * beam
        parents = best // logs.shape[1] + first_rows
        full = rows.room[sample_index, None] <= length
        ends = rows.ends(symbols) | (length == limit) | full
        ids = torch.cat([rows.ids[parents][..., 1:], symbols[..., None]], -1)
        among_the_best = torch.arange(2 * beam, device=device) < beam
        is_ended = ends & among_the_best & ~is_done
        ended.admit(sample_index, ids, total / length**length_penalty, is_ended)
        score, live = (total + ends * NOTHING).topk(beam)
        rows.pick(parents.gather(1, live).flatten())
        rows.write(symbols.gather(1, live).flatten(), ~is_done.expand(-1, beam).flatten())
        longest = limit if early_stopping == "never" and length_penalty > 0 else length
        worst = ended.score[sample_index].amin(1, keepdim=True)
        worse = score[:, :1] / longest**length_penalty <= worst
        enough = ended.is_finished[sample_index].all(1, keepdim=True)
        is_done = is_done | (enough & (worse | (early_stopping is True))) | full
        if is_done.all():
            break
        if (live_samples := rows.drop(is_done[:, 0], bool(full.any()))) is not None:
            sample_index, is_done = sample_index[live_samples], is_done[live_samples]
            score = score[live_samples]
    return ended.ids[:, 0, : rows.ids.shape[1] - 1]
