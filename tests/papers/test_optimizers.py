"""Adafactor and the smoothed loss of jiang's recipe, against their definitions."""

import numpy as np
import pytest
import torch

from tprpapers.jiang.adafactor import Adafactor
from tprprobe.training.loop import relative_step
from tprprobe.training.losses import summed_loss


@pytest.mark.parametrize(
    ("step", "size"),
    [(1, 0.01), (30_000, 0.01), (30_001, 10_001**-0.5), (120_000, 100_000**-0.5)],
)
def test_relative_step(step, size):
    assert relative_step(step) == pytest.approx(size)


def literal_updates(p: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """The parameter after steps of the published Adafactor, in double precision."""
    averages: dict[str, np.ndarray] = {}
    for t, g in enumerate(gradients, 1):
        beta = 1 - t**-0.8
        square = g**2 + 1e-30
        factors = {"all": square} if g.ndim < 2 else {"r": square.mean(-1), "c": square.mean(-2)}
        averages = {k: beta * averages.get(k, 0) + (1 - beta) * v for k, v in factors.items()}
        if g.ndim < 2:
            u = g / np.sqrt(averages["all"])
        else:
            r, c = averages["r"], averages["c"]
            u = g / np.sqrt(r / r.mean(-1, keepdims=True))[..., None] / np.sqrt(c)[..., None, :]
        u = u / max(1.0, np.sqrt((u**2).mean()))
        p = p - 0.01 * max(1e-3, np.sqrt((p**2).mean())) * u
    return p


@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 4, 3), ()])
@pytest.mark.parametrize("size", [1.0, 1e-5], ids=["ordinary", "tiny"])
def test_adafactor_is_the_published_one(shape, size):
    rng = np.random.default_rng(0)
    start = rng.normal(size=shape) * size
    gradients = [rng.normal(size=shape) * 10.0**-k for k in range(5)]
    parameter = torch.nn.Parameter(torch.tensor(start))
    optimizer = Adafactor([parameter], lr=relative_step(1))
    for gradient in gradients:
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    assert parameter.detach().numpy() == pytest.approx(literal_updates(start, gradients), rel=1e-9)


def test_smoothed_loss_is_the_divergence_from_smoothed_labels():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 4, 7, generator=generator)
    labels = torch.tensor([[3, 6, 1, 0], [2, 0, 0, 0]])
    q = torch.full((7,), 0.1 / 5)
    q[0] = 0
    expected = []
    for b, t in ((0, 0), (0, 1), (0, 2), (1, 0)):
        row = q.clone()
        row[labels[b, t]] = 0.9
        logs = logits[b, t].log_softmax(-1)
        expected.append(sum(x * (x.log() - y) for x, y in zip(row[1:], logs[1:], strict=True)))
    loss = summed_loss(logits, labels, pad=0, smoothing=0.1) / 4
    assert loss.item() == pytest.approx(torch.stack(expected).mean().item(), rel=1e-5)
