"""Bilinear probes: which label stands at which place of a sample, read from one vector of it.

Source: Lee, Viégas and Wattenberg 2026 (arXiv:2605.09967).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor

from tprprobe.errors import unknown
from tprprobe.estimators.bindings.selection import read_rank

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)
STEPS = 150  # of L-BFGS, at most
MAX_PLACES, VALIDATION = 40, 5  # of so many samples, one chooses penalty and ranks
FORMS = ("bilinear", "linear", "svd")
SIZES = (1, 2, 3, 4, 6, 8, 12, 16)  # ranks that are tried

State = Float[Tensor, "unit d_model"]
Labels = Int[Tensor, "unit place"]  # −1: none
Weights = Float[Tensor, "place label d_model"]
Bias = Float[Tensor, "place label"]
HeldOut = tuple[Float[Tensor, "_unit d_model"], Int[Tensor, "_unit place"]]
Ranks = tuple[int, int]  # of places, and of labels
Extra = TypeVar("Extra")


class BilinearProbe(ClassifierMixin, BaseEstimator):
    """The label at every place of a sample from one vector of it, as logit(place s, label c) = r_sᵀ (U h) f_c.

    Args:
        rank: Its dimensions of places and labels, such as 8x4; auto: chosen on held-out samples.
        form: bilinear; linear (a free vector for every place and label); svd (the linear one, its weights cut to the
            rank of the bilinear one).

    Attributes:
        rank_: The dimensions of places and of labels.
        n_parameters_: The number of free parameters.
    """

    needs = "sequences"

    def __init__(self, rank: str = "auto", form: str = "bilinear"):
        self.rank = rank
        self.form = form

    def check(self) -> None:
        """Raises an InputError for a parameter that is none."""
        read_rank(self.rank)
        if self.form not in FORMS:
            raise unknown("form", self.form, FORMS)

    def fit(self, X: Any, y: Any) -> "BilinearProbe":
        """Fits to labels y; the first column of X is the place of a target, the others are the vector of its sample."""
        X = np.asarray(X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        vectors, labels = as_grid(X, codes)
        self.mean_, scale = vectors.mean(0), vectors.std(0)
        self.scale_ = np.where(scale < 1e-6 * np.abs(self.mean_) + 1e-12, 1, scale)
        validates = np.random.default_rng(0).permutation(len(vectors)) % VALIDATION == 0
        x, grid = torch.as_tensor(self._standardize(vectors)), torch.as_tensor(labels)
        train, dev = (x[~validates], grid[~validates]), (x[validates], grid[validates])
        max_ranks = labels.shape[1], len(self.classes_)
        linear = fit_linear(*train, max_ranks[1], dev)
        places, kinds = read_rank(self.rank) or choose_ranks(linear, dev, max_ranks)
        self.rank_ = min(places, max_ranks[0]), min(kinds, max_ranks[1])
        n_biases, width = max_ranks[0] * max_ranks[1], x.shape[1]
        rank = min(self.rank_[0] * self.rank_[1], n_biases, width)
        self.probe_, self.n_parameters_ = linear, n_biases * width + n_biases
        if self.form == "bilinear":
            self.probe_, binding = fit_bilinear(*train, linear, self.rank_, dev)
            self.n_parameters_ = binding.parameters + n_biases
        elif self.form == "svd":
            self.probe_ = linear.cut(rank)
            self.n_parameters_ = rank * (n_biases + width - rank) + n_biases
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every label; at places that were not seen, as at the last one that was."""
        place = np.clip(np.asarray(X)[:, 0].astype(int), 0, len(self.probe_.bias) - 1)
        logits = self.probe_.logits(torch.as_tensor(self._standardize(np.asarray(X)[:, 1:])))
        return logits[torch.arange(len(place)), torch.as_tensor(place)].softmax(-1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest label of every target."""
        return self.classes_[self.predict_proba(X).argmax(1)]

    def _standardize(self, vectors: np.ndarray) -> np.ndarray:
        return (vectors - self.mean_) / self.scale_


def as_grid(X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of samples, and the label at every place (−1: none), from targets that stand sample by sample."""
    place, vectors = X[:, 0].astype(int), X[:, 1:]
    is_first = np.append(True, (vectors[1:] != vectors[:-1]).any(1))
    sample = is_first.cumsum() - 1
    is_used = place < MAX_PLACES
    labels = np.full((sample[-1] + 1, place[is_used].max() + 1), -1)
    labels[sample[is_used], place[is_used]] = codes[is_used]
    return vectors[is_first], labels


@dataclass(frozen=True, eq=False)
class PlaceProbe:
    """Logits of every label at every place, W h + b."""

    weights: Weights
    bias: Bias

    def logits(self, x: State) -> Float[Tensor, "unit place label"]:
        return torch.einsum("nd,scd->nsc", x, self.weights) + self.bias

    def predict(self, x: State) -> Int[Tensor, "unit place"]:
        return self.logits(x).argmax(-1)

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
    nearest = Binding.nearest(start.weights, ranks)
    start_values = [nearest.places, nearest.labels, nearest.unbinding, start.bias]

    def fit(penalty: float) -> tuple[PlaceProbe, Binding]:
        *factors, bias = minimize(
            start_values, lambda r, f, u, b: objective(Binding(r, f, u).weights, b, x, y, penalty)
        )
        binding = Binding(*factors)
        return PlaceProbe(binding.weights, bias), binding

    return choose(fit, dev)


def choose_ranks(start: PlaceProbe, dev: HeldOut, max_ranks: Ranks) -> Ranks:
    """The ranks at which the higher-order SVD of a linear probe has the least loss on ``dev``."""
    losses = {
        (j, k): PlaceProbe(Binding.nearest(start.weights, (j, k)).weights, start.bias).loss(*dev)
        for j in SIZES
        for k in SIZES
        if j <= max_ranks[0] and k <= max_ranks[1]
    }
    return min(losses, key=lambda ranks: losses[ranks])


def choose(
    fit: Callable[[float], tuple[PlaceProbe, Extra]], dev: HeldOut
) -> tuple[PlaceProbe, Extra]:
    """The fit with the least loss on ``dev``, from the strongest penalty on until that rises."""
    strongest, *weaker = PENALTIES
    best = fit(strongest)
    lowest = best[0].loss(*dev)
    for penalty in weaker:
        candidate = fit(penalty)
        if (loss := candidate[0].loss(*dev)) >= lowest:
            break
        best, lowest = candidate, loss
    return best


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
    sizes, shapes = [tensor.numel() for tensor in start], [tensor.shape for tensor in start]
    flat = torch.cat([tensor.detach().flatten() for tensor in start]).requires_grad_()
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
    return [tensor.detach() for tensor in parts()]
