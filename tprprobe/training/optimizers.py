"""Optimizers that torch does not have: the Adafactor of jiang's training recipe, and a Muon for CPUs."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

CONSTANT_STEPS, OFFSET = 30_000, 20_000
EPSILON, LEAST_SCALE = 1e-30, 1e-3
DECAY = -0.8


def relative_step(step: int) -> float:
    """jiang's schedule for steps counted from 1: 0.01 up to 30,000, then 1 / √(step − 20,000).

    Source: the code of github.com/jiangycTarheel/TPT-Summ; the learning rate and scheduler its scripts name have no effect.
    """
    return 1e-2 if step <= CONSTANT_STEPS else (step - OFFSET) ** -0.5


class Adafactor(torch.optim.Optimizer):
    """p ← p − lr · max(10⁻³, RMS(p)) · u, u the gradient over its factored RMS, clipped to RMS 1.

    ``lr`` is the relative step (:func:`relative_step`). Matrices keep row and column means of the
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
    old = state.get(name)
    state[name] = value if old is None else old.mul_(keep).add_(value, alpha=1.0 - keep)
    return state[name]


def _rms(x: Tensor) -> Tensor:
    return x.norm() / x.numel() ** 0.5


QUINTIC = (3.4445, -4.7750, 2.0315)


class Muon(torch.optim.Optimizer):
    """W ← W - lr · 0.2 √max(n, m) · orthogonalized Nesterov momentum of the gradient.

    For the weights between hidden layers. torch's own iterates in bfloat16, which a CPU without bf16 units
    runs fifty times slower, and one matrix at a time; this one keeps the weights' precision and batches
    matrices of one shape.
    Source: Jordan et al. 2024 (Newton–Schulz coefficients); Liu et al. 2025 (update of Adam's scale).
    """

    def __init__(self, params: Iterable[Tensor], lr: float = 1e-3, momentum: float = 0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update of all matrices that have a gradient."""
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = {}
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape.setdefault(matrix.shape, []).append(matrix)
            for shape, matrices in by_shape.items():
                moments = [self._momentum(matrix, group["momentum"]) for matrix in matrices]
                updates = orthogonalize(torch.stack(moments))
                for matrix, update in zip(matrices, updates, strict=True):
                    matrix.add_(update, alpha=-group["lr"] * 0.2 * max(shape) ** 0.5)

    def _momentum(self, matrix: Tensor, momentum: float) -> Tensor:
        state, gradient = self.state[matrix], matrix.grad
        assert gradient is not None
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)


def orthogonalize(
    matrices: Float[Tensor, "batch rows columns"], steps: int = 5
) -> Float[Tensor, "batch rows columns"]:
    """Nearly U Vᵀ of each matrix U Σ Vᵀ: a quintic Newton–Schulz iteration."""
    a, b, c = QUINTIC
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
