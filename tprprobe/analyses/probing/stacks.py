"""Stacks of probes: their inputs and labels in a batch, and their weights."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.analyses.probing.batches import Chunk
from tprprobe.analyses.probing.edge_gradients import BLOCK
from tprprobe.analyses.probing.grid import Piece
from tprprobe.analyses.probing.labelled_splits import Examples
from tprprobe.analyses.probing.probes import fresh_probes
from tprprobe.analyses.probing.settings import Loss, Schedule

BLOCK_OF_GPU = 2**16  # targets of all probes whose hidden units are computed at once


class Stack:
    """Probes of one task, loss, portion and shape, with the best weights that they have had so far.

    ``curves`` are their training curves: of every probe rows of step, training and held-out loss.
    """

    def __init__(self, piece: Piece, schedule: Schedule, device: torch.device):
        self.probes, self.shape, self.splits = piece.probes, piece.shape, piece.splits
        self.schedule, self.device = schedule, device
        self.vectors = list(dict.fromkeys(probe.vector for probe in piece.probes))
        self.loss: Loss = piece.probes[0].loss
        self.best = fresh_probes(piece.shape, [probe.seed for probe in piece.probes]).to(device)
        self.curves: list[list[tuple[int, float, float]]] = [[] for _ in piece.probes]
        ones = torch.ones(len(self.vectors), piece.shape.width, device=device)
        self.mean, self.scale = torch.zeros_like(ones), ones

    def places(self, probes: np.ndarray) -> list[int]:
        """The places of some probes' vectors among those of the stack."""
        return [self.vectors.index(self.probes[int(probe)].vector) for probe in probes]

    def groups(self, probes: np.ndarray, n_targets: int) -> Iterator[tuple[slice, list[int]]]:
        """Slices of the probes that are computed together, and the places of their vectors."""
        size = max(1, (BLOCK if self.device.type == "cpu" else BLOCK_OF_GPU) // n_targets)
        places = self.places(probes)
        for start in range(0, len(probes), size):
            yield slice(start, start + size), places[start : start + size]

    def read(self, chunk: Chunk, which: slice = slice(None)) -> Float[Tensor, "vector row width"]:
        """(vector − mean) / scale of the stack's vectors in a chunk; the last row stays 0."""
        mean, scale = self.mean[which, None], self.scale[which, None]
        found = (chunk.stacked(self.vectors[which]) - mean) / scale
        found[:, -1] = 0
        return found

    def marks(self, examples: Examples, chosen: np.ndarray, probes: np.ndarray) -> Tensor:
        """The labels [probe, target, label] that some of the probes should give."""
        names = [self.probes[int(probe)].labels for probe in probes]
        found = {name: examples.marks[name][chosen] for name in {*names}}
        marks = torch.from_numpy(np.stack([found[name] for name in names])).float()
        return marks.to(self.device)

    def unseen(
        self, examples: Examples, chosen: np.ndarray, probes: np.ndarray
    ) -> Int[Tensor, "probe target"]:
        """The number of each target's labels that no probe can give; only real labels can be new."""
        real = np.array([self.probes[int(probe)].labels == "real" for probe in probes])
        found = torch.from_numpy(real[:, None] * examples.targets.unseen[chosen])
        return found.to(self.device)


def losses(
    logits: Float[Tensor, "probe target label"],
    marks: Float[Tensor, "probe target label"],
    loss: Loss,
) -> Float[Tensor, "probe target"]:
    """The loss of every target in nats: cross-entropy averaged over labels, or of the softmax."""
    if loss == "sigmoid":
        each = torch.nn.functional.binary_cross_entropy_with_logits(logits, marks, reduction="none")
        return each.mean(-1)
    shares = marks / marks.sum(-1, keepdim=True).clamp(min=1)
    return -(shares * logits.log_softmax(-1)).sum(-1)
