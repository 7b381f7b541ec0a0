"""Beam search: ended hypotheses leave the beam, which always holds live ones.

Source: transformers' ``generate`` (``_beam_search`` of version 5), of which this gives the tokens.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.models.decoding.hypotheses import Rows

NOTHING = -1e9  # the score of what does not count


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
    """The best hypothesis of every sample, behind its start symbol, with pads behind it."""
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
        ends = rows.ends(symbols) | (length == most)
        ids = torch.cat([rows.ids[parents][..., 1:], symbols[..., None]], -1)
        among_the_best = torch.arange(2 * beam, device=device) < beam
        ended.admit(at, ids, total / length**length_penalty, ends & among_the_best & ~done)
        score, live = (total + ends * NOTHING).topk(beam)
        rows.pick(parents.gather(1, live).flatten())
        rows.write(symbols.gather(1, live).flatten(), ~done.expand(-1, beam).flatten())
        longest = most if early_stopping == "never" and length_penalty > 0 else length
        worse = score[:, :1] / longest**length_penalty <= ended.score[at].amin(1, keepdim=True)
        full = ended.found[at].all(1, keepdim=True)
        done = done | (full & (worse | (early_stopping is True)))
        if done.all():
            break
        if (kept := rows.drop(done[:, 0])) is not None:
            at, done, score = at[kept], done[kept], score[kept]
    return ended.ids[:, 0, : rows.ids.shape[1] - 1]
