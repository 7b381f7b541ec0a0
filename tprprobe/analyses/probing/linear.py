"""Linear probes: multinomial logistic regression, its L2 penalty chosen on held-out documents."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.analyses.probing.batches import chunks, read_batch, read_chunk
from tprprobe.analyses.probing.labelled_splits import Examples
from tprprobe.analyses.probing.logistic import fit_logistic
from tprprobe.analyses.probing.probes import mean_states
from tprprobe.analyses.probing.stacks import Stack, losses

PENALTIES = tuple(10.0 ** (-step / 2) for step in range(13))  # 1 to a millionth


def fit_stack(stack: Stack) -> None:
    """Gives every probe of a stack the weights that are optimal under the best of PENALTIES.

    From the strongest penalty on, each begins where the one before ended, until the loss on the dev
    documents rises. A step of the training curves is a penalty's place in PENALTIES.
    """
    for at, vector in enumerate(stack.vectors):
        places = np.array([i for i, probe in enumerate(stack.probes) if probe.vector is vector])
        splits = (stack.splits.train, stack.splits.dev)
        vectors = [_read(stack, part, at) for part in splits]
        marks = [stack.marks(part, np.arange(len(part)), places) for part in splits]
        _fit(stack, places, vectors, marks)


def _fit(
    stack: Stack, places: np.ndarray, vectors: Sequence[Tensor], marks: Sequence[Tensor]
) -> None:
    """Gives the probes (``places``) of one vector their weights and curves; they differ in their labels."""
    shares = marks[0] / marks[0].sum(-1, keepdim=True).clamp(min=1)
    device, n = stack.device, len(places)
    live, lowest = torch.arange(n, device=device), torch.full((n,), torch.inf, device=device)
    weights: Tensor | None = None
    for step, penalty in enumerate(PENALTIES):
        weights = fit_logistic(
            vectors[0], shares[live], torch.full((len(live),), penalty, device=device), weights
        )
        found = [
            losses(_logits(x, weights), y[live], "softmax").mean(1)
            for x, y in zip(vectors, marks, strict=True)
        ]
        for probe, *point in zip(live.tolist(), *(each.tolist() for each in found), strict=True):
            stack.curves[places[probe]].append((step, *point))
        better = found[1] < lowest[live]
        live, weights = live[better], weights[better]
        if not len(live):
            break
        lowest[live] = found[1][better]
        best, to = dict(stack.best.named_parameters()), torch.from_numpy(places).to(device)[live]
        best["output_weight"].data[to] = weights[:, :-1]
        best["output_bias"].data[to] = weights[:, -1]


def _logits(
    x: Float[Tensor, "target input"], weights: Float[Tensor, "problem input_and_1 label"]
) -> Float[Tensor, "problem target label"]:
    return x @ weights[:, :-1] + weights[:, -1:]


def _read(stack: Stack, examples: Examples, at: int) -> Float[Tensor, "target input"]:
    """The mean states of all examples in the stack's vector number ``at``."""
    parts = []
    for samples in chunks(examples.samples):
        chunk = read_chunk([examples], samples, stack.device)
        vectors = stack.read(chunk, slice(at, at + 1))
        for chosen in examples.batches(samples, stack.schedule.batch):
            batch = read_batch(examples, chosen, chunk, vectors)
            parts.append(mean_states(batch.windows, batch.owners, batch.n)[0])
    return torch.cat(parts)
