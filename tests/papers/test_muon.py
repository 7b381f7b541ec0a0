"""Muon against the singular value decomposition, and against its update written out."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tprpapers.study.muon import Muon, orthogonalize

shapes = st.tuples(st.integers(1, 3), st.integers(1, 12), st.integers(1, 12))


def random(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=40)
@given(shapes, st.integers(0, 99))
def test_singular_values_become_about_one_and_vectors_stay(shape, seed):
    matrices = random(shape, seed)
    u, s, vt = torch.linalg.svd(matrices, full_matrices=False)
    orthogonalized = orthogonalize(matrices)
    inner = u.mT @ orthogonalized @ vt.mT  # diagonal where the singular vectors have stayed
    diagonal = inner.diagonal(dim1=-2, dim2=-1)
    assert (inner - torch.diag_embed(diagonal)).abs().max() < 1e-3
    large = s > 0.1 * s[:, :1]
    assert diagonal[large].min() > 0.5
    assert diagonal.max() < 1.3


def test_an_update_is_the_equation():
    """W ← W − lr · 0.2 √max(n, m) · O(g + μ-mix of the momentum), for two steps."""
    weight = nn.Parameter(random((4, 6), 0))
    optimizer, expected, momentum = Muon([weight], lr=0.1, momentum=0.9), weight.detach().clone(), 0
    for step in (1, 2):
        gradient = random((4, 6), step)
        momentum = 0.9 * momentum + 0.1 * gradient
        look_ahead = 0.1 * gradient + 0.9 * momentum
        expected = expected - 0.1 * 0.2 * math.sqrt(6) * orthogonalize(look_ahead[None])[0]
        weight.grad = gradient
        optimizer.step()
        torch.testing.assert_close(weight.detach(), expected)
