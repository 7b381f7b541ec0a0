"""Least-squares concept erasure (LEACE): vectors without what tells two classes linearly.

x − Σ^½ P Σ^−½ (x − μ), with P the projection on Σ^−½ cov(x, z), moves vectors as little as can be so that no
linear function of them predicts the class. Source: Belrose et al. 2023, arXiv:2306.03819.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Eraser:
    """x − (x − μ) A, head by head where vectors have heads; A has rank one."""

    mean: Float[Tensor, "*head d"]
    matrix: Float[Tensor, "*head d d2"]

    @classmethod
    def fit(
        cls, vectors: Float[Tensor, "token *head d"], classes: Bool[Tensor, " token"]
    ) -> "Eraser":
        """The least change of vectors after which no linear function of them tells two classes."""
        mean = vectors.mean(0)
        x = (vectors - mean).movedim(0, -2).double()  # [*head, token, d]
        z = classes.double() - classes.double().mean()
        values, basis = torch.linalg.eigh(x.mT @ x / x.shape[-2])
        root = values.clamp_min(0).sqrt()
        has_variance = root > 1e-6 * root.amax(-1, keepdim=True)
        inverse = torch.where(has_variance, 1 / root, 0)
        covariance = basis.mT @ (x.mT @ z)[..., None]
        along = inverse[..., None] * covariance  # Σ^−½ cov(x, z), in the basis
        along = along / along.norm(dim=-2, keepdim=True).clamp_min(1e-12)
        writer = basis @ (root[..., None] * along)
        reader = basis @ (inverse[..., None] * along)
        return cls(mean, (reader @ writer.mT).to(vectors))

    def erase(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """The vectors without what tells the classes."""
        return x - torch.einsum("...d,...de->...e", x - self.mean.to(x), self.matrix.to(x))
