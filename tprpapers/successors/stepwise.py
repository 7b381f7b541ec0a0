"""Models that read one symbol a step and carry a tensor-product memory from step to step.

A pass has two loops: the recurrent state (site ``hidden``), and then the memory (sites ``binding`` and ``tpr``), whose roles and
fillers are computed between them for all steps. Sites inside a loop are passed once a step, so an edit at one step goes on to all
later ones.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprprobe.models.protocol import Model
from tprprobe.site.site import per_position

K = TypeVar("K")
S = TypeVar("S", bound="StepState")


@dataclass(frozen=True)
class StepState:
    """What goes on to the next step: tensors with a row for every sample."""

    tpr: Float[Tensor, "batch d_tpr"]

    def __getitem__(self: S, rows: Int[Tensor, " row"]) -> S:
        return replace(self, **{name: tensor[rows] for name, tensor in vars(self).items()})

    @staticmethod
    def join(states: Sequence[S]) -> S:
        """The rows of all states."""
        names = [field.name for field in fields(states[0])]
        joined = {name: torch.cat([getattr(state, name) for state in states]) for name in names}
        return replace(states[0], **joined)


class StepSites(nn.Module):
    """The sites of a step: what is bound (``role``, ``filler``), the change of the memory (``binding``), the memory
    after it (``tpr``), and the recurrent state (``hidden``); where something is read, also its ``unbinding``.
    """

    def __init__(self, widths: dict[str, int]):
        super().__init__()
        for name, width in widths.items():
            self.add_module(name, per_position(width))


class StepModel(Model[K, S, S], Generic[K, S]):
    """A model whose encoder and decoder are one recurrence: it reads a source, and goes on with its own answer."""

    encoder: nn.ModuleList
    decoder: nn.ModuleList

    def add_sites(self, **widths: int) -> None:
        """Gives encoder and decoder their sites; the encoder unbinds nothing."""
        encoder_widths = {name: width for name, width in widths.items() if name != "unbinding"}
        self.encoder = nn.ModuleList([StepSites(encoder_widths)])
        self.decoder = nn.ModuleList([StepSites(widths)])

    @abstractmethod
    def start(self, source: Int[Tensor, "batch seq"]) -> S:
        """The state before the first symbol."""

    @abstractmethod
    def read_symbols(
        self, ids: Int[Tensor, "batch seq"], state: S, sites: Any
    ) -> tuple[Float[Tensor, "batch seq d_hidden"], Float[Tensor, "batch seq d_tpr"], S]:
        """The recurrent states and memories after every symbol, and what goes on; pads change nothing."""

    @abstractmethod
    def answer(
        self,
        hidden: Float[Tensor, "batch seq d_hidden"],
        memories: Float[Tensor, "batch seq d_tpr"],
        state: S,
        sites: Any,
    ) -> Float[Tensor, "batch seq vocab"]:
        """The logits of the next symbol after every step, unbound from the memory."""

    def encode(self, source: Int[Tensor, "batch seq"]) -> S:
        """The state after the last symbol of every source."""
        return self.read_symbols(source, self.start(source), self.encoder[0])[2]

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: S, cache: S | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], S]:
        """Logits and the state after ``target``; with a cache, ``target`` continues from it."""
        rows = torch.arange(len(target), device=target.device)  # several may share a memory
        state = cache if cache is not None else memory[rows // (len(target) // len(memory.tpr))]
        hidden, memories, after = self.read_symbols(target, state, self.decoder[0])
        return self.answer(hidden, memories, after, self.decoder[0]), after


def accumulate(
    memory: Float[Tensor, "batch d_tpr"],
    n_steps: int,
    change: Callable[[int, Tensor], Tensor],
    limit: Callable[[Tensor], Tensor],
    sites: Any,
) -> Float[Tensor, "batch seq d_tpr"]:
    """The memories after all steps, each changed by what ``change(step, memory)`` gives."""
    memories = []
    for step in range(n_steps):
        memory = sites.tpr(limit(memory + sites.binding(change(step, memory))))
        memories.append(memory)
    return torch.stack(memories, 1)


def recall(
    memory: Float[Tensor, "*batch d_tpr"], key: Float[Tensor, "*batch d_key"]
) -> Float[Tensor, "*batch d_role"]:
    """F · key, of a memory whose axes are flattened."""
    return (key[..., None, :] @ memory.unflatten(-1, (key.shape[-1], -1)))[..., 0, :]


def flat_outer(
    u: Float[Tensor, "*batch m"], v: Float[Tensor, "*batch n"]
) -> Float[Tensor, "*batch m_n"]:
    """u ⊗ v, its axes flattened."""
    return (u[..., :, None] * v[..., None, :]).flatten(-2)
