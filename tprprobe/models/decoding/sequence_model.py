"""What decoding asks of a model."""

from abc import ABC, abstractmethod
from typing import Any

from jaxtyping import Int, Shaped
from torch import Tensor, nn


class SequenceModel(nn.Module, ABC):
    """A model that encodes a source and decodes a target, which begins with a start symbol."""

    config: Any
    name: str
    pads_look_ahead: bool = False  # a written pad reads what follows, which no cache can hold
    shares_memory: bool = False  # a row of its memory may serve several rows, a beam's

    @abstractmethod
    def encode(self, source: Any) -> Any:
        """The memory of sources, ids [batch, seq] or image features; its rows can be picked."""

    @abstractmethod
    def decode(self, target: Any, memory: Any, cache: Any = None) -> tuple[Tensor, Any]:
        """Logits [batch, seq, vocab] of the symbol after every symbol of ``target``, which continues the ``cache``; and the new cache."""

    def room(self, source: Shaped[Tensor, "batch ..."]) -> Int[Tensor, " batch"] | None:
        """How many symbols the model's window leaves behind every padded source, 1 or more; None without a window."""
        del source
