"""Exact match: a question is answered when every symbol of its answer is right."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tprprobe.data.pairs import Pairs


def by_length(pairs: Pairs, batch_size: int) -> Iterator[Tensor]:
    """All indices in batches of like length, each batch with at most ``batch_size``."""
    lengths = pairs.source.lengths * 64 + pairs.target.lengths
    yield from torch.argsort(lengths, stable=True).split(batch_size)


@torch.no_grad()
def exact_matches(
    model: Any, pairs: Pairs, batch_size: int = 256
) -> tuple[Bool[np.ndarray, "sample"], Int[np.ndarray, "sample out"]]:
    """Which targets are predicted whole, and the predicted symbols, by teacher forcing.

    An argmax that is right up to the end symbol is what greedy decoding writes (induction on the
    prefix), so this equals exact match under greedy decoding; behind the first wrong symbol the
    prediction is only the greedy one's beginning.
    """
    pad, device = model.config.pad, next(model.parameters()).device
    correct = np.zeros(len(pairs), bool)
    predicted = np.full((len(pairs), int(pairs.target.lengths.max()) - 1), pad)
    for indices in by_length(pairs, batch_size):
        source, target = (ids.to(device) for ids in pairs.batch(indices, pad))
        best = model(source, target[:, :-1]).argmax(-1)
        right = (best == target[:, 1:]) | (target[:, 1:] == pad)
        correct[indices.numpy(force=True)] = right.all(1).numpy(force=True)
        predicted[indices.numpy(force=True), : best.shape[1]] = best.numpy(force=True)
    return correct, predicted
