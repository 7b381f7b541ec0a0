"""The states of targets as probes read them from a store: averaged over spans, or span by span in batches."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.analyses.probing.examples import Examples
from tprprobe.analyses.probing.features import FeatureSource, Rows
from tprprobe.analyses.probing.labelled_words import Corpus, Order
from tprprobe.analyses.probing.settings import SpanMode
from tprprobe.estimators.probes.spans import Batch, Spans
from tprprobe.evaluation.splits import TRAIN

CHUNK = 256  # samples that are read at once
FLOAT = 4


@dataclass(eq=False)
class RowReader:
    """The vectors of a source, row by row of some corpora; a corpus is loaded into memory if it fits in ``room`` bytes."""

    source: FeatureSource
    device: torch.device
    room: int
    loaded: dict[Corpus, Tensor] = field(default_factory=dict)

    def read(self, corpus: Corpus, rows: Rows) -> Float[Tensor, "row width"]:
        """The vectors of some rows (rising)."""
        occupied = sum(values.nbytes for values in self.loaded.values())
        size = self._length(corpus) * self.source.width * FLOAT
        if corpus not in self.loaded and occupied + size <= self.room:
            self.loaded[corpus] = self._load(corpus, np.arange(self._length(corpus)))
        if corpus in self.loaded:
            return self.loaded[corpus][torch.from_numpy(rows).to(self.device)]
        return self._load(corpus, rows)

    def _length(self, corpus: Corpus) -> int:
        lengths = self.source.store(corpus.store).facts.lengths
        return min(len(corpus.first_row), lengths.get(corpus.side, len(corpus.first_row)))

    def _load(self, corpus: Corpus, rows: Rows) -> Float[Tensor, "row width"]:
        return torch.from_numpy(self.source.read(corpus, rows)).to(self.device)


@dataclass(frozen=True, eq=False)
class StoredStates:
    """The states of some examples, as (vector − mean) / scale: a :class:`~tprprobe.estimators.probes.spans.SpanStates`."""

    reader: RowReader
    examples: Examples
    mean: Tensor | float = 0.0
    scale: Tensor | float = 1.0

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def width(self) -> int:
        return self.reader.source.width

    @property
    def n_spans(self) -> int:
        return self.examples.states.shape[1]

    @property
    def kernel(self) -> int:
        return len(self.examples.window)

    @property
    def device(self) -> torch.device:
        return self.reader.device

    def take(self, rows: Rows) -> "StoredStates":
        return replace(self, examples=self.examples.take(rows))

    def standardize(self, mean: Tensor | float, scale: Tensor | float) -> "StoredStates":
        return replace(self, mean=mean, scale=scale)

    def batches(self, size: int, epoch: int | None = None) -> Iterator[Batch]:
        """All targets, those of ``size`` samples in a batch, in order or in the random order of an epoch."""
        samples = self.examples.samples
        if epoch is not None:
            samples = np.flatnonzero(self.examples.corpus.splits[0] == TRAIN)
        for chunk in chunks(samples, epoch):
            yield from self._read(chunk, size)

    def means(self) -> Float[Tensor, "target input"]:
        """The mean states of all targets' spans."""
        samples = chunks(self.examples.samples)
        return torch.cat([batch.means for chunk in samples for batch in self._read(chunk)])

    def sequences(self, mode: SpanMode) -> Float[Tensor, "target input_and_1"]:
        """The number of every target's word, and one vector of its sample: its last or first state, or the mean of all."""
        examples = self.examples
        rows, corpus = examples.rows[:, 0, 0], examples.corpus
        start, stop = corpus.first_row[rows], corpus.last_row[rows] + 1
        start = stop - 1 if mode == "last_state" else start
        stop = start + 1 if mode == "first_state" else stop
        states = np.stack([start, stop], 1)[:, None]
        vectors = replace(self, examples=replace(examples, states=states)).means()
        place = torch.from_numpy(examples.words[:, 0, 0]).to(vectors)
        return torch.cat([place[:, None], vectors], 1)

    def moments(self) -> tuple[Tensor, Tensor]:
        """The mean and the deviation of the vectors that are read; 1 where they do not vary."""
        n, total, squares = 0, torch.zeros(()), torch.zeros(())
        for chunk in chunks(self.examples.samples):
            rows = self.examples.rows_read(self.examples.within(chunk))
            vectors = self.reader.read(self.examples.corpus, rows).double()
            n, total = n + len(vectors), total + vectors.sum(0)
            squares = squares + (vectors * vectors).sum(0)
        mean = total / n
        deviation = (squares / n - mean**2).clamp(min=0).sqrt()
        is_constant = deviation < 1e-6 * mean.abs() + 1e-12
        return mean.float(), torch.where(is_constant, 1.0, deviation).float()

    def _read(self, samples: Order, size: int | None = None) -> Iterator[Batch]:
        """The examples in a chunk of samples, as many samples in a batch as ``size``, or all in one."""
        examples = self.examples
        targets = examples.within(samples)
        if not len(targets):
            return
        rows = examples.rows_read(targets)
        values = (self.reader.read(examples.corpus, rows) - self.mean) / self.scale
        values = torch.cat([values, values.new_zeros(1, self.width)])  # for no row
        for batch in [targets] if size is None else examples.batches(samples, size):
            windows, spans = [], []
            for span in range(self.n_spans):
                window, owner = examples.windows(batch, span)
                index = np.where(window >= 0, np.searchsorted(rows, window), len(rows))
                states = values[torch.from_numpy(index).to(self.device).flatten()]
                windows.append(states.view(len(index), -1))
                spans.append(Spans.of(torch.from_numpy(owner).to(self.device), len(batch)))
            yield Batch(batch, windows, spans)


def chunks(samples: Order, epoch: int | None = None) -> Iterator[Order]:
    """The samples in chunks of the store, in its order, or in the random order of an epoch, the same for all probes."""
    blocks = [samples[start : start + CHUNK] for start in range(0, len(samples), CHUNK)]
    if epoch is None:
        yield from blocks
        return
    rng = np.random.default_rng([0, epoch])
    for block in rng.permutation(len(blocks)):
        yield rng.permutation(blocks[block])
