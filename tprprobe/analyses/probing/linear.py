"""Linear probes: multinomial logistic regression, its L2 penalty chosen on held-out documents.

They take their turns, where the documents are divided by chance: in each, other documents are tested,
so that every document is tested once, by weights that have not seen it. The penalty is chosen in the
first turn; the others begin at its optimum, and end at their own.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.analyses.probing.batches import Reader, chunks, read_batch
from tprprobe.analyses.probing.labelled_splits import Examples, Splits
from tprprobe.analyses.probing.logistic import Regressions
from tprprobe.analyses.probing.probes import mean_states
from tprprobe.analyses.probing.sides import Corpus
from tprprobe.analyses.probing.stacks import Stack, losses
from tprprobe.analyses.probing.tallies import Tally

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
COUNTED = 4096  # targets that are counted at once
LEAST = 0.1  # of its deviation on dev documents: what the few targets of a portion hardly vary in

Weights = Float[Tensor, "probe input_and_1 label"]
Inputs = dict[Corpus, Float[Tensor, "target input"]]


def fit_stack(stack: Stack) -> list[Tally]:
    """The tallies of a stack's probes, a turn each; the stack keeps the weights of the first turn."""
    turns = [stack.splits, *stack.splits.turns]
    tallies = [Tally.to_test(stack, turn.test) for turn in turns]
    for at, vector in enumerate(stack.vectors):
        places = np.array([i for i, probe in enumerate(stack.probes) if probe.vector is vector])
        inputs = _read(stack, at)
        chosen: Chosen | None = None
        for turn, tally in zip(turns, tallies, strict=True):
            fit = _Turn(stack, places, turn, inputs)
            if chosen is None:
                chosen = fit.choose()
                _keep(stack, places, chosen.weights)
            else:
                chosen = fit.go_on(chosen)
            fit.count(chosen.weights, tally)
    return tallies


@dataclass(frozen=True)
class Chosen:
    """The penalties of probes, and the weights that are optimal under them, in raw coordinates."""

    penalty: Float[Tensor, " probe"]
    weights: Weights


class _Turn:
    """The probes (``places``) of one vector in a turn; they differ in their labels."""

    def __init__(self, stack: Stack, places: np.ndarray, splits: Splits, inputs: Inputs):
        self.stack, self.places, self.splits, self.inputs = stack, places, splits, inputs
        x = self._of(splits.train)
        self.mean = x.mean(0)
        deviation = torch.maximum(_deviation(x), LEAST * _deviation(self._of(splits.dev)))
        flat = deviation < 1e-6 * self.mean.abs() + 1e-12
        self.scale = torch.where(flat, 1.0, deviation)
        marks = stack.marks(splits.train, np.arange(len(splits.train)), places)
        shares = marks / marks.sum(-1, keepdim=True).clamp(min=1)
        self.x, self.marks = (x - self.mean) / self.scale, marks
        self.regressions = Regressions(self.x, shares)

    def _of(self, examples: Examples) -> Float[Tensor, "target input"]:
        return self.inputs[examples.corpus][torch.from_numpy(examples.places)]

    def choose(self) -> Chosen:
        """The best of PENALTIES for each, by the loss on the dev documents.

        From the strongest penalty on, each begins where the one before ended, until that loss rises.
        A step of the training curves is a penalty's place in PENALTIES.
        """
        dev, n, device = self.splits.dev, len(self.places), self.x.device
        held_out = (
            (self._of(dev) - self.mean) / self.scale,
            self.stack.marks(dev, np.arange(len(dev)), self.places),
        )
        live, lowest = torch.arange(n, device=device), torch.full((n,), torch.inf, device=device)
        chosen, best = torch.full((n,), PENALTIES[0], device=device), None
        weights: Tensor | None = None
        for step, penalty in enumerate(PENALTIES):
            weights = self.regressions.solve(
                torch.full((len(live),), penalty, device=device), live, weights
            )
            best = weights.clone() if best is None else best
            found = [
                losses(_logits(x, weights), y[live], "softmax").mean(1)
                for x, y in ((self.x, self.marks), held_out)
            ]
            for probe, *point in zip(live.tolist(), *(f.tolist() for f in found), strict=True):
                self.stack.curves[self.places[probe]].append((step, *point))
            better = found[1] < lowest[live]
            live, weights = live[better], weights[better]
            if not len(live):
                break
            lowest[live], chosen[live], best[live] = found[1][better], penalty, weights
        assert best is not None
        return Chosen(chosen, self._raw(best))

    def go_on(self, other: Chosen) -> Chosen:
        """The optima of this turn under the same penalties, from those of another turn."""
        start = other.weights.clone()
        start[:, -1] += (self.mean[:, None] * start[:, :-1]).sum(1)
        start[:, :-1] *= self.scale[:, None]
        return Chosen(other.penalty, self._raw(self.regressions.solve(other.penalty, start=start)))

    def _raw(self, weights: Weights) -> Weights:
        """Weights for standardised inputs as weights for the inputs as they are."""
        slope = weights[:, :-1] / self.scale[:, None]
        shift = weights[:, -1:] - (self.mean[:, None] * slope).sum(1, keepdim=True)
        return torch.cat([slope, shift], 1)

    def count(self, weights: Weights, tally: Tally) -> None:
        """Count what the probes give the test targets."""
        x = self._of(self.splits.test)
        for start in range(0, len(x), COUNTED):
            chosen = np.arange(start, min(start + COUNTED, len(x)))
            tally.count(_logits(x[chosen], weights), chosen, self.places)


def _deviation(x: Float[Tensor, "target input"]) -> Float[Tensor, " input"]:
    return (x - x.mean(0)).square().mean(0).sqrt()


def _keep(stack: Stack, places: Int[np.ndarray, " probe"], weights: Weights) -> None:
    best, to = dict(stack.best.named_parameters()), torch.from_numpy(places).to(weights.device)
    best["output_weight"].data[to] = weights[:, :-1]
    best["output_bias"].data[to] = weights[:, -1]


def _logits(
    x: Float[Tensor, "target input"], weights: Weights
) -> Float[Tensor, "probe target label"]:
    return x @ weights[:, :-1] + weights[:, -1:]


def _read(stack: Stack, at: int) -> Inputs:
    """The mean states of all examples in the stack's vector number ``at``, in their places."""
    width = stack.shape.spans * stack.shape.kernel * stack.shape.width
    splits, found = stack.splits, dict[Corpus, Tensor]()
    parts = (splits.train, splits.dev, splits.test) if splits.whole is None else (splits.whole,)
    for part in parts:
        new = torch.zeros(part.total, width, device=stack.device)
        held = found.setdefault(part.corpus, new)
        if len(part):
            held[torch.from_numpy(part.places)] = _mean_states(stack, part, at)
    return found


def _mean_states(stack: Stack, examples: Examples, at: int) -> Float[Tensor, "target input"]:
    parts = []
    for samples in chunks(examples.samples):
        chunk = Reader(stack.device).read([examples], samples)
        chosen = examples.within(samples)
        batch = read_batch(examples, chosen, chunk, chunk.stacked(stack.vectors[at : at + 1]))
        parts.append(mean_states(batch.windows([0]), batch.spans)[0])
    return torch.cat(parts)
