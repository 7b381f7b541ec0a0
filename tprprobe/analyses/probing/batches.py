"""Chunks of samples, whose vectors are read from the store at once, and batches of targets."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.analyses.probing.labelled_splits import Examples, Order
from tprprobe.analyses.probing.pooling import Spans
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

    @property
    def bytes(self) -> int:
        """The memory of the vectors that are held."""
        return sum(vectors.nbytes for vectors in self.held.values())

    def places(self, rows: np.ndarray) -> Tensor:
        """The places of rows in the chunk; −1 gives the row of zeros at its end."""
        place = np.where(rows >= 0, np.searchsorted(self.rows, rows), len(self.rows))
        return torch.from_numpy(place).to(self.device)


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of targets: stacked vectors of a chunk, and for each span the rows that its states read."""

    vectors: Float[Tensor, "vector row width"]
    places: list[Int[Tensor, "_state window"]]
    spans: list[Spans]
    chosen: Int[np.ndarray, " target"]

    @property
    def n(self) -> int:
        """The number of targets."""
        return len(self.chosen)

    def windows(self, which: Sequence[int]) -> list[Float[Tensor, "vector _state window"]]:
        """For each span the states in some of the vectors, those of a window side by side."""
        return [
            torch.stack([self.vectors[at].index_select(0, rows.ravel()) for at in which]).view(
                len(which), len(rows), -1
            )
            for rows in self.places
        ]


def read_batch(examples: Examples, chosen: np.ndarray, chunk: Chunk, vectors: Tensor) -> Batch:
    """The batch of some targets, from the stacked vectors of a chunk."""
    places, spans = [], []
    for span in range(examples.targets.states.shape[1]):
        rows, owner = examples.windows(chosen, span)
        places.append(chunk.places(rows))
        spans.append(Spans.of(torch.from_numpy(owner).to(vectors.device), len(chosen)))
    return Batch(vectors, places, spans, chosen)


@dataclass(eq=False)
class Reader:
    """Chunks on a device; until they hold ``room`` bytes they are kept, for the next epoch to read again."""

    device: torch.device
    room: int = 0
    kept: dict[bytes, tuple[set[Examples], Chunk]] = field(default_factory=dict)

    def read(self, examples: Sequence[Examples], samples: Order) -> Chunk:
        """The rows that examples on the same side of a store have in samples."""
        key, wanted = np.sort(samples).tobytes(), set(examples)
        of, chunk = self.kept.get(key, (set(), None))
        if chunk is None or not wanted <= of:
            rows = np.unique(np.concatenate([each.rows(samples) for each in wanted]))
            chunk = Chunk(examples[0].corpus, rows, self.device)
            if sum(each.bytes for _, each in self.kept.values()) < self.room:
                self.kept[key] = wanted, chunk
        return chunk


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
