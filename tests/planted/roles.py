"""A model with weights by hand whose answers to `a/b` are read off its bindings: roles have known use.

Head 0 binds every digit to (numerator or denominator, place); head 1 has roles that nothing reads.
"""

from fractions import Fraction
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from tprpapers.architectures.caches import Memory
from tprprobe.data.vocabularies.characters import characters
from tprprobe.models.protocol import Model
from tprprobe.site.site import per_head, per_position

PLACES, DIGITS = 3, 10


class Reader(nn.Module):
    """filler: which digit; role: which side of '/', which place; binding: their tensor product."""

    def __init__(self, digit_of: Tensor):
        super().__init__()
        self.digit_of = digit_of
        self.role, self.filler, self.binding = per_head(2 * PLACES), per_head(DIGITS), per_head(60)

    def forward(self, ids: Tensor, bar: int, pad: int) -> Tensor:
        digits, roles = self.digit_of[ids], torch.zeros(*ids.shape, dtype=torch.long)
        for row, role in zip(ids.tolist(), roles, strict=True):
            bar_index = row.index(bar)
            end = len([i for i in row if i != pad]) - 1
            for i in range(1, bar_index):
                role[i] = bar_index - 1 - i
            for i in range(bar_index + 1, end):
                role[i] = PLACES + end - 1 - i
        eye = torch.eye(2 * PLACES)[roles]
        role = self.role(torch.stack([eye, eye.flip(-1)], 2))
        filler = torch.eye(DIGITS)[digits.clamp(min=0)] * (digits >= 0)[..., None]
        filler = self.filler(torch.stack([filler, filler], 2))
        return self.binding((filler[..., :, None] * role[..., None, :]).flatten(-2))


class Layer(nn.Module):
    def __init__(self, digit_of: Tensor):
        super().__init__()
        self.self, self.hidden = Reader(digit_of), per_position(60)

    def forward(self, ids: Tensor, bar: int, pad: int) -> Tensor:
        return self.hidden(self.self(ids, bar, pad)[:, :, 0])


class PlantedRoles(Model):
    """Answers `a/b`; the decoder writes a fraction whose numbers it reads off head 0's bindings."""

    def __init__(self):
        super().__init__()
        self.vocabulary, self.name = characters(), "planted"
        self.architecture, self.n_heads = "planted", 2
        vocabulary = self.vocabulary
        self.config = SimpleNamespace(
            pad=vocabulary.pad, sos=vocabulary.sos, eos=vocabulary.eos, vocab_size=len(vocabulary)
        )
        digit_of = torch.full((len(vocabulary),), -1)
        for digit in range(DIGITS):
            digit_of[vocabulary.encode(str(digit))[0]] = digit
        self.bar = vocabulary.encode("/")[0]
        self.encoder = nn.ModuleList([Layer(digit_of)])
        self.unit = nn.Parameter(torch.ones(()))

    def encode(self, source: Tensor) -> Memory:
        states = self.encoder[0](source, self.bar, self.config.pad)
        return Memory(states, (source != self.config.pad)[:, None, None, :])

    def decode(self, target: Tensor, memory: Memory, cache: None = None) -> tuple[Tensor, None]:
        bound = memory.states.sum(1).unflatten(-1, (DIGITS, 2, PLACES))
        value = torch.einsum("bdsp,d,p->bs", bound, torch.arange(10.0), 10.0 ** torch.arange(3))
        logits = torch.zeros(*target.shape, self.config.vocab_size)
        times = len(target) // len(value)
        for row, (a, b) in enumerate(value.round().long().repeat_interleave(times, 0).tolist()):
            text = str(Fraction(a, b)) if b else ""
            ids = [*self.vocabulary.encode(text), self.config.eos][: target.shape[1]]
            logits[row, torch.arange(len(ids)), ids] = 50.0
        return logits * self.unit, None
