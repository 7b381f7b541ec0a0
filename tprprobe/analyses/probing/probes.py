"""Probes, many of one shape at once: parameters are stacked along the axis ``probe``.

``EdgeProbes``: projection of every span's vectors by a span convolution, self-attentive pooling within
the span, and a classifier Linear, tanh, LayerNorm, dropout, Linear. Source: Tenney et al. 2019; jiant,
modules/edge_probing.py and modules/simple_modules.py. ``LinearProbes``: an affine map of the mean of
every span's vectors, side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprprobe.analyses.probing.pooling import Pooled, Spans
from tprprobe.analyses.probing.settings import HIDDEN

DROPOUT, EPS = 0.3, 1e-5
AnyProbes = TypeVar("AnyProbes", bound="Probes")


@dataclass(frozen=True)
class Shape:
    """The shape that the probes of a stack share; probes without ``hidden`` units are linear."""

    width: int
    spans: int
    labels: int
    kernel: int = 1
    hidden: int = HIDDEN

    @property
    def parameters(self) -> int:
        """The number of parameters of a probe."""
        return sum(int(np.prod(size)) for size in self.sizes().values())

    def split(self, flat: Float[Tensor, "probe parameter"]) -> dict[str, Tensor]:
        """The parameters by name that stand in a row a probe, as views of it."""
        sizes = self.sizes()
        parts = flat.split([int(np.prod(size)) for size in sizes.values()], 1)
        return {
            name: part.view(len(flat), *size)
            for (name, size), part in zip(sizes.items(), parts, strict=True)
        }

    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of one probe's parameters."""
        h, found = self.hidden, {}
        if not h:
            inputs = self.spans * self.kernel * self.width
            return {"output_weight": (inputs, self.labels), "output_bias": (self.labels,)}
        for span in range(self.spans):
            found[f"project{span}_weight"] = (self.kernel * self.width, h)
            found[f"project{span}_bias"] = (h,)
            found[f"attend{span}_weight"] = (h,)
            found[f"attend{span}_bias"] = ()
        return found | {
            "hidden_weight": (self.spans * h, h),
            "hidden_bias": (h,),
            "norm_weight": (h,),
            "norm_bias": (h,),
            "output_weight": (h, self.labels),
            "output_bias": (self.labels,),
        }


class Probes(nn.Module):
    """Probes of one shape: a parameter of each of its sizes, with the axis ``probe`` before."""

    def __init__(self, shape: Shape, parameters: dict[str, Tensor]):
        super().__init__()
        self.shape = shape
        for name, tensor in parameters.items():
            self.register_parameter(name, nn.Parameter(tensor))

    def take(self: AnyProbes, chosen: Int[Tensor, " chosen"]) -> AnyProbes:
        """Some of the probes, with weights of their own."""
        return self._of(chosen)

    def part(self: AnyProbes, chosen: slice) -> AnyProbes:
        """Some of the probes, the weights being the same memory."""
        return self._of(chosen)

    def _of(self: AnyProbes, chosen: Any) -> AnyProbes:
        weights = {name: p.detach()[chosen] for name, p in self.named_parameters()}
        return type(self)(self.shape, weights)


class LinearProbes(Probes):
    """Logits that are affine in the mean of the states of every span."""

    def forward(
        self, windows: Sequence[Float[Tensor, "probe _state window"]], spans: Sequence[Spans]
    ) -> Float[Tensor, "probe target label"]:
        """The logits of every label; arguments as those of :class:`EdgeProbes`."""
        weights = dict(self.named_parameters())
        x = mean_states(windows, spans)
        return torch.baddbmm(weights["output_bias"][:, None], x, weights["output_weight"])


def mean_states(
    windows: Sequence[Float[Tensor, "probe _state window"]], spans: Sequence[Spans]
) -> Float[Tensor, "probe target input"]:
    """The mean of the states of every span of a target, its spans side by side."""
    return torch.cat([of.mean(x) for x, of in zip(windows, spans, strict=True)], -1)


class EdgeProbes(Probes):
    """Span-convolution probes with self-attentive pooling (Tenney et al. 2019)."""

    def forward(
        self, windows: Sequence[Float[Tensor, "probe _state window"]], spans: Sequence[Spans]
    ) -> Float[Tensor, "probe target label"]:
        """The logits of every label.

        Args:
            windows: for every span the states of all targets, one after another, each with its
                neighbors in the kernel.
            spans: which states are of which target.
        """
        weights = dict(self.named_parameters())
        maps, hidden = self.maps()
        for span, (x, of) in enumerate(zip(windows, spans, strict=True)):
            hidden = torch.baddbmm(hidden, self.pool(span, x, of).vectors, maps[span])
        hidden = nn.functional.layer_norm(hidden.tanh(), hidden.shape[-1:], eps=EPS)
        hidden = hidden * weights["norm_weight"][:, None] + weights["norm_bias"][:, None]
        return torch.baddbmm(weights["output_bias"][:, None], hidden, weights["output_weight"])

    def maps(
        self,
    ) -> tuple[list[Float[Tensor, "probe window hidden"]], Float[Tensor, "probe 1 hidden"]]:
        """W H of every span, and the bias of the hidden layer: projection and hidden layer as one map.

        The vector of a span is Σ_t a_t (W x_t + b) = W Σ_t a_t x_t + b, because the shares add up to one.
        """
        n_spans, bias = self.shape.spans, self.get_parameter("hidden_bias")[:, None]
        found = []
        for span in range(n_spans):
            weight, shift = self.layer("project", span)
            found.append(weight @ self.into(span))
            bias = bias + shift[:, None] @ self.into(span)
        return found, bias

    def pool(self, span: int, x: Float[Tensor, "probe _state window"], spans: Spans) -> Pooled:
        """Σ_t softmax(a)_t x_t over the states of each target, with a = w · (W x).

        The biases of the two layers are the same for all states, and change no share.
        """

        def score(states: Tensor) -> Tensor:
            query = self.layer("project", span)[0] @ self.layer("attend", span)[0][..., None]
            return (states @ query).squeeze(-1)

        return spans.pool(x, score)

    def into(self, span: int) -> Float[Tensor, "probe hidden hidden"]:
        """H, the part of the hidden layer that reads a span."""
        h = self.shape.hidden
        return self.get_parameter("hidden_weight")[:, span * h : (span + 1) * h]

    def layer(self, layer: str, span: int) -> tuple[Tensor, Tensor]:
        """The weight and the bias of a span's layer, ``project`` or ``attend``."""
        name = f"{layer}{span}"
        return self.get_parameter(f"{name}_weight"), self.get_parameter(f"{name}_bias")


def fresh_probes(shape: Shape, seeds: Sequence[int]) -> EdgeProbes | LinearProbes:
    """Probes with fresh weights; probes of one seed begin with the same."""
    fresh = {seed: _initialize(shape, seed) for seed in {*seeds}}
    stacked = {name: torch.stack([fresh[s][name] for s in seeds]) for name in shape.sizes()}
    return probes_of(shape, stacked)


def probes_of(shape: Shape, weights: dict[str, Tensor]) -> EdgeProbes | LinearProbes:
    """Probes of a shape with these weights."""
    return (EdgeProbes if shape.hidden else LinearProbes)(shape, weights)


def _initialize(shape: Shape, seed: int) -> dict[str, Tensor]:
    """torch's own initialization of Linear, Conv1d and LayerNorm, from a local generator."""
    generator = torch.Generator().manual_seed(seed)
    found: dict[str, Tensor] = {}
    fan_in = 1
    for name, size in shape.sizes().items():
        if name.startswith("norm"):
            found[name] = torch.ones(size) if name.endswith("weight") else torch.zeros(size)
            continue
        fan_in = size[0] if name.endswith("weight") else fan_in
        found[name] = (2 * torch.rand(size, generator=generator) - 1) / fan_in**0.5
    return found


def draw_dropout(
    seed: int, step: int, n_targets: int, hidden: int, rate: float = DROPOUT
) -> Tensor:
    """The dropout mask of a batch's hidden units, a function of seed and step alone."""
    state = int(np.random.SeedSequence([seed, step]).generate_state(1)[0])
    generator = torch.Generator().manual_seed(state)
    return (torch.rand(n_targets, hidden, generator=generator) >= rate).float() / (1 - rate)
