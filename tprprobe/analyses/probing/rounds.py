"""A round: stacks of probes trained together, the store read once an epoch for all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from jaxtyping import Float

from tprprobe.analyses.probing.batches import chunks, read_batch, read_chunk
from tprprobe.analyses.probing.grid import Probe
from tprprobe.analyses.probing.labelled_splits import Order
from tprprobe.analyses.probing.probes import EdgeProbes
from tprprobe.analyses.probing.stacks import Stack
from tprprobe.analyses.probing.tallies import Tally

Report = Callable[[Sequence[Stack]], None]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained probe (``place`` of a stack) and its test sums [subset, document, term]."""

    probe: Probe
    stack: Stack
    place: int
    sums: Float[np.ndarray, "subset document term"]
    subsets: tuple[str, ...]

    @property
    def validations(self) -> int:
        return int(self.stack.validations[self.place])

    @property
    def weights(self) -> EdgeProbes:
        """The probe alone."""
        return self.stack.best.take(torch.tensor([self.place]))


def run_round(
    stacks: Sequence[Stack], samples: Order, device: torch.device, report: Report
) -> list[Fitted]:
    """Every probe of the stacks trained to its end and tested.

    ``samples`` are all training samples, those of no stack included: their order, and so what a
    probe is trained on when, does not depend on which other probes are in the round.
    """
    _standardise(stacks, samples, device)
    for epoch in count():
        live = [stack for stack in stacks if not stack.done]
        if not live:
            break
        for part in chunks(samples, epoch):
            _learn([stack for stack in live if not stack.done], part, device)
        _validate([stack for stack in live if stack.schedule.every is None], device)
        report(stacks)
    tallies = [  # of a codelength only the sum is needed
        Tally(
            stack, stack.best, np.arange(len(stack.probes)), stack.splits.test,
            by_document=stack.probes[0].portion is None,
        )
        for stack in stacks
    ]  # fmt: skip
    _fill(tallies, device)
    return [
        Fitted(probe, tally.stack, place, tally.sums[place], tuple(tally.subsets))
        for tally in tallies
        for place, probe in enumerate(tally.stack.probes)
    ]


def _learn(stacks: Sequence[Stack], samples: Order, device: torch.device) -> None:
    """Steps of every stack on its targets in some samples."""
    if not stacks:
        return
    chunk = read_chunk([stack.splits.train for stack in stacks], samples, device)
    for stack in stacks:
        train, schedule = stack.splits.train, stack.schedule
        vectors = stack.read(chunk)
        for chosen in train.batches(samples, schedule.batch):
            stack.learn(read_batch(train, chosen, chunk, vectors))
            if schedule.every is not None and stack.steps % schedule.every == 0:
                _validate([stack], device)
            if stack.done:
                break


def _validate(stacks: Sequence[Stack], device: torch.device) -> None:
    """Judge every probe that is still trained by what it does on the dev samples."""
    tallies = [
        Tally(stack, stack.module, stack.live, stack.splits.dev, by_document=False)
        for stack in stacks
        if not stack.done
    ]
    _fill(tallies, device)
    for tally in tallies:
        hit, false, missed, _, _, nats = tally.sums[:, 0, 0].T
        watched = {"f1": 2 * hit / np.maximum(1, 2 * hit + false + missed)}
        watched["loss"] = -nats / len(tally.examples)
        tally.stack.judge(watched[tally.stack.schedule.watch])


def _fill(tallies: Sequence[Tally], device: torch.device) -> None:
    """Count all examples of the tallies, every chunk of a store read once."""
    for corpus in dict.fromkeys(tally.examples.corpus for tally in tallies):
        some = [tally for tally in tallies if tally.examples.corpus is corpus]
        examples = [tally.examples for tally in some]
        for samples in chunks(np.unique(np.concatenate([each.samples for each in examples]))):
            chunk = read_chunk(examples, samples, device)
            for tally in some:
                tally.add(chunk, samples)


def _standardise(stacks: Sequence[Stack], samples: Order, device: torch.device) -> None:
    """Give the stacks mean and deviation of what their vectors are in the training samples."""
    wanted = [stack for stack in stacks if stack.schedule.standardise]
    if not wanted:
        return
    sums = {stack: [torch.zeros(())] * 3 for stack in wanted}
    for part in chunks(samples):
        chunk = read_chunk([stack.splits.train for stack in wanted], part, device)
        for stack in wanted:
            rows = chunk.places(stack.splits.train.rows(part))
            x = chunk.stacked(stack.vectors)[:, rows].double()
            n, total, squares = sums[stack]
            sums[stack] = [n + len(rows), total + x.sum(1), squares + (x * x).sum(1)]
    for stack, (n, total, squares) in sums.items():
        mean = total / n
        deviation = (squares / n - mean**2).clamp(min=0).sqrt()
        stack.mean, flat = mean.float(), deviation < 1e-6 * mean.abs() + 1e-12
        stack.scale = torch.where(flat, 1.0, deviation).float()
