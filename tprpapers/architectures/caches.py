"""Caches of a decoder: the memory, and its layers' keys and values, computed once."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

ROOM = 16  # positions by which buffers grow

Order = Int[Tensor, " row"]


@dataclass
class Memory:
    """The decoder's view of the source: the encoder's output, and which keys are real."""

    states: Float[Tensor, "batch seq d_model"]
    mask: Bool[Tensor, "batch 1 1 seq"]

    def __getitem__(self, rows: Order) -> "Memory":
        return Memory(self.states[rows], self.mask[rows])


class KeyValues:
    """Keys and values of one attention, each [batch, seq, head, d_head].

    Later ones are written in place behind the earlier ones: a cache that two continuations start
    from must be copied (``cache[rows]``), and gradients do not flow through it.
    """

    def __init__(self, length: int = 0, buffers: tuple[Tensor, ...] = ()):
        self.length, self._buffers = length, buffers

    @property
    def pair(self) -> tuple[Tensor, ...]:
        return tuple(buffer[:, : self.length] for buffer in self._buffers)

    def extend(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        start, self.length = self.length, self.length + tensors[0].shape[1]
        if not start:
            self._buffers = tensors
            return tensors
        if self.length > self._buffers[0].shape[1]:
            self._buffers = tuple(
                F.pad(b, (0, 0, 0, 0, 0, self.length + ROOM - b.shape[1])) for b in self._buffers
            )
        for buffer, tensor in zip(self._buffers, tensors, strict=True):
            buffer[:, start : self.length] = tensor
        return self.pair

    def __getitem__(self, rows: Order) -> "KeyValues":
        return KeyValues(self.length, tuple(b.index_select(0, rows) for b in self._buffers))


class Cache:
    """Keys and values of the positions decoded so far and of the memory, for every layer.

    A memory's row may serve several rows that stand behind each other (the hypotheses of a beam).
    """

    def __init__(self, decoded: list[KeyValues], memory: list[KeyValues]):
        self.own, self.memory = decoded, memory

    @classmethod
    def empty(cls, n_layers: int) -> "Cache":
        return cls([KeyValues() for _ in range(n_layers)], [KeyValues() for _ in range(n_layers)])

    @property
    def length(self) -> int:
        return self.own[0].length

    def __getitem__(self, rows: Order) -> "Cache":
        """The cache of these rows; hypotheses that share a memory stay together."""
        (decoded, *_), (memory, *_) = self.own[0].pair, self.memory[0].pair
        shared = len(decoded) // len(memory)
        samples = rows[::shared] // shared
        is_same = samples.equal(torch.arange(len(memory), device=rows.device))
        memory_layers = self.memory if is_same else [layer[samples] for layer in self.memory]
        return Cache([layer[rows] for layer in self.own], memory_layers)
