"""The TPR probe: logit(place s, label c) = r_sᵀ (U h) f_c + b_sc, beside a linear probe and that one cut to its rank.

A linear probe has a free weight vector for every place and label. The bilinear form binds: places have
vectors r_s, labels vectors f_c, and one map U unbinds any state. Its weights are R ⊗ F times U, of rank
d_r · d_f at most; a linear probe cut to that rank by its singular values is the fair rival.
Source: Lee, Viégas and Wattenberg 2026 (arXiv:2605.09967).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)
STEPS = 150  # of L-BFGS, at most
SIZES = (1, 2, 3, 4, 6, 8, 12, 16)  # ranks that are tried

State = Float[Tensor, "unit d_model"]
Labels = Int[Tensor, "unit place"]  # −1: none
Weights = Float[Tensor, "place label d_model"]
Bias = Float[Tensor, "place label"]
HeldOut = tuple[Float[Tensor, "_unit d_model"], Int[Tensor, "_unit place"]]
Ranks = tuple[int, int]  # of places, and of labels
Extra = TypeVar("Extra")


@dataclass(frozen=True, eq=False)
class PlaceProbe:
    """Logits of every label at every place, W h + b."""

    weights: Weights
    bias: Bias

    def logits(self, x: State) -> Float[Tensor, "unit place label"]:
        return torch.einsum("nd,scd->nsc", x, self.weights) + self.bias

    def loss(self, x: State, y: Labels) -> float:
        """The mean cross-entropy in nats."""
        return float(cross_entropy(self.logits(x), y))

    def cut(self, rank: int) -> "PlaceProbe":
        """The probe whose weights, a row a place and label, have that rank: the nearest one."""
        flat = self.weights.flatten(0, 1)
        u, s, v = torch.linalg.svd(flat, full_matrices=False)
        near = (u[:, :rank] * s[:rank]) @ v[:rank]
        return PlaceProbe(near.view_as(self.weights), self.bias)


@dataclass(frozen=True, eq=False)
class Binding:
    """r of every place, f of every label, and U."""

    places: Float[Tensor, "place d_role"]
    labels: Float[Tensor, "label d_filler"]
    unbinding: Float[Tensor, "d_role d_filler d_model"]

    @classmethod
    def nearest(cls, weights: Weights, ranks: Ranks) -> "Binding":
        """The higher-order SVD of free weights: their main directions along places and labels."""
        places, labels = (
            torch.linalg.svd(unfolded.flatten(1), full_matrices=False)[0][:, :rank]
            for unfolded, rank in zip((weights, weights.transpose(0, 1)), ranks, strict=True)
        )
        core = torch.einsum("scd,sj,ck->jkd", weights, places, labels)
        return cls(places.contiguous(), labels.contiguous(), core)

    @property
    def weights(self) -> Weights:
        """W[s, c] = r_sᵀ U f_c."""
        return torch.einsum("sj,ck,jkd->scd", self.places, self.labels, self.unbinding)

    @property
    def parameters(self) -> int:
        """Free numbers, less the changes of basis that change no weight."""
        sizes = self.places.numel() + self.labels.numel() + self.unbinding.numel()
        return sizes - self.places.shape[1] ** 2 - self.labels.shape[1] ** 2


def fit_linear(x: State, y: Labels, n_labels: int, dev: HeldOut) -> PlaceProbe:
    """The linear probe with the least loss on ``dev`` of all penalties."""
    return choose(lambda penalty: (_fit_free(x, y, n_labels, penalty), None), dev)[0]


def fit_bilinear(
    x: State, y: Labels, start: PlaceProbe, ranks: Ranks, dev: HeldOut
) -> tuple[PlaceProbe, Binding]:
    """The bilinear probe with the least loss on ``dev`` of all penalties, and its binding.

    It starts from the higher-order SVD of a linear probe, so that it has no seed.
    """
    near = Binding.nearest(start.weights, ranks)
    free = [near.places, near.labels, near.unbinding, start.bias]

    def fit(penalty: float) -> tuple[PlaceProbe, Binding]:
        *parts, bias = minimize(
            free, lambda r, f, u, b: objective(Binding(r, f, u).weights, b, x, y, penalty)
        )
        binding = Binding(*parts)
        return PlaceProbe(binding.weights, bias), binding

    return choose(fit, dev)


def choose_ranks(start: PlaceProbe, dev: HeldOut, most: Ranks) -> Ranks:
    """The ranks at which the higher-order SVD of a linear probe has the least loss on ``dev``."""
    losses = {
        (j, k): PlaceProbe(Binding.nearest(start.weights, (j, k)).weights, start.bias).loss(*dev)
        for j in SIZES
        for k in SIZES
        if j <= most[0] and k <= most[1]
    }
    return min(losses, key=lambda ranks: losses[ranks])


def choose(
    fit: Callable[[float], tuple[PlaceProbe, Extra]], dev: HeldOut
) -> tuple[PlaceProbe, Extra]:
    """The fit with the least loss on ``dev``, from the strongest penalty on until that rises."""
    first, *others = PENALTIES
    found = fit(first)
    lowest = found[0].loss(*dev)
    for penalty in others:
        next_ = fit(penalty)
        if (loss := next_[0].loss(*dev)) >= lowest:
            break
        found, lowest = next_, loss
    return found


def _fit_free(x: State, y: Labels, n_labels: int, penalty: float) -> PlaceProbe:
    places = y.shape[1]
    free = [x.new_zeros(places, n_labels, x.shape[1]), x.new_zeros(places, n_labels)]
    return PlaceProbe(*minimize(free, lambda w, b: objective(w, b, x, y, penalty)))


def objective(weights: Weights, bias: Bias, x: State, y: Labels, penalty: float) -> Tensor:
    """Mean cross-entropy + penalty/2 · ‖W‖² / places."""
    logits = torch.einsum("nd,scd->nsc", x, weights) + bias
    return cross_entropy(logits, y) + penalty / 2 * weights.square().sum() / len(weights)


def cross_entropy(logits: Float[Tensor, "unit place label"], y: Labels) -> Tensor:
    """The mean of −log p of the labels, where there are any."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-1)


def minimize(start: list[Tensor], value: Callable[..., Tensor]) -> list[Tensor]:
    """Where a smooth function of several tensors is least, by L-BFGS from a start on."""
    sizes, shapes = [each.numel() for each in start], [each.shape for each in start]
    flat = torch.cat([each.detach().flatten() for each in start]).requires_grad_()
    method = torch.optim.LBFGS(
        [flat],
        max_iter=STEPS,
        history_size=12,
        tolerance_change=1e-7,
        line_search_fn="strong_wolfe",
    )

    def parts() -> list[Tensor]:
        return [p.view(shape) for p, shape in zip(flat.split(sizes), shapes, strict=True)]

    def close() -> Tensor:
        method.zero_grad()
        loss = value(*parts())
        loss.backward()
        return loss

    method.step(close)
    return [each.detach() for each in parts()]
