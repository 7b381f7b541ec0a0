"""Span-convolution probes with self-attentive pooling, many on the same states trained side by side by Adam.

Projection of every span's states by a span convolution, self-attentive pooling within the span, and a
classifier Linear, tanh, LayerNorm, dropout, Linear. Parameters are stacked along the axis ``probe``.
Source: Tenney et al. 2019; jiant, modules/edge_probing.py and modules/simple_modules.py.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count as count_up
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.base import BaseEstimator, ClassifierMixin
from torch import Tensor

from tprprobe.errors import unknown
from tprprobe.estimators.probes import span_network
from tprprobe.estimators.probes.linear import Curve, Labels, Marks
from tprprobe.estimators.probes.spans import Batch, Shape, SpanStates

Loss = Literal["sigmoid", "softmax"]
BETAS, TINY = (0.9, 0.999), 1e-8  # of Adam
BLOCK = 1024  # targets of all probes whose hidden units stay in a core's cache
BLOCK_OF_GPU = 2**16

HeldOut = tuple[SpanStates, Bool[np.ndarray, "probe held_out label"]]
Stacked = Float[Tensor, "probe parameter"]


@dataclass(frozen=True)
class Schedule:
    """Adam (AMSGrad) on batches of whole samples, validated after ``every`` batches (None: an epoch).

    The learning rate is halved when ``patience`` + 1 validations in a row are no better, and a probe
    is done after ``stop`` such validations. It keeps its best weights. ``limit`` validations are a
    bound of time: a probe that it ends is not trained to its end, and a run says how many are not.
    """

    learning_rate: float = 5e-3
    batch: int = 16
    every: int | None = None
    patience: int = 0
    stop: int = 3
    limit: int = 100
    watch: Literal["loss", "f1"] = "loss"
    clip: float = 5.0
    smallest_rate: float = 1e-6
    standardize: bool = True


SCHEDULES = {
    "short": Schedule(),
    # Source: Tenney et al. 2019, jiant/config/defaults.conf
    "tenney": Schedule(1e-4, 32, 1000, 5, 20, 250, "f1", standardize=False),
}


class SpanConvProbe(ClassifierMixin, BaseEstimator):
    """The edge probe of Tenney et al. 2019, trained until validation targets no longer gain.

    Args:
        schedule: Training schedule: ``short``, ``tenney`` (Tenney et al. 2019) or a Schedule.
        loss: ``sigmoid`` (every label by itself) or ``softmax``.
        random_state: Seed of the weights and of dropout.

    Attributes:
        curve_: Of every validation the step, and the losses on training and validation targets.
    """

    needs = "spans"
    batched = True
    iterative = True

    weights_: dict[str, Tensor]
    mean_: Tensor | float
    scale_: Tensor | float
    shape_: Shape
    curve_: Curve

    def __init__(
        self, schedule: str | Schedule = "short", loss: str = "sigmoid", random_state: int = 0
    ):
        self.schedule = schedule
        self.loss = loss
        self.random_state = random_state

    def check(self) -> None:
        """Raises an InputError for a parameter that is none."""
        if isinstance(self.schedule, str) and self.schedule not in SCHEDULES:
            raise unknown("schedule", self.schedule, SCHEDULES)
        if self.loss not in get_args(Loss):
            raise unknown("loss", self.loss, get_args(Loss))

    @property
    def training(self) -> Schedule:
        return SCHEDULES[self.schedule] if isinstance(self.schedule, str) else self.schedule

    @property
    def limit(self) -> int:
        return self.training.limit

    def with_probabilities(self) -> "SpanConvProbe":
        """The probe whose labels' probabilities add up to one, for codelengths."""
        return SpanConvProbe(self.schedule, "softmax", self.random_state)

    def fit(self, X: SpanStates, y: Any) -> "SpanConvProbe":
        """Fits to labels y of the targets of X, on which it is validated, too."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        labels = np.eye(len(self.classes_), dtype=bool)[codes][None]
        self.fit_together([self], X, labels, (X, labels))
        return self

    def predict(self, X: SpanStates) -> np.ndarray:
        """The likeliest label of every target of X."""
        return self.classes_[self.logits(X).argmax(-1).numpy()]

    @torch.no_grad()
    def logits(self, X: SpanStates) -> Float[Tensor, "target label"]:
        """The logit of every label."""
        states = X.standardize(self.mean_, self.scale_)
        logits = [
            span_network.edge_logits(self.shape_, self.weights_, batch.windows, batch.spans)[0]
            for batch in states.batches(self.training.batch)
        ]
        return torch.cat(logits)

    def predictions(self, X: SpanStates, marks: Marks) -> tuple[np.ndarray, Marks, np.ndarray]:
        """The likeliest label of each target, the labels that are predicted, and the loss in nats."""
        logits = self.logits(X).cpu()
        likeliest = logits.argmax(-1)
        predicted = span_network.predict_labels(logits, self.loss)
        nats = span_network.losses(logits, torch.from_numpy(marks).float(), self.loss)
        return likeliest.numpy(), predicted.numpy(), nats.numpy()

    @staticmethod
    def count_parameters(X: SpanStates, n_labels: int) -> int:
        """The number of weights of a probe that reads X."""
        return Shape(X.width, X.n_spans, n_labels, X.kernel).parameters

    def shape(self, n_spans: int, kernel: int) -> Shape:
        return self.shape_

    def tensors(self) -> dict[str, Tensor]:
        return self.weights_

    @classmethod
    def from_tensors(cls, tensors: dict[str, Tensor], shape: Shape, loss: str) -> "SpanConvProbe":
        """The probe of saved weights."""
        probe = cls(loss=loss)
        probe.weights_, probe.shape_, probe.mean_, probe.scale_ = tensors, shape, 0.0, 1.0
        return probe

    @classmethod
    def fit_together(
        cls,
        probes: Sequence["SpanConvProbe"],
        X: SpanStates,
        labels: Labels,
        validation: HeldOut,
        start: Sequence["SpanConvProbe"] | None = None,
    ) -> None:
        """Fits probes on the same states, side by side."""
        descent = Descent(probes, X, labels, validation)
        descent.run()
        weights = descent.shape.split(descent.best)
        for i, probe in enumerate(probes):
            probe.weights_ = {name: values[i : i + 1] for name, values in weights.items()}
            probe.mean_, probe.scale_ = descent.mean, descent.scale
            probe.shape_, probe.curve_ = descent.shape, descent.curves[i]


def step_amsgrad(
    weights: Stacked,
    moments: Float[Tensor, "3 probe parameter"],
    grads: Stacked,
    rates: Float[Tensor, " probe"],
    steps: int,
    clip: float,
) -> None:
    """One step of Adam in place: every probe with its own rate, its gradient clipped to a norm."""
    shrink = (clip / (grads.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1)
    if (shrink < 1).any():
        grads = grads * shrink
    mean, square, largest = moments
    mean.lerp_(grads, 1 - BETAS[0])
    square.mul_(BETAS[1]).addcmul_(grads, grads, value=1 - BETAS[1])
    torch.maximum(largest, square, out=largest)
    rate = rates[:, None] / (1 - BETAS[0] ** steps)
    scale = largest.sqrt().mul_(1 / (rate * (1 - BETAS[1] ** steps) ** 0.5))
    weights.addcdiv_(mean, scale.add_(TINY / rate), value=-1)


class Descent:
    """Probes in training: ``active`` go on, ``weights`` are theirs, ``best`` the best of all so far."""

    def __init__(
        self, probes: Sequence[SpanConvProbe], X: SpanStates, labels: Labels, validation: HeldOut
    ):
        schedule, (held_out, self.held_out_labels) = probes[0].training, validation
        self.mean, self.scale = X.moments() if schedule.standardize else (0.0, 1.0)
        self.train, self.held_out = (x.standardize(self.mean, self.scale) for x in (X, held_out))
        self.schedule, self.loss, self.labels = schedule, probes[0].loss, labels
        self.shape = shape = Shape(X.width, X.n_spans, labels.shape[2], X.kernel)
        self.seeds, self.device, n = [probe.random_state for probe in probes], X.device, len(probes)
        initial = {seed: span_network.draw_weights(shape, seed) for seed in {*self.seeds}}
        self.weights = torch.stack([initial[seed] for seed in self.seeds]).to(self.device)
        self.best = self.weights.clone()
        self.moments = torch.zeros(3, *self.weights.shape, device=self.device)
        self.active = np.arange(n)
        self.rate = np.full(n, schedule.learning_rate)
        self.score = np.full(n, -np.inf)
        self.n_worse = np.zeros(n, int)
        self.train_loss = torch.zeros(n, device=self.device)  # summed since the last validation
        self.steps = self.validated_at = 0
        self.curves: list[Curve] = [[] for _ in probes]

    def run(self) -> None:
        """Trains every probe to its end, on the samples in an order that depends on the epoch only."""
        every = self.schedule.every
        for epoch in count_up():
            for batch in self.train.batches(self.schedule.batch, epoch):
                self._step(batch)
                if every is not None and self.steps % every == 0:
                    self._validate()
                if not len(self.active):
                    return
            if every is None:
                self._validate()
            if not len(self.active):
                return

    def _marks(self, labels: Labels, batch: Batch) -> Float[Tensor, "active chosen label"]:
        return torch.from_numpy(labels[np.ix_(self.active, batch.targets)]).to(self.device).float()

    def _slices(self, batch: Batch) -> Iterator[slice]:
        block = BLOCK if self.device.type == "cpu" else BLOCK_OF_GPU
        size = max(1, block // len(batch.targets))
        for start in range(0, len(self.active), size):
            yield slice(start, start + size)

    def _logits(
        self, weights: Stacked, batch: Batch, dropout: Tensor | None = None
    ) -> Float[Tensor, "probe target label"]:
        by_name = self.shape.split(weights)
        return span_network.edge_logits(self.shape, by_name, batch.windows, batch.spans, dropout)

    def _step(self, batch: Batch) -> None:
        seeds, n = [self.seeds[i] for i in self.active], len(batch.targets)
        draw, hidden = span_network.draw_dropout, self.shape.hidden
        masks = {s: draw(s, self.steps, n, hidden).to(self.device) for s in {*seeds}}
        marks = self._marks(self.labels, batch)
        rates = torch.from_numpy(self.rate[self.active]).to(self.weights)
        self.steps += 1
        for rows in self._slices(batch):
            weights = self.weights[rows].detach().requires_grad_()
            dropout = torch.stack([masks[seed] for seed in seeds[rows]])
            logits = self._logits(weights, batch, dropout)
            loss = span_network.losses(logits, marks[rows], self.loss).mean(1)
            (grads,) = torch.autograd.grad(loss.sum(), weights)
            self.train_loss[self.active[rows]] += loss.detach()
            step_amsgrad(
                self.weights[rows], self.moments[:, rows], grads, rates[rows], self.steps,
                self.schedule.clip,
            )  # fmt: skip

    @torch.no_grad()
    def _validate(self) -> None:
        n, totals = len(self.held_out), 0.0
        for batch in self.held_out.batches(self.schedule.batch):
            marks = self._marks(self.held_out_labels, batch)
            logits = [self._logits(self.weights[rows], batch) for rows in self._slices(batch)]
            totals = totals + self._count(torch.cat(logits), marks)
        right, n_predicted, n_gold, loss = cast(Tensor, totals).cpu().numpy().T
        f1, loss = 2 * right / np.maximum(1, n_predicted + n_gold), loss / n
        train_loss = self.train_loss[self.active] / (self.steps - self.validated_at)
        points = zip(self.active.tolist(), train_loss.tolist(), loss.tolist(), strict=True)
        for probe, *two_losses in points:
            self.curves[probe].append((self.steps, *two_losses))
        self.train_loss.zero_()
        self.validated_at = self.steps
        self._judge(f1 if self.schedule.watch == "f1" else -loss)

    def _count(
        self,
        logits: Float[Tensor, "probe target label"],
        marks: Float[Tensor, "probe target label"],
    ) -> Float[Tensor, "probe 4"]:
        """Sums over targets: labels that are right, that are predicted, of the gold, and the loss."""
        gold = marks > 0
        predicted = span_network.predict_labels(logits, self.loss)
        counts = [(predicted & gold).sum((1, 2)), predicted.sum((1, 2)), gold.sum((1, 2))]
        total = span_network.losses(logits, marks, self.loss).double().sum(1)
        return torch.stack([*counts, total], -1)

    def _judge(self, scores: Float[np.ndarray, " active"]) -> None:
        """Stores the weights that are the best so far, halves learning rates and ends probes."""
        s, active = self.schedule, self.active
        margin = 1e-4 * (np.abs(scores) if s.watch == "loss" else 1)
        better = scores > self.score[active] + margin
        self.best[active[better]] = self.weights[np.flatnonzero(better)]
        self.score[active] = np.where(better, scores, self.score[active])
        self.n_worse[active] = np.where(better, 0, self.n_worse[active] + 1)
        decays = (self.n_worse[active] > 0) & (self.n_worse[active] % (s.patience + 1) == 0)
        self.rate[active] *= np.where(decays, 0.5, 1.0)
        stays: Bool[np.ndarray, " active"] = self.n_worse[active] < s.stop
        stays &= np.array([len(self.curves[probe]) < s.limit for probe in active])
        stays &= self.rate[active] >= s.smallest_rate
        if not stays.all():
            rows: Int[np.ndarray, " row"] = np.flatnonzero(stays)
            self.active = active[stays]
            self.weights, self.moments = self.weights[rows], self.moments[:, rows]
