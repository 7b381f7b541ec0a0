"""Examples on their way from the store to the probes: chunks of samples, batches of targets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from tprprobe.analyses.probing.sides import Corpus
from tprprobe.analyses.probing.targets import Rows, Targets
from tprprobe.analyses.probing.vectors import Vector

CHUNK = 256  # samples that are read at once
MOST = 1024  # targets of a batch, or those of one sample that has more
Order = Int[np.ndarray, " sample"]


@dataclass(frozen=True, eq=False)
class Examples:
    """The targets of a task in some samples, the states that are read for them, and their labels.

    ``marks`` are the labels by the name of the control that they belong to.
    """

    corpus: Corpus
    targets: Targets
    states: Rows
    marks: Mapping[str, Bool[np.ndarray, "target label"]]
    window: range  # of the span convolution: rows around each state

    def take(self, chosen: np.ndarray) -> "Examples":
        """Some of them."""
        marks = {name: labels[chosen] for name, labels in self.marks.items()}
        return replace(
            self, targets=self.targets.take(chosen), states=self.states[chosen], marks=marks
        )

    def of(self, samples: Order) -> "Examples":
        """Those of some samples."""
        return self.take(self._places(np.sort(samples)))

    @property
    def samples(self) -> Order:
        """The samples that have any."""
        return np.unique(self.targets.sample)

    def __len__(self) -> int:
        return len(self.targets)

    def _places(self, samples: Order) -> np.ndarray:
        """The targets of some samples, sample by sample."""
        start = np.searchsorted(self.targets.sample, samples, "left")
        lengths = np.searchsorted(self.targets.sample, samples, "right") - start
        owner = np.repeat(np.arange(len(samples)), lengths)
        return start[owner] + np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]

    def batches(self, order: Order, size: int) -> Iterator[np.ndarray]:
        """The targets of ``size`` samples at a time, in that order, at most MOST where possible."""
        start = np.searchsorted(self.targets.sample, order, "left")
        stop = np.searchsorted(self.targets.sample, order, "right")
        parts, held, n = [], 0, 0
        for first, last in zip(start[stop > start], stop[stop > start], strict=True):
            if n == size or (n and held + last - first > MOST):
                yield np.concatenate(parts)
                parts, held, n = [], 0, 0
            parts.append(np.arange(first, last))
            held, n = held + last - first, n + 1
        if parts:
            yield np.concatenate(parts)

    def windows(self, chosen: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows [state, window] of the states of some targets' spans (−1: none), and whose they are.

        The latter is None where every target has one state.
        """
        start, stop = self.states[chosen, span].T
        lengths = stop - start
        owner = np.repeat(np.arange(len(chosen)), lengths)
        within = np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner]
        centre = start[owner] + within
        rows = centre[:, None] + np.array(self.window)
        inside = (rows >= self.corpus.first[centre][:, None]) & (
            rows <= self.corpus.last[centre][:, None]
        )
        return np.where(inside, rows, -1), None if (lengths == 1).all() else owner

    def rows(self, samples: Order) -> Int[np.ndarray, " row"]:
        """All rows that are read for some samples, rising."""
        chosen = self._places(samples)
        spans = range(self.states.shape[1])
        found = np.unique(np.concatenate([self.windows(chosen, s)[0].ravel() for s in spans]))
        return found[found >= 0]


@dataclass
class Chunk:
    """Vectors of some rows, by vector; what is asked for again is not read again."""

    corpus: Corpus
    rows: Int[np.ndarray, " row"]
    device: torch.device
    held: dict[Vector, Tensor] = field(default_factory=dict)

    def stacked(self, vectors: Sequence[Vector]) -> Tensor:
        """The vectors [vector, row + 1, width] as they are read; the last row is 0.

        So are rows that an untrained twin, of fewer samples, lacks.
        """
        for vector in vectors:
            if vector not in self.held:
                store = self.corpus.vectors_of(vector.control == "untrained")
                known = self.rows[self.rows < store.manifest["lengths"][self.corpus.side]]
                padded = torch.zeros(len(self.rows) + 1, vector.width)
                if len(known):
                    read = vector.read(store, known, self.corpus.previous)
                    padded[: len(known)] = torch.from_numpy(read)
                self.held[vector] = padded.to(self.device)
        return torch.stack([self.held[vector] for vector in vectors])

    def places(self, rows: np.ndarray) -> Tensor:
        """Where rows lie in the chunk; the row of zeros for −1."""
        place = np.where(rows >= 0, np.searchsorted(self.rows, rows), len(self.rows))
        return torch.from_numpy(place).to(self.device)


@dataclass(frozen=True, eq=False)
class Batch:
    """What probes read and should answer: a tensor [vector, state, window × width] a span."""

    windows: list[Tensor]
    owners: list[Tensor | None]
    chosen: np.ndarray
    n: int


def read_batch(examples: Examples, chosen: np.ndarray, chunk: Chunk, vectors: Tensor) -> Batch:
    """The batch of some targets, from the stacked vectors of a chunk."""
    windows, owners = [], []
    for span in range(examples.states.shape[1]):
        rows, owner = examples.windows(chosen, span)
        found = vectors.index_select(1, chunk.places(rows.ravel()))
        windows.append(found.view(len(vectors), len(rows), -1))
        owners.append(None if owner is None else torch.from_numpy(owner).to(vectors.device))
    return Batch(windows, owners, chosen, len(chosen))


def read_chunk(examples: Sequence[Examples], samples: Order, device: torch.device) -> Chunk:
    """An empty chunk with the rows that examples on the same side of a store have in samples."""
    different = dict.fromkeys(examples)
    rows = np.unique(np.concatenate([each.rows(samples) for each in different]))
    return Chunk(examples[0].corpus, rows, device)


def chunks(samples: Order, epoch: int | None = None) -> Iterator[Order]:
    """The samples in chunks: as they lie, or in the random order of an epoch.

    Chunks are stretches of the store in random order, and samples are in random order within
    them. The order depends on the samples and the epoch only: it is the same for all probes.
    """
    parts = [samples[start : start + CHUNK] for start in range(0, len(samples), CHUNK)]
    if epoch is None:
        yield from parts
        return
    rng = np.random.default_rng([0, epoch])
    for part in rng.permutation(len(parts)):
        yield rng.permutation(parts[part])
