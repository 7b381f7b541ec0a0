"""Probes, many of one shape at once: parameters are stacked along the axis ``probe``.

``EdgeProbes``: projection of every span's vectors by a span convolution, self-attentive pooling within
the span, and a classifier Linear, tanh, LayerNorm, dropout, Linear. Source: Tenney et al. 2019; jiant,
modules/edge_probing.py and modules/simple_modules.py. ``LinearProbes``: an affine map of the mean of
every span's vectors, side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tprprobe.analyses.probing.settings import HIDDEN

DROPOUT = 0.3
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
        weights = {name: p.detach()[chosen] for name, p in self.named_parameters()}
        return type(self)(self.shape, weights)


class LinearProbes(Probes):
    """Logits that are affine in the mean of the states of every span."""

    def forward(
        self,
        windows: Sequence[Float[Tensor, "probe _state window"]],
        owners: Sequence[Int[Tensor, " _state"] | None],
        n_targets: int,
    ) -> Float[Tensor, "probe target label"]:
        """The logits of every label; arguments as those of :class:`EdgeProbes`."""
        weights = dict(self.named_parameters())
        x = mean_states(windows, owners, n_targets)
        return torch.baddbmm(weights["output_bias"][:, None], x, weights["output_weight"])


def mean_states(
    windows: Sequence[Float[Tensor, "probe _state window"]],
    owners: Sequence[Int[Tensor, " _state"] | None],
    n_targets: int,
) -> Float[Tensor, "probe target input"]:
    """The mean of the states of every span of a target, its spans side by side."""
    found = []
    for x, owner in zip(windows, owners, strict=True):
        if owner is not None:
            n = torch.bincount(owner, minlength=n_targets)[:, None]
            x = x.new_zeros(len(x), n_targets, x.shape[-1]).index_add(1, owner, x) / n
        found.append(x)
    return torch.cat(found, -1)


class EdgeProbes(Probes):
    """Span-convolution probes with self-attentive pooling (Tenney et al. 2019)."""

    def forward(
        self,
        windows: Sequence[Float[Tensor, "probe _state window"]],
        owners: Sequence[Int[Tensor, " _state"] | None],
        n_targets: int,
        kept: Float[Tensor, "probe target hidden"] | None = None,
    ) -> Float[Tensor, "probe target label"]:
        """The logits of every label.

        Args:
            windows: for every span the states of all targets, one after another, each with its
                neighbors in the kernel.
            owners: for every span the target of each state; None where each has exactly one.
            n_targets: how many targets there are.
            kept: what dropout leaves of every hidden unit (times 1 / (1 − rate)), while training.
        """
        weights = dict(self.named_parameters())
        hidden = weights["hidden_bias"][:, None]
        for span in range(len(windows)):
            hidden = hidden + self._of("project", span)[1][:, None] @ self._into(span)
        for span, (x, owner) in enumerate(zip(windows, owners, strict=True)):
            hidden = self._add(span, self._pool(span, x, owner, n_targets), hidden)
        hidden = torch.tanh(hidden)
        hidden = nn.functional.layer_norm(hidden, hidden.shape[-1:])
        hidden = hidden * weights["norm_weight"][:, None] + weights["norm_bias"][:, None]
        if kept is not None:
            hidden = hidden * kept
        return torch.baddbmm(weights["output_bias"][:, None], hidden, weights["output_weight"])

    def _pool(
        self, span: int, x: Tensor, owner: Tensor | None, n: int
    ) -> Float[Tensor, "probe target window"]:
        """Σ_t softmax(a)_t x_t over the states of each target, with a = w · p + c of p = W x + b.

        The span's vector Σ_t softmax(a)_t p_t is W of this plus b, because the shares add up to one.
        """
        if owner is None:
            return x
        weight, bias = self._of("project", span)
        attend, shift = self._of("attend", span)
        shift = shift + (bias * attend).sum(-1)
        a = (x @ (weight @ attend[..., None])).squeeze(-1) + shift[:, None]
        index = owner.expand(len(a), -1)
        highest = a.detach().new_full((len(a), n), -torch.inf)
        highest = highest.scatter_reduce(1, index, a.detach(), "amax")
        share = torch.exp(a - highest[:, owner])
        total = share.new_zeros(len(a), n).index_add(1, owner, share)
        share = share / total[:, owner]
        return x.new_zeros(len(a), n, x.shape[-1]).index_add(1, owner, share[..., None] * x)

    def _add(
        self, span: int, x: Float[Tensor, "probe target window"], onto: Tensor
    ) -> Float[Tensor, "probe target hidden"]:
        """Adds what a span gives to the hidden layer, H W x, by the cheaper order of products."""
        weight, into = self._of("project", span)[0], self._into(span)
        if x.shape[1] < x.shape[2]:
            return torch.baddbmm(onto, x @ weight, into)
        return torch.baddbmm(onto, x, weight @ into)

    def _into(self, span: int) -> Float[Tensor, "probe hidden hidden"]:
        """H, the part of the hidden layer that reads a span."""
        h = self.shape.hidden
        return self.get_parameter("hidden_weight")[:, span * h : (span + 1) * h]

    def _of(self, layer: str, span: int) -> tuple[Tensor, Tensor]:
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
