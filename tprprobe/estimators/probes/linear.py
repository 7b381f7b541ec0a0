"""Linear probes: multinomial logistic regression, its L2 penalty chosen on held-out targets.

The optimum of each is unique (the loss is strictly convex in the penalized weights), so that nothing
depends on a seed, a learning rate or an order. Many problems on the same vectors are solved at once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from tprprobe.estimators.probes.lbfgs import Points, Values, minimize
from tprprobe.estimators.probes.spans import Shape

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
# Of its deviation on validation targets, the least that a dimension is standardized by: in what the few targets of a
# portion hardly vary, others lie far away.
MIN_DEVIATION = 0.1
GAIN = 1e-3  # of its loss that a further step is still worth
BLOCK = 2048  # targets whose logits are held at once
COUNT = 4096  # targets that are predicted at once
VALIDATION = 10  # of so many rows, one chooses the penalty, where no others are given

Inputs = Float[Tensor, "target input"]
Weights = Float[Tensor, "probe input_and_1 label"]
Labels = Bool[np.ndarray, "probe target label"]
Marks = Bool[np.ndarray, "target label"]
HeldOut = tuple[Float[Tensor, "held_out input"], Bool[np.ndarray, "probe held_out label"]]
Curve = list[tuple[int, float, float]]  # step, training loss, validation loss


class LinearProbe(ClassifierMixin, BaseEstimator):
    """Multinomial logistic regression with the L2 penalty of the least loss on held-out targets.

    Attributes:
        classes_: The labels.
        weight_: [input, label], for inputs as they are.
        bias_: [label].
        penalty_: The penalty that was chosen.
        curve_: Of every penalty that was tried its number, and the losses on training and held-out targets.
    """

    batched = True

    weight_: Float[Tensor, "input label"]
    bias_: Float[Tensor, " label"]
    penalty_: float
    curve_: Curve

    def fit(self, X: Any, y: Any) -> "LinearProbe":
        """Fits to labels y of the rows of X; every tenth row chooses the penalty."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"LinearProbe cannot learn from one class ({self.classes_[0]!r})")
        inputs, labels = _as_tensor(X), np.eye(len(self.classes_), dtype=bool)[codes][None]
        validates = np.random.default_rng(0).permutation(len(X)) % VALIDATION == 0
        learns = ~validates | (len(X) < 2 * VALIDATION)
        validation = inputs[validates], labels[:, validates]
        self.fit_together([self], inputs[learns], labels[:, learns], validation)
        self.fit_together([self], inputs, labels, validation, [self])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of every label for the rows of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.logits(_as_tensor(X)).softmax(-1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest label of the rows of X."""
        codes = self.predict_proba(X).argmax(1)
        return self.classes_[codes]

    def logits(self, X: Inputs) -> Float[Tensor, "target label"]:
        """The logit of every label."""
        return X @ self.weight_ + self.bias_

    def predictions(self, X: Inputs, marks: Marks) -> tuple[np.ndarray, Marks, np.ndarray]:
        """The likeliest label of each target, the label that is predicted, and −ln p of its labels."""
        blocks = []
        for start in range(0, max(1, len(X)), COUNT):
            logits = self.logits(X[start : start + COUNT])
            labels = torch.from_numpy(marks[start : start + COUNT]).to(logits)
            blocks.append((logits.argmax(-1), cross_entropy(logits, labels)))
        columns = (torch.cat(tensors) for tensors in zip(*blocks, strict=True))
        likeliest, nats = (column.cpu().numpy() for column in columns)
        return likeliest, np.eye(marks.shape[1], dtype=bool)[likeliest], nats

    def shape(self, n_spans: int, kernel: int) -> Shape:
        n_inputs, n_labels = self.weight_.shape
        return Shape(n_inputs // n_spans // kernel, n_spans, n_labels, kernel, 0)

    def tensors(self) -> dict[str, Tensor]:
        """The weights by name; the first axis is of one probe."""
        return {"output_weight": self.weight_[None], "output_bias": self.bias_[None]}

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], shape: Shape, loss: str) -> "LinearProbe":
        """The probe of saved weights."""
        probe = cls()
        probe.weight_ = tensors["output_weight"][0]
        probe.bias_ = tensors["output_bias"].flatten()
        return probe

    @classmethod
    def fit_together(
        cls,
        probes: Sequence["LinearProbe"],
        X: Inputs,
        labels: Labels,
        validation: HeldOut,
        start: Sequence["LinearProbe"] | None = None,
    ) -> None:
        """Fits probes on the same inputs; those of ``start``, fitted to another fold, give their penalties and weights."""
        problem = _Problem(X, labels, validation[0])
        if start is None:
            penalties, weights, curves = problem.choose(validation)
        else:
            penalties = X.new_tensor([probe.penalty_ for probe in start])
            weights_by_probe = [torch.cat([probe.weight_, probe.bias_[None]]) for probe in start]
            weights = problem.continue_from(penalties, torch.stack(weights_by_probe))
            curves = [probe.curve_ for probe in start]
        for probe, penalty, weight, curve in zip(probes, penalties, weights, curves, strict=True):
            probe.weight_, probe.bias_ = weight[:-1], weight[-1]
            probe.penalty_, probe.curve_ = float(penalty), curve


class _Problem:
    """The problems of several probes on the same inputs, which are standardized."""

    def __init__(self, X: Inputs, labels: Labels, held_out: Float[Tensor, "held_out input"]):
        self.mean = X.mean(0)
        deviation = _deviation(X)
        if len(held_out):  # a later fold of a twin may have none
            deviation = torch.maximum(deviation, MIN_DEVIATION * _deviation(held_out))
        is_constant = deviation < 1e-6 * self.mean.abs() + 1e-12
        self.scale = torch.where(is_constant, 1.0, deviation)
        self.inputs = self.standardize(X)
        self.marks = torch.from_numpy(labels).to(X)
        shares = self.marks / self.marks.sum(-1, keepdim=True).clamp(min=1)
        self.regressions = Regressions(self.inputs, shares)

    def standardize(self, X: Inputs) -> Inputs:
        return (X - self.mean) / self.scale

    def choose(self, validation: HeldOut) -> tuple[Float[Tensor, " probe"], Weights, list[Curve]]:
        """The best of PENALTIES for every probe on validation targets, its weights, and the losses on the way.

        From the strongest penalty on, each begins where the one before ended, until that loss rises.
        """
        n, like = len(self.marks), self.inputs
        marks = torch.from_numpy(validation[1]).to(like)
        fitted_and_held_out = ((self.inputs, self.marks), (self.standardize(validation[0]), marks))
        active, lowest = torch.arange(n, device=like.device), like.new_full((n,), torch.inf)
        penalties = like.new_full((n,), PENALTIES[0])
        curves: list[Curve] = [[] for _ in range(n)]
        weights = best = self.regressions.solve(penalties)
        for step, penalty in enumerate(PENALTIES):
            if step:
                strength = torch.full_like(lowest[active], penalty)
                weights = self.regressions.solve(strength, active, weights)
            train, held_out = (
                cross_entropy(x @ weights[:, :-1] + weights[:, -1:], y[active]).mean(1)
                for x, y in fitted_and_held_out
            )
            points = zip(active.tolist(), train.tolist(), held_out.tolist(), strict=True)
            for probe, train_loss, loss in points:
                curves[probe].append((step, train_loss, loss))
            better = held_out < lowest[active]
            active, weights = active[better], weights[better]
            if not len(active):
                break
            lowest[active], penalties[active] = held_out[better], penalty
            best = best.index_copy(0, active, weights)
        return penalties, self._for_raw_inputs(best), curves

    def continue_from(self, penalties: Float[Tensor, " probe"], weights: Weights) -> Weights:
        """The optima under these penalties, sought from those of another fold."""
        start = weights.clone()
        start[:, -1] += (self.mean[:, None] * start[:, :-1]).sum(1)
        start[:, :-1] *= self.scale[:, None]
        return self._for_raw_inputs(self.regressions.solve(penalties, start=start))

    def _for_raw_inputs(self, weights: Weights) -> Weights:
        slope = weights[:, :-1] / self.scale[:, None]
        shift = weights[:, -1:] - (self.mean[:, None] * slope).sum(1, keepdim=True)
        return torch.cat([slope, shift], 1)


def cross_entropy(
    logits: Float[Tensor, "*probe target label"], marks: Float[Tensor, "*probe target label"]
) -> Float[Tensor, "*probe target"]:
    """−Σ shares · ln softmax(logits) of every target, in nats; a target's labels have equal shares."""
    shares = marks / marks.sum(-1, keepdim=True).clamp(min=1)
    return -(shares * logits.log_softmax(-1)).sum(-1)


def _as_tensor(X: Float[np.ndarray, "target input"]) -> Inputs:
    # torch warns of arrays that are read only
    return torch.from_numpy(np.require(X, requirements="W"))


def _deviation(x: Inputs) -> Float[Tensor, " input"]:
    return (x - x.mean(0)).square().mean(0).sqrt()


class Regressions:
    """Problems that minimise the mean cross-entropy + penalty/2 ‖W‖² on the same vectors.

    ``shares`` are the labels of every target, adding up to one; a target whose shares are all 0 does
    not count. They are solved by L-BFGS, in coordinates in which the Hessian is about the identity: the
    principal directions of the vectors, each label's scale the geometric mean of π (1 − π) and 1/K, its
    curvature where label shares π are predicted and where all K labels are as likely.
    """

    def __init__(
        self, x: Float[Tensor, "target width"], shares: Float[Tensor, "problem target label"]
    ):
        variance, axes = torch.linalg.eigh((x.T @ x).double() / len(x))  # principal directions
        variance, self.axes = variance.clamp(min=0).to(x.dtype), axes.to(x.dtype)
        self.x = torch.cat([x @ self.axes, x.new_ones(len(x), 1)], 1)
        self.shares = shares.transpose(0, 1).contiguous()
        n_problems, _, n_labels = shares.shape
        self.counts = shares.sum((1, 2))
        self.pull = (self.x.T @ self.shares.flatten(1)).view(-1, n_problems, n_labels).double()
        self.is_complete = bool((self.counts > len(x) - 0.5).all())  # all targets count everywhere
        common = (shares.sum(1) + 0.5) / (self.counts + 0.5 * n_labels)[:, None]
        self.intercept = common.log()
        variances = torch.cat([variance, variance.new_ones(1)])[:, None, None]
        self.curvature = variances * ((common * (1 - common)).sqrt() / n_labels**0.5)
        self.is_penalized = torch.ones_like(self.curvature[:, :1, :1])
        self.is_penalized[-1] = 0
        self.n_problems, self.n_labels = n_problems, n_labels

    def solve(
        self,
        penalty: Float[Tensor, " problem"],
        problems: Int[Tensor, " problem"] | None = None,
        start: Float[Tensor, "problem width_and_1 label"] | None = None,
        gain: float = GAIN,
    ) -> Float[Tensor, "problem width_and_1 label"]:
        """The weights (and last the intercept) of some problems, under a penalty for each.

        They begin at ``start``, or at the label shares, and end where a step is worth less than that share of the loss.
        """
        if problems is None:
            problems = torch.arange(self.n_problems, device=self.x.device)
        penalties = self.is_penalized * penalty[:, None]
        scale = (self.curvature[:, problems] + penalties).clamp(min=1e-12).rsqrt()
        if start is None:
            begin = torch.zeros_like(scale)
            begin[-1] = self.intercept[problems]
        else:
            begin = torch.cat([self.axes.T @ start[:, :-1], start[:, -1:]], 1).transpose(0, 1)

        def evaluate(points: Points, active: Int[Tensor, " problem"]) -> tuple[Values, Points]:
            shape = (len(points), len(self.x[0]), self.n_labels)
            weight = scale[:, active] * points.view(shape).transpose(0, 1)
            value, slope = self._losses(weight, problems[active])
            value += (penalties[:, active] * weight**2).sum((0, 2), dtype=torch.float64) / 2
            slope = (slope + penalties[:, active] * weight) * scale[:, active]
            return value, slope.transpose(0, 1).flatten(1)

        optimum = minimize(evaluate, (begin / scale).transpose(0, 1).flatten(1), gain)
        optimum = optimum.view(len(problems), -1, self.n_labels) * scale.transpose(0, 1)
        return torch.cat([self.axes @ optimum[:, :-1], optimum[:, -1:]], 1)

    def _losses(
        self, weight: Float[Tensor, "width_and_1 problem label"], problems: Int[Tensor, " problem"]
    ) -> tuple[Values, Float[Tensor, "width_and_1 problem label"]]:
        """The mean cross-entropy of some problems, and its slope; a block of targets at a time.

        With logits z = x w it is Σ (log Σ exp z) − Σ shares · z, whose last term is xᵀ shares · w.
        """
        wide, pull = weight.flatten(1), self.pull[:, problems]
        value = -(pull * weight).sum((0, 2))
        slope = -pull.to(wide.dtype).flatten(1)
        for start in range(0, len(self.x), BLOCK):
            x = self.x[start : start + BLOCK]
            logits = (x @ wide).view(len(x), *weight.shape[1:])
            logs = logits.log_softmax(-1)
            norms, predictions = logits[..., 0] - logs[..., 0], logs.exp_()
            if not self.is_complete:
                counts = self.shares[start : start + BLOCK][:, problems].sum(-1)
                norms, predictions = norms * counts, predictions * counts[..., None]
            value += norms.sum(0, dtype=torch.float64)
            slope.addmm_(x.T, predictions.flatten(1))
        n = self.counts[problems]
        return value / n, slope.view(weight.shape) / n[:, None]
