"""Chunks of samples, whose vectors are read from the store at once, and batches of targets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from tprprobe.analyses.probing.labelled_splits import Examples, Order
from tprprobe.analyses.probing.sides import Corpus
from tprprobe.analyses.probing.vectors import Vector

CHUNK = 256  # samples that are read at once


@dataclass
class Chunk:
    """The vectors of some rows of a store, each kind read when it is first asked for and then held."""

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
        """The places of rows in the chunk; −1 gives the row of zeros at its end."""
        place = np.where(rows >= 0, np.searchsorted(self.rows, rows), len(self.rows))
        return torch.from_numpy(place).to(self.device)


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of targets: for each span a tensor [vector, state, window × width], and the labels."""

    windows: list[Tensor]
    owners: list[Tensor | None]
    chosen: np.ndarray
    n: int


def read_batch(examples: Examples, chosen: np.ndarray, chunk: Chunk, vectors: Tensor) -> Batch:
    """The batch of some targets, from the stacked vectors of a chunk."""
    windows, owners = [], []
    for span in range(examples.targets.states.shape[1]):
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
    """The samples in chunks, in the store's order, or in the random order of an epoch.

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
