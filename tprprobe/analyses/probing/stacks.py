"""Probes in training: a stack of one shape, each with its own learning rate and its own end."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.analyses.probing.batches import Batch, Chunk
from tprprobe.analyses.probing.grid import Piece
from tprprobe.analyses.probing.labelled_splits import Examples
from tprprobe.analyses.probing.probes import EdgeProbes, draw_dropout
from tprprobe.analyses.probing.settings import Loss, Schedule

BETAS, EPS = (0.9, 0.999), 1e-8


class Stack:
    """Probes of one task, loss, portion and shape while they are trained together."""

    def __init__(self, piece: Piece, schedule: Schedule, device: torch.device):
        self.probes, self.shape, self.splits = piece.probes, piece.shape, piece.splits
        self.schedule, probes, shape = schedule, piece.probes, piece.shape
        self.vectors = list(dict.fromkeys(probe.vector for probe in probes))
        self.loss: Loss = probes[0].loss
        self.best = EdgeProbes.create(shape, [probe.seed for probe in probes]).to(device)
        self.module = self.best.take(torch.arange(len(probes), device=device))
        self.moments = {name: Moments.begin(p) for name, p in self.module.named_parameters()}
        self.live = np.arange(len(probes))
        self.rate = np.full(len(probes), schedule.learning_rate)
        self.score = np.full(len(probes), -np.inf)
        self.worse = np.zeros(len(probes), int)
        self.validations = np.zeros(len(probes), int)
        self.steps = 0
        ones = torch.ones(len(self.vectors), shape.width, device=device)
        self.mean, self.scale = torch.zeros_like(ones), ones

    @property
    def done(self) -> bool:
        """Whether no probe is trained any more."""
        return not len(self.live)

    def windows(self, batch: Batch, probes: np.ndarray) -> list[Tensor]:
        """What some of the probes read in a batch."""
        at = [self.vectors.index(self.probes[int(probe)].vector) for probe in probes]
        if at == list(range(len(self.vectors))):
            return batch.windows
        index = torch.tensor(at, device=batch.windows[0].device)
        return [windows.index_select(0, index) for windows in batch.windows]

    def read(self, chunk: Chunk) -> Float[Tensor, "vector row width"]:
        """(vector − mean) / scale of the stack's vectors in a chunk; the last row stays 0."""
        found = (chunk.stacked(self.vectors) - self.mean[:, None]) / self.scale[:, None]
        found[:, -1] = 0
        return found

    def marks(self, examples: Examples, chosen: np.ndarray, probes: np.ndarray) -> Tensor:
        """The labels [probe, target, label] that some of the probes should give."""
        names = [self.probes[int(probe)].labels for probe in probes]
        found = {name: examples.marks[name][chosen] for name in {*names}}
        marks = torch.from_numpy(np.stack([found[name] for name in names])).float()
        return marks.to(next(self.module.parameters()).device)

    def unseen(
        self, examples: Examples, chosen: np.ndarray, probes: np.ndarray
    ) -> Int[Tensor, "probe target"]:
        """How many labels of each target no probe can give; only the real ones can be new."""
        real = np.array([self.probes[int(probe)].labels == "real" for probe in probes])
        found = torch.from_numpy(real[:, None] * examples.targets.unseen[chosen])
        return found.to(next(self.module.parameters()).device)

    def learn(self, batch: Batch) -> None:
        """One step of Adam for every probe that is still trained."""
        seeds = [self.probes[int(probe)].seed for probe in self.live]
        masks = {s: draw_dropout(s, self.steps, batch.n, self.shape.hidden) for s in {*seeds}}
        kept = torch.stack([masks[seed] for seed in seeds]).to(batch.windows[0].device)
        logits = self.module(self.windows(batch, self.live), batch.owners, batch.n, kept)
        marks = self.marks(self.splits.train, batch.chosen, self.live)
        losses(logits, marks, self.loss).mean(1).sum().backward()
        self.steps += 1
        self._update()

    @torch.no_grad()
    def _update(self) -> None:
        parameters = dict(self.module.named_parameters())
        grads = {name: p.grad for name, p in parameters.items() if p.grad is not None}
        norm = torch.stack([g.flatten(1).norm(dim=1) for g in _matrices(grads)]).norm(dim=0)
        clip = (self.schedule.clip / (norm + 1e-6)).clamp(max=1)
        rate = torch.tensor(self.rate[self.live], dtype=norm.dtype, device=norm.device)
        for name, grad in grads.items():
            self.moments[name].step(parameters[name], grad, clip, rate, self.steps)
            parameters[name].grad = None

    @torch.no_grad()
    def judge(self, scores: Float[np.ndarray, " live"]) -> None:
        """After a validation: keep what is best, halve learning rates, end probes."""
        s, live = self.schedule, self.live
        least = 1e-4 * (np.abs(scores) if s.watch == "loss" else 1)
        better = scores > self.score[live] + least
        self._keep(better)
        self.score[live] = np.where(better, scores, self.score[live])
        self.worse[live] = np.where(better, 0, self.worse[live] + 1)
        decay = (self.worse[live] > 0) & (self.worse[live] % (s.patience + 1) == 0)
        self.rate[live] *= np.where(decay, 0.5, 1.0)
        self.validations[live] += 1
        stays = (self.worse[live] < s.stop) & (self.validations[live] < s.limit)
        stays &= self.rate[live] >= s.smallest_rate
        self._leave(stays)

    def _keep(self, better: Bool[np.ndarray, " live"]) -> None:
        device = next(self.module.parameters()).device
        to, source = self.live[better], np.flatnonzero(better)
        index = torch.from_numpy(to).to(device), torch.from_numpy(source).to(device)
        best = dict(self.best.named_parameters())
        for name, parameter in self.module.named_parameters():
            best[name][index[0]] = parameter[index[1]]

    def _leave(self, stays: Bool[np.ndarray, " live"]) -> None:
        if stays.all():
            return
        self.live = self.live[stays]
        chosen = torch.from_numpy(np.flatnonzero(stays))
        chosen = chosen.to(next(self.module.parameters()).device)
        self.module = self.module.take(chosen)
        for moments in self.moments.values():
            moments.take(chosen)


@dataclass
class Moments:
    """Adam's moments of a stacked parameter, with the largest second one (AMSGrad)."""

    first: Tensor
    second: Tensor
    largest: Tensor

    @classmethod
    def begin(cls, parameter: Tensor) -> "Moments":
        return cls(*(torch.zeros_like(parameter.detach()) for _ in range(3)))

    def take(self, chosen: Tensor) -> None:
        self.first, self.second = self.first[chosen], self.second[chosen]
        self.largest = self.largest[chosen]

    def step(self, parameter: Tensor, grad: Tensor, clip: Tensor, rate: Tensor, steps: int) -> None:
        """One step with a clip factor and a learning rate a probe."""
        ones = [1] * (grad.dim() - 1)
        if (clip < 1).any():
            grad.mul_(clip.view(-1, *ones))
        self.first.lerp_(grad, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(grad, grad, value=1 - BETAS[1])
        torch.maximum(self.largest, self.second, out=self.largest)
        step = (rate / (1 - BETAS[0] ** steps)).view(-1, *ones)
        scale = self.largest.sqrt().mul_(1 / (step * (1 - BETAS[1] ** steps) ** 0.5))
        parameter.addcdiv_(self.first, scale.add_(EPS / step), value=-1)


def _matrices(grads: dict[str, Tensor]) -> list[Tensor]:
    return [grad.reshape(len(grad), -1) for grad in grads.values()]


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
