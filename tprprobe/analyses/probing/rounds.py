"""A round: stacks of probes trained together, the store read once an epoch for all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from jaxtyping import Float

from tprprobe.analyses.probing.batches import Reader, chunks, read_batch
from tprprobe.analyses.probing.descents import Descent
from tprprobe.analyses.probing.grid import Probe
from tprprobe.analyses.probing.labelled_splits import Order
from tprprobe.analyses.probing.linear import fit_stack
from tprprobe.analyses.probing.probes import Probes
from tprprobe.analyses.probing.stacks import Stack
from tprprobe.analyses.probing.tallies import Tally

Report = Callable[[int], None]  # how many probes are done


@dataclass(frozen=True, eq=False)
class Fitted:
    """A trained probe (``place`` of a stack) and its test sums [subset, document, term]."""

    probe: Probe
    stack: Stack
    place: int
    sums: Float[np.ndarray, "subset document term"]
    subsets: tuple[str, ...]

    @property
    def curve(self) -> Float[np.ndarray, "validation 3"]:
        """Step, training loss and held-out loss at every validation."""
        return np.array(self.stack.curves[self.place], float).reshape(-1, 3)

    @property
    def weights(self) -> Probes:
        """The weights of this probe alone."""
        return self.stack.best.take(torch.tensor([self.place]))


def run_round(
    stacks: Sequence[Stack], samples: Order, reader: Reader, report: Report
) -> list[Fitted]:
    """The probes of the stacks, each trained to its end and tested.

    ``samples`` are all training samples, those of no stack included: their order, and so what a
    probe is trained on when, does not depend on which other probes are in the round.
    """
    fitted, done = [], 0
    for stack in (stack for stack in stacks if not stack.shape.hidden):
        fitted += _add_up(fit_stack(stack))
        done += len(stack.probes)
        report(done)
    deep = [stack for stack in stacks if stack.shape.hidden]
    return [*fitted, *_descend(deep, samples, reader, lambda n: report(done + n))]


def _descend(
    stacks: Sequence[Stack], samples: Order, reader: Reader, report: Report
) -> list[Fitted]:
    """The probes of stacks with hidden units."""
    _standardize(stacks, samples, reader)
    descents = [Descent(stack) for stack in stacks]
    for epoch in count():
        live = [descent for descent in descents if not descent.done]
        if not live:
            break
        for part in chunks(samples, epoch):
            _learn([descent for descent in live if not descent.done], part, reader)
        _validate([descent for descent in live if descent.schedule.every is None], reader)
        report(sum(len(each.stack.probes) - len(each.live) for each in descents))
    tallies = [Tally.to_test(stack, stack.splits.test) for stack in stacks]
    _fill(tallies, reader)
    return [each for tally in tallies for each in _add_up([tally])]


def _add_up(turns: Sequence[Tally]) -> list[Fitted]:
    """The probes of a stack, each with what all its turns counted."""
    stack, subsets = turns[0].stack, tuple(turns[0].subsets)
    sums = np.sum([turn.sums for turn in turns], axis=0)
    return [Fitted(probe, stack, at, sums[at], subsets) for at, probe in enumerate(stack.probes)]


def _learn(descents: Sequence[Descent], samples: Order, reader: Reader) -> None:
    """Trains every stack on its targets in some samples, one pass."""
    if not descents:
        return
    chunk = reader.read([each.stack.splits.train for each in descents], samples)
    for each in descents:
        train, schedule = each.stack.splits.train, each.schedule
        vectors = each.stack.read(chunk)
        for chosen in train.batches(samples, schedule.batch):
            each.learn(read_batch(train, chosen, chunk, vectors))
            if schedule.every is not None and each.steps % schedule.every == 0:
                _validate([each], reader)
            if each.done:
                break


def _validate(descents: Sequence[Descent], reader: Reader) -> None:
    """Validates every probe in training on the dev samples."""
    live = [each for each in descents if not each.done]
    tallies = [
        Tally(each.stack, each.module, each.live, each.stack.splits.dev, by_document=False)
        for each in live
    ]
    _fill(tallies, reader)
    for each, tally in zip(live, tallies, strict=True):
        hit, false, missed, _, _, nats = tally.sums[:, 0, 0].T
        held_out = nats / len(tally.examples)
        watched = {"f1": 2 * hit / np.maximum(1, 2 * hit + false + missed), "loss": -held_out}
        each.judge(watched[each.schedule.watch], held_out)


def _fill(tallies: Sequence[Tally], reader: Reader) -> None:
    """Fills the tallies with all their examples, every chunk of a store read once."""
    for corpus in dict.fromkeys(tally.examples.corpus for tally in tallies):
        some = [tally for tally in tallies if tally.examples.corpus is corpus]
        examples = [tally.examples for tally in some]
        for samples in chunks(np.unique(np.concatenate([each.samples for each in examples]))):
            chunk = reader.read(examples, samples)
            for tally in some:
                tally.add(chunk, samples)


def _standardize(stacks: Sequence[Stack], samples: Order, reader: Reader) -> None:
    """Gives the stacks the mean and deviation of their vectors in the training samples."""
    wanted = [stack for stack in stacks if stack.schedule.standardise]
    if not wanted:
        return
    sums = {stack: [torch.zeros(())] * 3 for stack in wanted}
    for part in chunks(samples):
        chunk = reader.read([stack.splits.train for stack in wanted], part)
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
