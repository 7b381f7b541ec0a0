"""Encoded examples: the ids of sources and targets, with start and end symbols."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryFile

import numpy as np
import torch
from jaxtyping import Bool, Int64, Shaped
from torch import Tensor

from tprprobe.data.batching import Ragged, Sources
from tprprobe.data.dataset import Dataset, Example
from tprprobe.data.vocabularies.characters import check_length
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.encoded import Flat
from tprprobe.errors import InputError


class Spool:
    """A temporary file of encoded texts (in `TMPDIR`), written as they come, mapped, and gone with its readers."""

    def __init__(self):
        self.file = TemporaryFile()  # noqa: SIM115 (closed by `__exit__`)
        self.lengths, self.cut = [], 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()  # what was mapped stays

    def write(self, flat: Flat) -> None:
        self.dtype = flat.values.dtype
        self.file.write(flat.values.tobytes())
        self.lengths.append(flat.lengths)
        self.cut += flat.cut

    def flat(self) -> Flat:
        self.file.flush()
        values = np.memmap(self.file, self.dtype, "r+")
        return Flat(values, np.concatenate(self.lengths), self.cut)


def encode_sources(texts: Sequence[str], vocabulary: Codec) -> Flat:
    return _checked(vocabulary.encode_sources(texts), texts, vocabulary)


def _checked(sources: Flat, texts: Sequence[str], vocabulary: Codec) -> Flat:
    if vocabulary.most is None:
        check_length("question", max(texts, key=len))
    elif not sources.lengths.all():
        raise InputError("an empty text has no token that this model reads: leave it out")
    return sources


def encode_targets(texts: Sequence[str], vocabulary: Codec) -> Flat:
    """The ids of targets after the start symbol, which does not count towards the limit."""
    if not vocabulary.has_words:
        check_length("answer", max(texts, key=len))
    return vocabulary.encode_targets(texts)


@dataclass(frozen=True)
class Pairs:
    source: Sources
    target: Ragged
    cut: tuple[int, int] = (0, 0)  # sources and targets that were too long
    parts: tuple[int, ...] = ()  # how many pairs each data set gave

    def __len__(self) -> int:
        return len(self.source)

    def batch(
        self, indices: Tensor, pad: int
    ) -> tuple[Shaped[Tensor, "batch seq"], Int64[Tensor, "batch target_seq"]]:
        """The chosen pairs: padded source ids, or features (seq being their width), and padded target ids."""
        return self.source.padded(indices, pad), self.target.padded(indices, pad)

    def by_length(
        self, batch_size: int, model: object = None, mask: Bool[Tensor, " sample"] | None = None
    ) -> tuple[Int64[Tensor, " batch"], ...]:
        """The indices in ``mask`` in batches of like length; of one length for a model that padding disturbs."""
        is_equal, targets = getattr(model, "needs_equal_lengths", False), self.target.lengths
        step = int(targets.max()) + 1 if is_equal and len(self) else 64
        keys = self.source.lengths * step + targets
        order = torch.argsort(keys, stable=True)
        order = order if mask is None else order[mask[order]]
        if not (is_equal and len(order)):
            return order.split(batch_size) if len(order) else ()
        counts = keys[order].unique_consecutive(return_counts=True)[1]
        groups = order.split(counts.tolist())
        return tuple(batch for group in groups for batch in group.split(batch_size))

    def by_tokens(self, max_tokens: int, model: object = None) -> Iterator[Int64[Tensor, " batch"]]:
        """The indices in batches of like length, each with at most ``max_tokens`` symbols, padding included, or one sample."""
        for group in self.by_length(len(self), model):
            widths, start = self.source.lengths[group] + self.target.lengths[group], 0
            for end, width in enumerate(widths.tolist()):
                if end > start and (end + 1 - start) * width > max_tokens:
                    yield group[start:end]
                    start = end
            yield group[start:]

    def tokens(self, indices: Tensor) -> int:
        sides = (self.source.offsets, self.target.offsets)
        return sum(int((ends[indices + 1] - ends[indices]).sum()) for ends in sides)

    def to(self, device: torch.device | str) -> "Pairs":
        return Pairs(self.source.to(device), self.target.to(device), self.cut, self.parts)


def encode_pairs(data: Dataset, vocabulary: Codec) -> Pairs:
    return encode_mix([data], vocabulary)


def encode_mix(datasets: Iterable[Dataset], vocabulary: Codec) -> Pairs:
    """The encoded examples of several data sets, one after another; memory holds one block of texts."""
    if vocabulary.reads_images:
        return vocabulary.encode_images(datasets, first=False)
    sizes = []
    with Spool() as source, Spool() as target:
        for dataset in datasets:
            sizes.append(len(dataset))
            for sources, targets in dataset.blocks():
                source.write(encode_sources(sources, vocabulary))
                target.write(encode_targets(targets, vocabulary))
        return _paired(source.flat(), target.flat(), sizes)


def encode_examples(examples: Sequence[Example], vocabulary: Codec) -> Pairs:
    """The encoded examples of a list, one pair each; of an image the first caption."""
    if vocabulary.reads_images:
        return vocabulary.encode_images([examples], first=True)
    sources, targets = zip(*((example.source, example.target) for example in examples), strict=True)
    return encode_texts(sources, targets, vocabulary)


def encode_texts(sources: Sequence[str], targets: Sequence[str], vocabulary: Codec) -> Pairs:
    return _paired(encode_sources(sources, vocabulary), encode_targets(targets, vocabulary))


def encode_answers(examples: Sequence[Example], vocabulary: Codec) -> Pairs:
    """The encoded examples of a list, whose targets are what a model should write: source and target together."""
    sources, targets = zip(*((example.source, example.target) for example in examples), strict=True)
    if not vocabulary.has_words:
        check_length("answer", max(targets, key=len))
    source, target = vocabulary.encode_answers(sources, targets)
    return _paired(_checked(source, sources, vocabulary), target)


def _paired(source: Flat, target: Flat, sizes: Sequence[int] = ()) -> Pairs:
    return Pairs(source.ragged(), target.ragged(), (source.cut, target.cut), tuple(sizes))
