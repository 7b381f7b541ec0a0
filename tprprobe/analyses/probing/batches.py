"""Batches of examples: the states of their spans, streamed from a store, standardized."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.analyses.probing.examples import Examples, Places
from tprprobe.analyses.probing.labelled_words import Corpus, Order
from tprprobe.analyses.probing.settings import HIDDEN
from tprprobe.analyses.probing.vectors import Vector

CHUNK = 256  # samples that are read at once
FLOAT = 4


@dataclass(frozen=True)
class Shape:
    """The shape that the probes of a vector share; probes without ``hidden`` units are linear."""

    width: int
    spans: int
    labels: int
    kernel: int = 1
    hidden: int = HIDDEN

    @property
    def parameters(self) -> int:
        """The number of parameters of a probe."""
        return sum(math.prod(size) for size in self.sizes().values())

    def split(self, flat: Float[Tensor, "probe parameter"]) -> dict[str, Tensor]:
        """The parameters by name that stand in a row a probe, as views of it."""
        sizes = self.sizes()
        parts = flat.split([math.prod(size) for size in sizes.values()], 1)
        pairs = zip(sizes.items(), parts, strict=True)
        return {name: part.view(len(flat), *size) for (name, size), part in pairs}

    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of one probe's parameters."""
        h, inputs, sizes = self.hidden, self.kernel * self.width, {}
        if not h:
            return {
                "output_weight": (self.spans * inputs, self.labels),
                "output_bias": (self.labels,),
            }
        for span in range(self.spans):
            sizes[f"project{span}_weight"] = (inputs, h)
            sizes[f"project{span}_bias"] = (h,)
            sizes[f"attend{span}_weight"] = (h,)
            sizes[f"attend{span}_bias"] = ()
        return sizes | {
            "hidden_weight": (self.spans * h, h),
            "hidden_bias": (h,),
            "norm_weight": (h,),
            "norm_bias": (h,),
            "output_weight": (h, self.labels),
            "output_bias": (self.labels,),
        }


@dataclass(frozen=True)
class Spans:
    """A span of every target; only spans of several states are attended to, or averaged."""

    first: Int[Tensor, " target"]  # its first state
    many: Int[Tensor, " several"]  # the targets that have several
    states: Int[Tensor, " _state"]  # all states of these
    owner: Int[Tensor, " _state"]  # and of which of them each is

    @classmethod
    def of(cls, owner: Int[Tensor, " _state"], n_targets: int) -> "Spans":
        """The spans whose states stand one after another, each the state of the target ``owner``."""
        lengths = torch.bincount(owner, minlength=n_targets)
        several = lengths > 1
        states = torch.nonzero(several[owner])[:, 0]
        number = several.cumsum(0) - 1
        many = torch.nonzero(several)[:, 0]
        return cls(lengths.cumsum(0) - lengths, many, states, number[owner[states]])

    def sum(self, values: Float[Tensor, "... _state width"]) -> Float[Tensor, "... several width"]:
        """The sums over the states of every target that has several."""
        shape = (*values.shape[:-2], len(self.many), values.shape[-1])
        return values.new_zeros(shape).index_add(-2, self.owner, values)

    def mean(self, x: Float[Tensor, "_all_states window"]) -> Float[Tensor, "target window"]:
        """The mean of every target's states."""
        means = x[self.first]
        if len(self.many):
            means[self.many] = self.sum(x[self.states]) / torch.bincount(self.owner)[:, None]
        return means


@dataclass(frozen=True, eq=False)
class Batch:
    """Some examples: for every span their states, one after another, each with its neighbors in the kernel."""

    chosen: Places
    windows: list[Float[Tensor, "_state window"]]
    spans: list[Spans]

    @property
    def means(self) -> Float[Tensor, "target input"]:
        """The mean of the states of every span of an example, its spans side by side."""
        return torch.cat([of.mean(x) for x, of in zip(self.windows, self.spans, strict=True)], -1)


@dataclass(eq=False)
class Reader:
    """One vector of every row of some corpora, as (vector − mean) / scale; rows are held if they fit in ``room``."""

    vector: Vector
    device: torch.device
    room: int
    mean: Tensor | float = 0.0
    scale: Tensor | float = 1.0
    held: dict[Corpus, Tensor] = field(default_factory=dict)

    def rows(self, corpus: Corpus, rows: np.ndarray) -> Float[Tensor, "row width"]:
        """The vectors of some rows (rising), as they are."""
        if corpus not in self.held and self._fits(corpus):
            self.held[corpus] = self._read(corpus, np.arange(self._length(corpus)))
        if corpus in self.held:
            return self.held[corpus][torch.from_numpy(rows).to(self.device)]
        return self._read(corpus, rows)

    def batches(
        self, examples: Examples, samples: Order, size: int | None = None
    ) -> Iterator[Batch]:
        """The examples in a chunk of samples, as many samples in a batch as ``size``, or all in one."""
        places = examples.within(samples)
        if not len(places):
            return
        rows = examples.rows_read(places)
        values = (self.rows(examples.corpus, rows) - self.mean) / self.scale
        values = torch.cat([values, values.new_zeros(1, self.vector.width)])  # for no row
        for chosen in [places] if size is None else examples.batches(samples, size):
            windows, spans = [], []
            for span in range(examples.states.shape[1]):
                read, owner = examples.windows(chosen, span)
                at = np.where(read >= 0, np.searchsorted(rows, read), len(rows))
                states = values[torch.from_numpy(at).to(self.device).flatten()]
                windows.append(states.view(len(at), -1))
                spans.append(Spans.of(torch.from_numpy(owner).to(self.device), len(chosen)))
            yield Batch(chosen, windows, spans)

    def means(self, examples: Examples) -> Float[Tensor, "target input"]:
        """The mean states of all examples' spans."""
        parts = chunks(examples.samples)
        return torch.cat([batch.means for part in parts for batch in self.batches(examples, part)])

    def _length(self, corpus: Corpus) -> int:
        store = self.vector.store(corpus.store)
        return min(len(corpus.first), store.manifest["lengths"][corpus.side])

    def _fits(self, corpus: Corpus) -> bool:
        taken = sum(values.nbytes for values in self.held.values())
        return taken + self._length(corpus) * self.vector.width * FLOAT <= self.room

    def _read(self, corpus: Corpus, rows: np.ndarray) -> Float[Tensor, "row width"]:
        return torch.from_numpy(self.vector.read(corpus, rows)).to(self.device)


def chunks(samples: Order, epoch: int | None = None) -> Iterator[Order]:
    """The samples in chunks of the store, in its order, or in the random order of an epoch, the same for all probes."""
    parts = [samples[start : start + CHUNK] for start in range(0, len(samples), CHUNK)]
    if epoch is None:
        yield from parts
        return
    rng = np.random.default_rng([0, epoch])
    for part in rng.permutation(len(parts)):
        yield rng.permutation(parts[part])
