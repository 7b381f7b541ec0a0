"""The Adafactor of jiang's training recipe, which torch does not have."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from tprprobe.training.recipes import Optimizer

EPSILON, LEAST_SCALE = 1e-30, 1e-3
DECAY = -0.8


def make_adafactor(
    model: nn.Module, _settings: Optimizer
) -> list[tuple[torch.optim.Optimizer, float]]:
    """The optimizer of a recipe, for all weights at the whole learning rate."""
    return [(Adafactor(model.parameters()), 1.0)]


class Adafactor(torch.optim.Optimizer):
    """p ← p − lr · max(10⁻³, RMS(p)) · u, u the gradient over its factored RMS, clipped to RMS 1.

    ``lr`` is the relative step (:func:`tprprobe.training.loop.relative_step`). Matrices keep row and column means of the
    squared gradient only. No momentum, no weight decay. It differs from ``torch.optim.Adafactor`` in
    its relative step and in where its ε enters.
    Source: optim_utils.py of jiang's code, after fairseq.
    """

    def __init__(self, params: Iterable[nn.Parameter], lr: float = 1e-2):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient; the closure's loss, if there is one."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.sub_(group["lr"] * self._update(p, p.grad))
        return loss

    def _update(self, p: Tensor, grad: Tensor) -> Tensor:
        state = self.state[p]
        state["step"] = state.get("step", 0) + 1
        keep = 1.0 - state["step"] ** DECAY
        square = grad.square() + EPSILON
        if grad.ndim < 2:
            update = grad * _average(state, "square", square, keep).rsqrt()
        else:
            row = _average(state, "row", square.mean(-1), keep)
            column = _average(state, "column", square.mean(-2), keep)
            row = (row / row.mean(-1, keepdim=True)).rsqrt()
            update = grad * row[..., None] * column.rsqrt()[..., None, :]
        clip = _rms(update).clamp(min=1.0)
        return update / clip * _rms(p).clamp(min=LEAST_SCALE)


def _average(state: dict[str, Any], name: str, value: Tensor, keep: float) -> Tensor:
    """The running average: keep · old + (1 − keep) · value."""
    average = state.get(name)
    state[name] = value if average is None else average.mul_(keep).add_(value, alpha=1.0 - keep)
    return state[name]


def _rms(x: Tensor) -> Tensor:
    return x.norm() / x.numel() ** 0.5
