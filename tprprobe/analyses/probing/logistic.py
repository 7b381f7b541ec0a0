"""Multinomial logistic regression with an L2 penalty, many problems on the same vectors at once.

The optimum of each is unique (the loss is strictly convex in the penalised weights), so that nothing
depends on a seed, a learning rate or an order.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

MEMORY = 12  # steps that the quasi-Newton method remembers
GAIN = 1e-5  # nats a target that a further step is still worth
MOST = 500  # steps
BACKTRACKS = 12

Points = Float[Tensor, "problem number"]
Values = Float[Tensor, " problem"]
Evaluate = Callable[[Points, Int[Tensor, " problem"]], tuple[Values, Points]]


@dataclass(frozen=True, eq=False)
class Directions:
    """Orthonormal directions of vectors, and the variance along each of them."""

    axes: Float[Tensor, "width width"]
    variance: Float[Tensor, " width"]


def find_directions(x: Float[Tensor, "target width"]) -> Directions:
    """The principal directions of vectors, along which the Hessian of a problem is nearly diagonal."""
    variance, axes = torch.linalg.eigh((x.T @ x).double() / len(x))
    return Directions(axes.to(x.dtype), variance.clamp(min=0).to(x.dtype))


def fit_logistic(
    x: Float[Tensor, "target width"],
    shares: Float[Tensor, "problem target label"],
    penalty: Float[Tensor, " problem"],
    start: Float[Tensor, "problem width_and_1 label"] | None = None,
) -> Float[Tensor, "problem width_and_1 label"]:
    """The weights (and last the intercept) that minimise the mean cross-entropy + penalty/2 ‖W‖².

    ``shares`` are the labels of every target, adding up to one; a target whose shares are all 0 does
    not count. ``start`` is where to begin, the weights for another penalty say.
    Source: Nocedal and Wright 2006, algorithm 7.5 (L-BFGS), in coordinates in which the Hessian of
    the uniform prediction is the identity.
    """
    n_problems, _, n_labels = shares.shape
    found = find_directions(x)
    z = torch.cat([x @ found.axes, x.new_ones(len(x), 1)], 1)
    bend = torch.cat([found.variance, found.variance.new_ones(1)]) / n_labels
    held = torch.cat([penalty[:, None].expand(-1, x.shape[1]), penalty.new_zeros(n_problems, 1)], 1)
    scale = (bend + held).clamp(min=1e-12).rsqrt()[..., None]
    counted = shares.sum((1, 2))

    def evaluate(points: Points, which: Int[Tensor, " problem"]) -> tuple[Values, Points]:
        weight = scale[which] * points.view(len(points), -1, n_labels)
        wide = z @ weight.permute(1, 0, 2).reshape(z.shape[1], -1)
        logs = wide.view(len(z), -1, n_labels).permute(1, 0, 2).log_softmax(-1)
        marks, n = shares[which], counted[which]
        value = -(marks * logs).sum((1, 2), dtype=torch.float64) / n
        value += (held[which][..., None] * weight**2).sum((1, 2), dtype=torch.float64) / 2
        error = (logs.exp() * marks.sum(-1, keepdim=True) - marks) / n[:, None, None]
        slope = z.T @ error.permute(1, 0, 2).reshape(len(z), -1)
        slope = slope.view(-1, len(points), n_labels).permute(1, 0, 2)
        slope = (slope + held[which][..., None] * weight) * scale[which]
        return value, slope.reshape(len(points), -1)

    rotated = x.new_zeros(n_problems, x.shape[1] + 1, n_labels)
    if start is not None:
        rotated = torch.cat([found.axes.T @ start[:, :-1], start[:, -1:]], 1)
    ended = minimize(evaluate, (rotated / scale).flatten(1)).view(rotated.shape) * scale
    return torch.cat([found.axes @ ended[:, :-1], ended[:, -1:]], 1)


def minimize(evaluate: Evaluate, start: Points) -> Points:
    """The minima of convex functions, by L-BFGS with backtracking until each has converged."""
    points, live = start.clone(), torch.arange(len(start))
    values, slopes = evaluate(points, live)
    history: list[tuple[Points, Points]] = []
    for _ in range(MOST):
        steps = -_precondition(slopes, history)
        gains = -(steps * slopes).sum(1)
        stays = gains > GAIN
        if not stays.any():
            break
        live, values, slopes, steps = live[stays], values[stays], slopes[stays], steps[stays]
        history = [(s[stays], y[stays]) for s, y in history]
        before, old = points[live], slopes
        after, values, slopes, moved = _search(evaluate, live, before, values, slopes, steps)
        points[live] = after
        history = [*history, (after - before, slopes - old)][-MEMORY:]
        live, values, slopes = live[moved], values[moved], slopes[moved]
        history = [(s[moved], y[moved]) for s, y in history]
        if not len(live):
            break
    return points


def _precondition(slopes: Points, history: list[tuple[Points, Points]]) -> Points:
    """The inverse Hessian that the history of steps and changes of slope implies, times the slopes."""
    found, parts = slopes, []
    for step, change in reversed(history):
        curve = (step * change).sum(1, keepdim=True)
        rate = torch.where(curve > 0, 1 / curve, 0)
        share = rate * (step * found).sum(1, keepdim=True)
        found = found - share * change
        parts.append((step, change, rate, share))
    if history:
        step, change = history[-1]
        size = (change * change).sum(1, keepdim=True)
        found = found * ((step * change).sum(1, keepdim=True) / size.clamp(min=1e-30)).clamp(
            min=1e-6
        )
    for step, change, rate, share in reversed(parts):
        found = found + step * (share - rate * (change * found).sum(1, keepdim=True))
    return found


def _search(
    evaluate: Evaluate, live: Tensor, points: Points, values: Values, slopes: Points, steps: Points
) -> tuple[Points, Values, Points, Bool[Tensor, " problem"]]:
    """The points after a step, halved until the value falls enough (Armijo); which of them moved."""
    gains = (steps * slopes).sum(1)
    size = torch.ones_like(gains)
    ended, value, slope = points.clone(), values.clone(), slopes.clone()
    open_ = torch.arange(len(live))
    for _ in range(BACKTRACKS):
        tried = points[open_] + size[open_, None] * steps[open_]
        v, s = evaluate(tried, live[open_])
        good = v <= values[open_] + 1e-4 * size[open_] * gains[open_]
        at = open_[good]
        ended[at], value[at], slope[at] = tried[good], v[good], s[good]
        open_ = open_[~good]
        if not len(open_):
            break
        size[open_] /= 2
    moved = torch.ones(len(live), dtype=torch.bool)
    moved[open_] = False
    return ended, value, slope, moved
