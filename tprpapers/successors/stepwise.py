"""Models that read one symbol a step and carry a tensor-product memory from step to step.

Sites are passed once a step, so an edit at one step goes on to all later ones.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tprprobe.models.protocol import Model
from tprprobe.site.site import per_position

K = TypeVar("K")
S = TypeVar("S", bound="StepState")


@dataclass(frozen=True)
class StepState:
    """What goes on to the next step: tensors with a row for every sample."""

    def __getitem__(self: S, rows: Int[Tensor, " row"]) -> S:
        return replace(self, **{name: tensor[rows] for name, tensor in vars(self).items()})

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    @staticmethod
    def join(parts: Sequence[S]) -> S:
        """The rows of all states."""
        names = [field.name for field in fields(parts[0])]
        joined = {name: torch.cat([getattr(part, name) for part in parts]) for name in names}
        return replace(parts[0], **joined)

    def choose(self: S, is_new: Bool[Tensor, " batch"], previous: S) -> S:
        """This state where a symbol was read, the previous one where there was a pad."""
        if is_new.all():
            return self
        chosen = {
            name: torch.where(is_new.view(-1, *[1] * (tensor.ndim - 1)), tensor, old)
            for (name, tensor), old in zip(
                vars(self).items(), vars(previous).values(), strict=True
            )
        }
        return replace(self, **chosen)


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
        written = {name: width for name, width in widths.items() if name != "unbinding"}
        self.encoder = nn.ModuleList([StepSites(written)])
        self.decoder = nn.ModuleList([StepSites(widths)])

    @abstractmethod
    def start(self, source: Int[Tensor, "batch seq"]) -> S:
        """The state before the first symbol."""

    @abstractmethod
    def read_symbol(self, symbols: Int[Tensor, " batch"], state: S, sites: Any) -> S:
        """The state after one more symbol."""

    @abstractmethod
    def answer(self, state: S, sites: Any) -> Float[Tensor, "batch vocab"]:
        """The logits of the next symbol, unbound from the memory."""

    def encode(self, source: Int[Tensor, "batch seq"]) -> S:
        """The state after the last symbol of every source."""
        state, is_symbol = self.start(source), source != self.config.pad  # pyright: ignore
        for step in range(source.shape[1]):
            after = self.read_symbol(source[:, step], state, self.encoder[0])
            state = after.choose(is_symbol[:, step], state)
        return state

    def decode(
        self, target: Int[Tensor, "batch seq"], memory: S, cache: S | None = None
    ) -> tuple[Float[Tensor, "batch seq vocab"], S]:
        """Logits and the state after ``target``; with a cache, ``target`` continues from it."""
        rows = torch.arange(len(target), device=target.device)  # several may share a memory
        state = cache if cache is not None else memory[rows // (len(target) // len(memory))]
        logits = []
        for step in range(target.shape[1]):
            state = self.read_symbol(target[:, step], state, self.decoder[0])
            logits.append(self.answer(state, self.decoder[0]))
        return torch.stack(logits, 1), state
