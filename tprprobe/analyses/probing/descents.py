"""Descents: stacks of probes trained by Adam, each with its own learning rate and its own end."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tprprobe.analyses.probing.batches import Batch
from tprprobe.analyses.probing.edge_gradients import edge_gradients
from tprprobe.analyses.probing.probes import EdgeProbes, draw_dropout
from tprprobe.analyses.probing.stacks import Stack

BETAS, EPS = (0.9, 0.999), 1e-8


class Descent:
    """A stack in training: ``live`` are its probes that go on, ``module`` their present weights."""

    def __init__(self, stack: Stack):
        n, device = len(stack.probes), stack.device
        self.stack, self.schedule = stack, stack.schedule
        parameters = [p.detach().reshape(n, -1) for p in stack.best.parameters()]
        self.weights = torch.cat(parameters, 1)
        self.moments = DescentMoments.begin(self.weights)
        self.live = np.arange(n)
        self.rate = np.full(n, self.schedule.learning_rate)
        self.score = np.full(n, -np.inf)
        self.worse = np.zeros(n, int)
        self.steps = 0
        self.learned = torch.zeros(n, device=device)  # sum of losses since the step ``judged``
        self.judged = 0

    @property
    def module(self) -> EdgeProbes:
        """The probes that go on."""
        return EdgeProbes(self.stack.shape, self.stack.shape.split(self.weights))

    @property
    def done(self) -> bool:
        """True once no probe is trained any more."""
        return not len(self.live)

    @torch.no_grad()
    def learn(self, batch: Batch) -> None:
        """One step of Adam for every probe that is still trained."""
        stack, module = self.stack, self.module
        seeds = [stack.probes[int(probe)].seed for probe in self.live]
        masks = {
            s: draw_dropout(s, self.steps, batch.n, stack.shape.hidden).to(stack.device)
            for s in {*seeds}
        }
        marks = stack.marks(stack.splits.train, batch.chosen, self.live)
        self.steps += 1
        for rows, places in stack.groups(self.live, batch.n):
            grads = torch.empty_like(self.weights[rows])
            kept = torch.stack([masks[seed] for seed in seeds[rows]])
            windows, named = batch.windows(places), stack.shape.split(grads)
            some = module.part(rows)
            loss = edge_gradients(some, named, windows, batch.spans, kept, marks[rows], stack.loss)
            self.learned[self.live[rows]] += loss
            self._update(rows, grads)

    def _update(self, rows: slice, grads: Float[Tensor, "probe parameter"]) -> None:
        norm = grads.norm(dim=1)
        clip = (self.schedule.clip / (norm + 1e-6)).clamp(max=1)
        rate = torch.from_numpy(self.rate[self.live[rows]]).to(norm)
        self.moments.part(rows).step(self.weights[rows], grads, clip, rate, self.steps)

    @torch.no_grad()
    def judge(
        self, scores: Float[np.ndarray, " live"], held_out: Float[np.ndarray, " live"]
    ) -> None:
        """Keeps the weights that are the best so far, halves learning rates and ends probes.

        ``scores`` are what is watched, ``held_out`` losses that go to the training curves.
        """
        s, live = self.schedule, self.live
        self._draw(held_out)
        least = 1e-4 * (np.abs(scores) if s.watch == "loss" else 1)
        better = scores > self.score[live] + least
        self._keep(better)
        self.score[live] = np.where(better, scores, self.score[live])
        self.worse[live] = np.where(better, 0, self.worse[live] + 1)
        decay = (self.worse[live] > 0) & (self.worse[live] % (s.patience + 1) == 0)
        self.rate[live] *= np.where(decay, 0.5, 1.0)
        stays = self.worse[live] < s.stop
        stays &= np.array([len(self.stack.curves[int(probe)]) < s.limit for probe in live])
        stays &= self.rate[live] >= s.smallest_rate
        self._leave(stays)

    def _draw(self, held_out: Float[np.ndarray, " live"]) -> None:
        """Adds to every training curve the mean training loss since its last point and the held-out loss."""
        learned = (self.learned[self.live] / (self.steps - self.judged)).tolist()
        for probe, *point in zip(self.live, learned, held_out.tolist(), strict=True):
            self.stack.curves[int(probe)].append((self.steps, *point))
        self.learned.zero_()
        self.judged = self.steps

    def _keep(self, better: Bool[np.ndarray, " live"]) -> None:
        device = self.stack.device
        to, source = self.live[better], np.flatnonzero(better)
        index = torch.from_numpy(to).to(device), torch.from_numpy(source).to(device)
        best = dict(self.stack.best.named_parameters())
        for name, parameter in self.module.named_parameters():
            best[name][index[0]] = parameter[index[1]]

    def _leave(self, stays: Bool[np.ndarray, " live"]) -> None:
        if stays.all():
            return
        self.live = self.live[stays]
        chosen = torch.from_numpy(np.flatnonzero(stays)).to(self.stack.device)
        self.weights = self.weights[chosen]
        self.moments = self.moments.part(chosen)


@dataclass
class DescentMoments:
    """Adam's moments of a stacked parameter, with the largest second one (AMSGrad)."""

    first: Tensor
    second: Tensor
    largest: Tensor

    @classmethod
    def begin(cls, parameter: Tensor) -> "DescentMoments":
        return cls(*(torch.zeros_like(parameter.detach()) for _ in range(3)))

    def part(self, chosen: slice | Tensor) -> "DescentMoments":
        """The moments of some probes; of a slice of them the same memory."""
        return DescentMoments(self.first[chosen], self.second[chosen], self.largest[chosen])

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
