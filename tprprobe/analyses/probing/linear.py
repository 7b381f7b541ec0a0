"""Linear probes: multinomial logistic regression, its L2 penalty chosen on held-out documents.

The optimum of each is unique (the loss is strictly convex in the penalized weights), so that nothing
depends on a seed, a learning rate or an order. Many problems on the same vectors are solved at once.
Probes take their turns, where the documents are divided by chance: in each, other documents are tested,
so that every document is tested once, by weights that have not seen it. The penalty is chosen in the
first turn; the others begin at its optimum, and end at their own.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.analyses.probing.document_counts import (
    Curves,
    Probe,
    Tested,
    count_probes,
    labels_of,
    list_tested,
    losses,
    sum_documents,
)
from tprprobe.analyses.probing.examples import Turn
from tprprobe.analyses.probing.inputs import Reader

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
COUNTED = 4096  # targets that are counted at once
LEAST = 0.1  # of its deviation on dev documents: what the few targets of a portion hardly vary in
MEMORY = 8  # steps that the quasi-Newton method remembers
GAIN = 1e-3  # of its loss that a further step is still worth
LEARNT = 4  # steps before what a further one is worth can be trusted
MOST = 500  # steps
BACKTRACKS = 12
BLOCK = 2048  # targets whose logits are held at once

Inputs = Float[Tensor, "target input"]
Weights = Float[Tensor, "probe input_and_1 label"]
Points = Float[Tensor, "problem number"]
Values = Float[Tensor, " problem"]
Evaluate = Callable[[Points, Int[Tensor, " problem"]], tuple[Values, Points]]


def fit_linear(probes: Sequence[Probe], reader: Reader) -> list[Tested]:
    """Probes of one vector, fitted and tested in every turn of their splits; their weights are the first turn's."""
    splits = probes[0].splits
    x = reader.means(splits.examples)
    tested = x if splits.tested is splits.examples else reader.means(splits.tested)
    fit = _Fit(probes, splits.turns[0], x)
    penalty, first, curves = fit.choose()
    weights, sums = first, [fit.count(first, tested)]
    for turn in splits.turns[1:]:
        fit = _Fit(probes, turn, x)
        weights = fit.go_on(penalty, weights)
        sums.append(fit.count(weights, tested))
    named = {"output_weight": first[:, :-1], "output_bias": first[:, -1]}
    return list_tested(probes, np.sum(sums, axis=0), curves, named, reader)


class _Fit:
    """The probes of one vector in a turn, on standardized inputs."""

    def __init__(self, probes: Sequence[Probe], turn: Turn, x: Inputs):
        self.probes, self.splits, self.turn = probes, probes[0].splits, turn
        train, dev = (x[torch.from_numpy(places)] for places in (turn.train, turn.dev))
        self.mean = train.mean(0)
        deviation = _deviation(train)
        if len(dev):  # a later turn of a twin may have none
            deviation = torch.maximum(deviation, LEAST * _deviation(dev))
        flat = deviation < 1e-6 * self.mean.abs() + 1e-12
        self.scale = torch.where(flat, 1.0, deviation)
        self.train, self.dev = ((part - self.mean) / self.scale for part in (train, dev))
        self.marks = labels_of(probes, self.splits.examples, turn.train, x.device)
        shares = self.marks / self.marks.sum(-1, keepdim=True).clamp(min=1)
        self.regressions = Regressions(self.train, shares)

    def choose(self) -> tuple[Float[Tensor, " probe"], Weights, Curves]:
        """The best of PENALTIES for every probe on the dev documents, its weights, and the losses on the way.

        From the strongest penalty on, each begins where the one before ended, until that loss rises.
        """
        n, device = len(self.probes), self.train.device
        marks = labels_of(self.probes, self.splits.examples, self.turn.dev, device)
        live, lowest = torch.arange(n, device=device), torch.full((n,), torch.inf, device=device)
        chosen = torch.full((n,), PENALTIES[0], device=device)
        curves: Curves = [[] for _ in self.probes]
        weights = best = self.regressions.solve(chosen)
        for step, penalty in enumerate(PENALTIES):
            if step:
                weights = self.regressions.solve(
                    torch.full_like(lowest[live], penalty), live, weights
                )
            train, dev = (
                losses(_logits(x, weights), y[live], "softmax").mean(1)
                for x, y in ((self.train, self.marks), (self.dev, marks))
            )
            for probe, *point in zip(live.tolist(), train.tolist(), dev.tolist(), strict=True):
                curves[probe].append((step, *point))
            better = dev < lowest[live]
            live, weights = live[better], weights[better]
            if not len(live):
                break
            lowest[live], chosen[live] = dev[better], penalty
            best = best.index_copy(0, live, weights)
        return chosen, self._raw(best), curves

    def go_on(self, penalty: Float[Tensor, " probe"], weights: Weights) -> Weights:
        """The optima of this turn under these penalties, from those of another turn."""
        start = weights.clone()
        start[:, -1] += (self.mean[:, None] * start[:, :-1]).sum(1)
        start[:, :-1] *= self.scale[:, None]
        return self._raw(self.regressions.solve(penalty, start=start))

    def _raw(self, weights: Weights) -> Weights:
        """Weights for standardized inputs as weights for the inputs as they are."""
        slope = weights[:, :-1] / self.scale[:, None]
        shift = weights[:, -1:] - (self.mean[:, None] * slope).sum(1, keepdim=True)
        return torch.cat([slope, shift], 1)

    def count(self, weights: Weights, x: Inputs) -> Float[np.ndarray, "probe subset document term"]:
        """The counts by document of what the probes give the test examples."""
        examples, test = self.splits.tested, self.turn.test
        parts = np.array_split(test, range(COUNTED, len(test), COUNTED))
        terms = [
            count_probes(self.probes, _logits(x[torch.from_numpy(some)], weights), examples, some)
            for some in parts
        ]
        joined = np.concatenate(terms, 1)
        return np.stack([sum_documents(part, examples, test) for part in joined])


def _deviation(x: Inputs) -> Float[Tensor, " input"]:
    return (x - x.mean(0)).square().mean(0).sqrt()


def _logits(x: Inputs, weights: Weights) -> Float[Tensor, "probe target label"]:
    return x @ weights[:, :-1] + weights[:, -1:]


class Regressions:
    """Problems that minimise the mean cross-entropy + penalty/2 ‖W‖² on the same vectors.

    ``shares`` are the labels of every target, adding up to one; a target whose shares are all 0 does
    not count. Source: Nocedal and Wright 2006, algorithm 7.5 (L-BFGS), in coordinates in which the
    Hessian is about the identity: the principal directions of the vectors, each label's scale the
    geometric mean of π (1 − π) and 1/K, its curvature where label shares π are predicted and where
    all K labels are as likely.
    """

    def __init__(
        self,
        x: Float[Tensor, "target width"],
        shares: Float[Tensor, "problem target label"],
    ):
        variance, axes = torch.linalg.eigh((x.T @ x).double() / len(x))  # principal directions
        variance, self.axes = variance.clamp(min=0).to(x.dtype), axes.to(x.dtype)
        self.x = torch.cat([x @ self.axes, x.new_ones(len(x), 1)], 1)
        self.shares = shares.transpose(0, 1).contiguous()
        n_problems, _, n_labels = shares.shape
        self.counted = shares.sum((1, 2))
        self.pull = (self.x.T @ self.shares.flatten(1)).view(-1, n_problems, n_labels).double()
        self.complete = bool((self.counted > len(x) - 0.5).all())  # no target counts in some only
        common = (shares.sum(1) + 0.5) / (self.counted + 0.5 * n_labels)[:, None]
        self.intercept = common.log()
        self.bend = torch.cat([variance, variance.new_ones(1)])[:, None, None] * (
            (common * (1 - common)).sqrt() / n_labels**0.5
        )
        self.penalized = torch.ones_like(self.bend[:, :1, :1])
        self.penalized[-1] = 0
        self.n_problems, self.n_labels = n_problems, n_labels

    def solve(
        self,
        penalty: Float[Tensor, " problem"],
        which: Int[Tensor, " problem"] | None = None,
        start: Float[Tensor, "problem width_and_1 label"] | None = None,
        gain: float = GAIN,
    ) -> Float[Tensor, "problem width_and_1 label"]:
        """The weights (and last the intercept) of some problems, under a penalty for each.

        They begin at ``start``, or at the label shares, and end where a step is worth less than that share of the loss.
        """
        which = torch.arange(self.n_problems, device=self.x.device) if which is None else which
        held = self.penalized * penalty[:, None]
        scale = (self.bend[:, which] + held).clamp(min=1e-12).rsqrt()
        if start is None:
            begin = torch.zeros_like(scale)
            begin[-1] = self.intercept[which]
        else:
            begin = torch.cat([self.axes.T @ start[:, :-1], start[:, -1:]], 1).transpose(0, 1)

        def evaluate(points: Points, some: Int[Tensor, " problem"]) -> tuple[Values, Points]:
            shape = (len(points), len(self.x[0]), self.n_labels)
            weight = scale[:, some] * points.view(shape).transpose(0, 1)
            value, slope = self._losses(weight, which[some])
            value += (held[:, some] * weight**2).sum((0, 2), dtype=torch.float64) / 2
            slope = (slope + held[:, some] * weight) * scale[:, some]
            return value, slope.transpose(0, 1).flatten(1)

        ended = minimize(evaluate, (begin / scale).transpose(0, 1).flatten(1), gain)
        ended = ended.view(len(which), -1, self.n_labels) * scale.transpose(0, 1)
        return torch.cat([self.axes @ ended[:, :-1], ended[:, -1:]], 1)

    def _losses(
        self, weight: Float[Tensor, "width_and_1 problem label"], which: Int[Tensor, " problem"]
    ) -> tuple[Values, Float[Tensor, "width_and_1 problem label"]]:
        """The mean cross-entropy of some problems, and its slope; a block of targets at a time.

        With logits z = x w it is Σ (log Σ exp z) − Σ shares · z, whose last term is xᵀ shares · w.
        """
        wide, pull = weight.flatten(1), self.pull[:, which]
        value = -(pull * weight).sum((0, 2))
        slope = -pull.to(wide.dtype).flatten(1)
        for start in range(0, len(self.x), BLOCK):
            x = self.x[start : start + BLOCK]
            logits = (x @ wide).view(len(x), *weight.shape[1:])
            logs = logits.log_softmax(-1)
            norms, predicted = logits[..., 0] - logs[..., 0], logs.exp_()
            if not self.complete:
                counts = self.shares[start : start + BLOCK][:, which].sum(-1)
                norms, predicted = norms * counts, predicted * counts[..., None]
            value += norms.sum(0, dtype=torch.float64)
            slope.addmm_(x.T, predicted.flatten(1))
        n = self.counted[which]
        return value / n, slope.view(weight.shape) / n[:, None]


class Move(NamedTuple):
    """A step of problems, the change of slope that came with it, and 1 / (step · change)."""

    step: Points
    change: Points
    rate: Float[Tensor, "problem one"]


def minimize(evaluate: Evaluate, start: Points, gain: float) -> Points:
    """The minima of convex functions, by L-BFGS with backtracking until a step gains less than that share."""
    points, live = start.clone(), torch.arange(len(start), device=start.device)
    values, slopes = evaluate(points, live)
    moved = torch.ones_like(live, dtype=torch.bool)
    history: list[Move] = []
    for n in range(MOST):
        steps = -_precondition(slopes, history)
        stays = moved & (-_dot(steps, slopes)[:, 0] > (gain * values if n >= LEARNT else 0))
        if not stays.all():
            live, values, slopes, steps = (each[stays] for each in (live, values, slopes, steps))
            history = [Move(*(each[stays] for each in move)) for move in history]
        if not len(live):
            break
        before, old = points[live], slopes
        after, values, slopes, moved = _search(evaluate, live, before, values, slopes, steps)
        points[live] = after
        step, change = after - before, slopes - old
        curve = _dot(step, change)
        history = [*history, Move(step, change, torch.where(curve > 0, 1 / curve, 0))][-MEMORY:]
    return points


def _dot(one: Points, other: Points) -> Float[Tensor, "problem one"]:
    return torch.linalg.vecdot(one, other)[:, None]


def _precondition(slopes: Points, history: Sequence[Move]) -> Points:
    """The inverse Hessian that the history of steps and changes of slope implies, times the slopes."""
    found, shares = slopes.clone(), []
    for move in reversed(history):
        share = move.rate * _dot(move.step, found)
        found.addcmul_(share, move.change, value=-1)
        shares.append(share)
    if history:
        last = history[-1]
        size = _dot(last.change, last.change).clamp(min=1e-30)
        found *= (_dot(last.step, last.change) / size).clamp(min=1e-6)
    for move, share in zip(history, reversed(shares), strict=True):
        found.addcmul_(move.step, share - move.rate * _dot(move.change, found))
    return found


def _search(
    evaluate: Evaluate, live: Tensor, points: Points, values: Values, slopes: Points, steps: Points
) -> tuple[Points, Values, Points, Bool[Tensor, " problem"]]:
    """The points after a step, halved until the value falls enough (Armijo); which of them moved."""
    gains = _dot(steps, slopes)[:, 0]
    ended = points + steps
    value, slope = evaluate(ended, live)
    worse = value > values + 1e-4 * gains
    if worse.any():
        size = torch.ones_like(gains)
        open_ = worse.nonzero()[:, 0]
        for _ in range(BACKTRACKS):
            size[open_] /= 2
            tried = points[open_] + size[open_, None] * steps[open_]
            v, s = evaluate(tried, live[open_])
            good = v <= values[open_] + 1e-4 * size[open_] * gains[open_]
            at = open_[good]
            ended[at], value[at], slope[at] = tried[good], v[good], s[good]
            worse[at] = False
            open_ = open_[~good]
            if not len(open_):
                break
        ended[worse], value[worse], slope[worse] = points[worse], values[worse], slopes[worse]
    return ended, value, slope, ~worse
