"""A Muon for CPUs: torch's own iterates in bfloat16, one matrix at a time."""

from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tprprobe.training.loop import make_adam
from tprprobe.training.recipes import Optimizer

ADAM_BESIDE_MUON = 0.3  # of the learning rate, for embeddings, norms and biases


def make_muon(model: nn.Module, settings: Optimizer) -> list[tuple[torch.optim.Optimizer, float]]:
    """The optimizers of a recipe, with their shares of the learning rate: Muon for linear maps, AdamW for the rest."""
    linear = [m.weight for m in model.modules() if isinstance(m, nn.Linear)]
    linear_ids = {id(weight) for weight in linear}
    remaining = [weight for weight in model.parameters() if id(weight) not in linear_ids]
    return [(Muon(linear), 1.0), (make_adam(remaining, settings), ADAM_BESIDE_MUON)]


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
