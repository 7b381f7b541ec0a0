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
    joins_memory: bool = False  # its memory is joined of parts, and rows of it can be left out

    @abstractmethod
    def encode(self, source: Any) -> Any:
        """The memory of sources, which the decoder reads.

        Args:
            source: Ids [batch, seq], or image features.

        Returns:
            The memory; rows of it can be picked.
        """

    @abstractmethod
    def decode(self, target: Any, memory: Any, cache: Any = None) -> tuple[Tensor, Any]:
        """The logits of the symbol after every symbol of a target.

        Args:
            target: Ids [batch, seq], the decoder's input.
            memory: What :meth:`encode` returned.
            cache: What an earlier call returned, which ``target`` continues; default: it begins here.

        Returns:
            Logits [batch, seq, vocab], and the cache.
        """

    def room(self, source: Shaped[Tensor, "batch ..."]) -> Int[Tensor, " batch"] | None:
        """How many symbols the window of the model leaves behind every source; None where there is no such window.

        Args:
            source: Ids, padded with ``config.pad``.

        Returns:
            Numbers of symbols, from 1 on: the one behind the last that is read.
        """
        del source
