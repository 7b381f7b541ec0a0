"""Twins: controls of a model's structure, whose weights are no longer what training made of them.

permuted   the trained weights, in another order within every matrix and vector: all keep their scale
untrained  weights drawn anew, as the model's configuration says
rescaled   the same, and every matrix multiplied to the scale of the trained one
The scale of a matrix is the root mean square of its numbers.
"""

from statistics import median

import torch
from torch import Tensor, nn

from tprprobe.console import note
from tprprobe.store.layout import TWINS

PERMUTED, UNTRAINED, RESCALED = TWINS
FAR = 1.5  # a factor between scales


def split_name(name: str) -> tuple[str | None, str]:
    """The kind of twin that a name begins with, and the name of the model: ``permuted:NAME``."""
    kind, _, known = name.partition(":")
    return (kind, known) if known and kind in TWINS else (None, name)


@torch.no_grad()
def permute_weights(model: nn.Module, seed: int) -> None:
    """Permutes the numbers of every parameter in place; one that is used twice is permuted once."""
    random = torch.Generator().manual_seed(seed)
    for weights in model.parameters():
        order = torch.randperm(weights.numel(), generator=random).to(weights.device)
        weights.copy_(weights.flatten()[order].view_as(weights))


@torch.no_grad()
def rescale_weights(twin: nn.Module, trained: nn.Module) -> None:
    """Multiplies every matrix of the twin in place to the scale that it has in the trained model."""
    for weights, factor in _factors(twin, trained):
        weights.mul_(factor)


def warn_of_scale(twin: nn.Module, trained: nn.Module, name: str) -> None:
    """Prints a warning if the untrained twin's matrices are on another scale than the trained ones."""
    factor = median([factor for _, factor in _factors(twin, trained)] or [1.0])
    if not 1 / FAR <= factor <= FAR:
        note(
            f"warning: the matrices of {name} are {factor:.2g} times as large as those that its "
            f"configuration starts with, so {UNTRAINED}:{name} may bind more or less than a model of "
            f"its scale: {PERMUTED}:{name} and {RESCALED}:{name} keep the scale"
        )


def _factors(twin: nn.Module, trained: nn.Module) -> list[tuple[Tensor, float]]:
    """Every matrix of the twin that is not zero, and by what it has to be multiplied."""
    known = dict(trained.named_parameters())
    matrices = [(each, known[name]) for name, each in twin.named_parameters() if each.ndim > 1]
    return [(new, _scale(old) / _scale(new)) for new, old in matrices if _scale(new) > 0]


def _scale(weights: Tensor) -> float:
    return weights.detach().float().square().mean().sqrt().item()
