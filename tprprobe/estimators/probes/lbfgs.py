"""L-BFGS with backtracking, for many convex problems at once.

Source: Nocedal and Wright 2006, algorithms 7.4 and 7.5.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

MEMORY = 8  # steps that the quasi-Newton method remembers
MIN_STEPS = 4  # before what a further step is worth can be trusted
MAX_STEPS = 500
MAX_BACKTRACKS = 12
ARMIJO = 1e-4  # of the expected decrease, what a step has to bring

Points = Float[Tensor, "problem number"]
Values = Float[Tensor, " problem"]
Evaluate = Callable[[Points, Int[Tensor, " problem"]], tuple[Values, Points]]


class Update(NamedTuple):
    """A step of problems, the change of gradient that came with it, and 1 / (step · change)."""

    step: Points
    change: Points
    rate: Float[Tensor, "problem one"]


def minimize(evaluate: Evaluate, start: Points, gain: float) -> Points:
    """The minima of convex functions, each sought until a step gains less than that share of its value."""
    points, active = start.clone(), torch.arange(len(start), device=start.device)
    values, gradients = evaluate(points, active)
    moved = torch.ones_like(active, dtype=torch.bool)
    history: list[Update] = []
    for n in range(MAX_STEPS):
        steps = -_precondition(gradients, history)
        threshold = gain * values if n >= MIN_STEPS else 0
        stays = moved & (-_dot(steps, gradients)[:, 0] > threshold)
        if not stays.all():
            active, values, gradients, steps = (
                tensor[stays] for tensor in (active, values, gradients, steps)
            )
            history = [Update(*(tensor[stays] for tensor in update)) for update in history]
        if not len(active):
            break
        before, previous = points[active], gradients
        after, values, gradients, moved = _search(
            evaluate, active, before, values, gradients, steps
        )
        points[active] = after
        step, change = after - before, gradients - previous
        curvature = _dot(step, change)
        rate = torch.where(curvature > 0, 1 / curvature, 0)
        history = [*history, Update(step, change, rate)][-MEMORY:]
    return points


def _dot(x: Points, y: Points) -> Float[Tensor, "problem one"]:
    return torch.linalg.vecdot(x, y)[:, None]


def _precondition(gradients: Points, history: Sequence[Update]) -> Points:
    """The inverse Hessian that the history implies, times the gradients (two-loop recursion)."""
    direction, weights = gradients.clone(), []
    for update in reversed(history):
        weight = update.rate * _dot(update.step, direction)
        direction.addcmul_(weight, update.change, value=-1)
        weights.append(weight)
    if history:
        latest = history[-1]
        size = _dot(latest.change, latest.change).clamp(min=1e-30)
        direction *= (_dot(latest.step, latest.change) / size).clamp(min=1e-6)
    for update, weight in zip(history, reversed(weights), strict=True):
        direction.addcmul_(update.step, weight - update.rate * _dot(update.change, direction))
    return direction


def _search(
    evaluate: Evaluate,
    active: Tensor,
    points: Points,
    values: Values,
    gradients: Points,
    steps: Points,
) -> tuple[Points, Values, Points, Bool[Tensor, " problem"]]:
    """The points after a step, halved until the value falls enough (Armijo); which of them moved."""
    slopes = _dot(steps, gradients)[:, 0]
    ends = points + steps
    value, gradient = evaluate(ends, active)
    worse = value > values + ARMIJO * slopes
    if worse.any():
        size = torch.ones_like(slopes)
        unsolved = worse.nonzero()[:, 0]
        for _ in range(MAX_BACKTRACKS):
            size[unsolved] /= 2
            trial = points[unsolved] + size[unsolved, None] * steps[unsolved]
            trial_value, trial_gradient = evaluate(trial, active[unsolved])
            bound = values[unsolved] + ARMIJO * size[unsolved] * slopes[unsolved]
            falls = trial_value <= bound
            solved = unsolved[falls]
            ends[solved], gradient[solved] = trial[falls], trial_gradient[falls]
            value[solved] = trial_value[falls]
            worse[solved] = False
            unsolved = unsolved[~falls]
            if not len(unsolved):
                break
        ends[worse], value[worse], gradient[worse] = points[worse], values[worse], gradients[worse]
    return ends, value, gradient, ~worse
