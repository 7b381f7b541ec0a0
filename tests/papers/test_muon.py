"""Muon against the singular value decomposition, and against its update written out."""

import math

import pytest
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


def test_matrices_of_one_shape_do_not_meet():
    matrices = random((3, 4, 6), 0)
    together = orthogonalize(matrices)
    for matrix, orthogonalized in zip(matrices, together, strict=True):
        torch.testing.assert_close(
            orthogonalize(matrix[None])[0], orthogonalized, rtol=1e-4, atol=1e-5
        )


def test_zero_gradients_are_no_trouble():
    assert orthogonalize(torch.zeros(2, 3, 4)).eq(0).all()


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


def test_weights_without_a_gradient_stay():
    trained, untrained = nn.Parameter(random((2, 3), 0)), nn.Parameter(random((2, 3), 1))
    trained.grad = torch.ones(2, 3)
    Muon([trained, untrained]).step()
    assert untrained.equal(random((2, 3), 1))
    assert not trained.equal(random((2, 3), 0))


@pytest.mark.parametrize("steps", [1, 5])
def test_a_saved_state_goes_on_bit_for_bit(steps):
    def run(weight: nn.Parameter, optimizer: Muon, numbers: range) -> None:
        for number in numbers:
            weight.grad = random((3, 3), number)
            optimizer.step()

    uninterrupted, interrupted = (nn.Parameter(random((3, 3), 50)) for _ in range(2))
    run(uninterrupted, Muon([uninterrupted]), range(2 * steps))
    begun = Muon([interrupted])
    run(interrupted, begun, range(steps))
    restored = nn.Parameter(interrupted.detach().clone())
    resumed = Muon([restored])
    resumed.load_state_dict(begun.state_dict())
    run(restored, resumed, range(steps, 2 * steps))
    assert restored.equal(uninterrupted)


def test_muon_learns():
    """A least-squares problem that plain momentum of the same length would not solve so fast."""
    target, x = random((5, 8), 3), random((64, 8), 4)
    weight = nn.Parameter(torch.zeros(5, 8))
    optimizer = Muon([weight], lr=0.3)
    for step in range(150):
        optimizer.param_groups[0]["lr"] = 0.3 * (1 - step / 150)
        loss = (x @ weight.T - x @ target.T).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.01 * (x @ target.T).square().mean().item()
