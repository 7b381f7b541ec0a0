"""Encoded examples: sources and targets as ids, each between its start and end symbol."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64, Integer
from torch import Tensor

from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset
from tprprobe.data.questions import check_length
from tprprobe.vocabulary import Vocabulary

Flat = tuple[Integer[np.ndarray, "_"], Int64[np.ndarray, "_"]]  # values, lengths


@dataclass(frozen=True)
class Pairs:
    """Encoded examples."""

    source: Ragged
    target: Ragged

    def __len__(self) -> int:
        return len(self.source)

    def batch(
        self, indices: Tensor, pad: int
    ) -> tuple[Int64[Tensor, "batch seq"], Int64[Tensor, "batch target_seq"]]:
        """The chosen pairs as padded ids."""
        return self.source.padded(indices, pad), self.target.padded(indices, pad)

    def to(self, device: torch.device | str) -> "Pairs":
        return Pairs(self.source.to(device), self.target.to(device))


def encode_pairs(data: Dataset, vocabulary: Vocabulary) -> Pairs:
    """The ids of all questions and of all answers, each between start and end symbol.

    Raises: InputError for a question or answer that is too long or has an unknown character.
    """
    encoded = [_encode_block(*block, vocabulary) for block in data.blocks()]
    source, target = (_joined(side) for side in zip(*encoded, strict=True))
    return Pairs(source, target)


def encode_texts(questions: Sequence[str], answers: Sequence[str], vocabulary: Vocabulary) -> Pairs:
    """The same of questions and answers in memory."""
    source, target = _encode_block(questions, answers, vocabulary)
    return Pairs(_joined([source]), _joined([target]))


def _encode_block(
    questions: Sequence[str], answers: Sequence[str], vocabulary: Vocabulary
) -> tuple[Flat, Flat]:
    check_length("question", max(questions, key=len))
    check_length("answer", max(answers, key=len))
    return _enclosed(questions, vocabulary), _enclosed(answers, vocabulary)


def _enclosed(texts: Sequence[str], vocabulary: Vocabulary) -> Flat:
    values, offsets = vocabulary.encode_all(texts)
    lengths = np.diff(offsets) + 2
    ends = lengths.cumsum()
    enclosed = np.full(len(values) + 2 * len(texts), vocabulary.sos, values.dtype)
    enclosed[ends - 1] = vocabulary.eos
    inside = np.ones(len(enclosed), bool)
    inside[ends - 1] = inside[ends - lengths] = False
    enclosed[inside] = values
    return enclosed, lengths


def _joined(blocks: Sequence[Flat]) -> Ragged:
    values, lengths = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    return Ragged(torch.from_numpy(values), torch.from_numpy(np.append(0, lengths.cumsum())))
