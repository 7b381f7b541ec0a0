"""The states of targets' spans, in batches, and the sizes of probes that read them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

HIDDEN = 256  # units of a probe that is not linear


@dataclass(frozen=True)
class Spans:
    """A span of every target; only spans of several states are attended to, or averaged."""

    first: Int[Tensor, " target"]  # the first state of each
    several: Int[Tensor, " several"]  # the targets that have several states
    states: Int[Tensor, " _state"]  # all states of these
    owner: Int[Tensor, " _state"]  # the number, among `several`, of a state's target

    @classmethod
    def of(cls, owner: Int[Tensor, " _state"], n_targets: int) -> "Spans":
        """The spans whose states stand one after another, each the state of the target ``owner``."""
        lengths = torch.bincount(owner, minlength=n_targets)
        has_several = lengths > 1
        states = torch.nonzero(has_several[owner])[:, 0]
        number = has_several.cumsum(0) - 1
        several = torch.nonzero(has_several)[:, 0]
        return cls(lengths.cumsum(0) - lengths, several, states, number[owner[states]])

    def sum(self, values: Float[Tensor, "... _state width"]) -> Float[Tensor, "... several width"]:
        """The sums over the states of every target that has several."""
        shape = (*values.shape[:-2], len(self.several), values.shape[-1])
        return values.new_zeros(shape).index_add(-2, self.owner, values)

    def mean(self, x: Float[Tensor, "_all_states window"]) -> Float[Tensor, "target window"]:
        """The mean of every target's states."""
        means = x[self.first]
        if len(self.several):
            sums = self.sum(x[self.states])
            means[self.several] = sums / torch.bincount(self.owner)[:, None]
        return means


@dataclass(frozen=True, eq=False)
class Batch:
    """Some targets: for every span their states, one after another, each with its neighbors in the kernel."""

    targets: Int[np.ndarray, " target"]
    windows: list[Float[Tensor, "_state window"]]
    spans: list[Spans]

    @property
    def means(self) -> Float[Tensor, "target input"]:
        """The mean of the states of every span of a target, its spans side by side."""
        return torch.cat([s.mean(x) for x, s in zip(self.windows, self.spans, strict=True)], -1)


@runtime_checkable
class SpanStates(Protocol):
    """The X of probes that read spans: the states of all targets, which need not fit into memory."""

    @property
    def width(self) -> int: ...  # of a state

    @property
    def n_spans(self) -> int: ...  # of a target

    @property
    def kernel(self) -> int: ...  # states in a window

    @property
    def device(self) -> torch.device: ...

    def __len__(self) -> int: ...

    def batches(self, size: int, epoch: int | None = None) -> Iterator[Batch]:
        """All targets, those of ``size`` samples in a batch, in order or in the random order of an epoch."""
        ...

    def moments(self) -> tuple[Float[Tensor, " width"], Float[Tensor, " width"]]:
        """The mean and the deviation of the states; 1 where they do not vary."""
        ...

    def standardize(self, mean: Tensor | float, scale: Tensor | float) -> "SpanStates":
        """The same states as (state − mean) / scale."""
        ...


@dataclass(frozen=True)
class Shape:
    """The shape that probes on the same states share; probes without ``hidden`` units are linear."""

    width: int
    spans: int
    labels: int
    kernel: int = 1
    hidden: int = HIDDEN

    @property
    def parameters(self) -> int:
        return sum(math.prod(size) for size in self.sizes().values())

    def split(self, flat: Float[Tensor, "probe parameter"]) -> dict[str, Tensor]:
        """The parameters by name that stand in a row a probe, as views of it."""
        sizes = self.sizes()
        slices = flat.split([math.prod(size) for size in sizes.values()], 1)
        pairs = zip(sizes.items(), slices, strict=True)
        return {name: values.view(len(flat), *size) for (name, size), values in pairs}

    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of one probe's parameters."""
        h, inputs = self.hidden, self.kernel * self.width
        sizes: dict[str, tuple[int, ...]] = {}
        n_outputs = h if h else self.spans * inputs
        output = {"output_weight": (n_outputs, self.labels), "output_bias": (self.labels,)}
        if not h:
            return output
        for span in range(self.spans):
            sizes[f"project{span}_weight"] = (inputs, h)
            sizes[f"project{span}_bias"] = (h,)
            sizes[f"attend{span}_weight"] = (h,)
            sizes[f"attend{span}_bias"] = ()
        sizes["hidden_weight"] = (self.spans * h, h)
        return sizes | dict.fromkeys(("hidden_bias", "norm_weight", "norm_bias"), (h,)) | output
