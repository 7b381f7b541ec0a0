"""Greedy and beam decoding with a key/value cache, for any model with ``encode`` and ``decode``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from tprprobe.errors import InputError
from tprprobe.models.decoding.hypotheses import Rows, Rules
from tprprobe.models.decoding.sequence_model import SequenceModel

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

    Greedy (``beam=1``) gives the tokens of the uncached argmax. A beam gives the hypothesis of the
    highest (sum of log-probabilities) / length ** ``length_penalty``, where length counts the
    symbols written, the end symbol included; at ``max_length`` hypotheses that have not ended
    count as they are. Every option means what it means in Hugging Face's ``generate``, and gives
    its tokens.

    A model's window ends what is written, too; a line says so. A decoder's first symbol may be forced.

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
        raise InputError(
            f"min_length {min_length}, no_repeat {no_repeat}: from 0, and less than max_length"
        )
    if seed is not None and (beam > 1 or temperature <= 0):
        raise InputError(f"beam {beam}, temperature {temperature}: draw with beam 1, above 0")
    was_training = model.training
    model.eval()
    try:
        rows = Rows(model, source, beam, Rules(max_length, min_length, no_repeat))
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


def _write(rows: Rows, choose: Callable[[Tensor], Tensor]) -> Tensor:
    ids, n = rows.model.config, len(rows.ids)
    at, done = torch.arange(n, device=rows.ids.device), torch.zeros_like(rows.ids[:, 0]).bool()
    out = torch.full((n, rows.rules.max_length), ids.pad, device=rows.ids.device)
    for length in range(rows.rules.max_length):
        symbols = choose(rows.allowed(rows.following())).masked_fill(done, ids.pad)
        out[at, length] = symbols
        rows.write(symbols, live=~done)
        full = rows.room[at] <= length + 1
        done = done | rows.ends(symbols) | full
        if done.all():
            return out[:, : length + 1]
        if (kept := rows.drop(done, bool(full.any()))) is not None:
            at, done = at[kept], done[kept]
    return out


@dataclass
class Ended:
    """The best ended hypotheses of every sample, best first; those not ``found`` are empty."""

    ids: Int[Tensor, "sample beam length"]
    score: Float[Tensor, "sample beam"]
    found: Bool[Tensor, "sample beam"]
    pad: int

    def admit(self, at: Tensor, ids: Tensor, score: Tensor, ends: Tensor) -> None:
        """Adds the candidates that end, [sample, candidate, …], to those of samples ``at``."""
        longer = F.pad(ids, (0, self.ids.shape[2] - ids.shape[2]), value=self.pad)
        merged = torch.cat([self.score[at], score.masked_fill(~ends, NOTHING)], 1)
        self.score[at], best = merged.topk(self.score.shape[1])
        self.found[at] = torch.cat([self.found[at], ends], 1).gather(1, best)
        sample = torch.arange(len(at), device=at.device)[:, None]
        self.ids[at] = torch.cat([self.ids[at], longer], 1)[sample, best]


def beam_search(
    rows: Rows, beam: int, length_penalty: float, early_stopping: bool | Literal["never"]
) -> Int[Tensor, "sample out"]:
    """The best hypothesis of every sample, behind its start symbol, with pads behind it. Ended hypotheses leave the
    beam, which always holds live ones.

    Source: transformers' ``generate`` (``_beam_search`` of version 5), of which this gives the tokens.
    """
    config, most, device = rows.model.config, rows.rules.max_length, rows.ids.device
    batch = len(rows.ids) // beam
    at, done = torch.arange(batch, device=device), torch.zeros(batch, 1, device=device).bool()
    score = torch.tensor([0.0] + [NOTHING] * (beam - 1), device=device).repeat(batch, 1)
    ended = Ended(
        torch.full((batch, beam, most), config.pad, device=device),
        torch.full((batch, beam), NOTHING, device=device),
        torch.zeros(batch, beam, device=device).bool(),
        config.pad,
    )
    for length in range(1, most + 1):
        logs = rows.allowed(rows.following().float().log_softmax(-1))
        total = (logs.unflatten(0, (-1, beam)) + score[..., None]).flatten(1)
        total, best = total.topk(2 * beam)  # candidates: beam of them at least do not end
        symbols = best % logs.shape[1]
        parents = best // logs.shape[1] + torch.arange(len(at), device=device)[:, None] * beam
        full = rows.room[at, None] <= length
        ends = rows.ends(symbols) | (length == most) | full
        ids = torch.cat([rows.ids[parents][..., 1:], symbols[..., None]], -1)
        among_the_best = torch.arange(2 * beam, device=device) < beam
        ended.admit(at, ids, total / length**length_penalty, ends & among_the_best & ~done)
        score, live = (total + ends * NOTHING).topk(beam)
        rows.pick(parents.gather(1, live).flatten())
        rows.write(symbols.gather(1, live).flatten(), ~done.expand(-1, beam).flatten())
        longest = most if early_stopping == "never" and length_penalty > 0 else length
        worse = score[:, :1] / longest**length_penalty <= ended.score[at].amin(1, keepdim=True)
        enough = ended.found[at].all(1, keepdim=True)
        done = done | (enough & (worse | (early_stopping is True))) | full
        if done.all():
            break
        if (kept := rows.drop(done[:, 0], bool(full.any()))) is not None:
            at, done, score = at[kept], done[kept], score[kept]
    return ended.ids[:, 0, : rows.ids.shape[1] - 1]
