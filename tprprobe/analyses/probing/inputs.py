"""What probes read: vectors of sites, of heads, of several sites together and of controls; standardized batches of them.

A vector is a function of what a store holds in one row of some sites, so that all of them stream.
"""

import fnmatch
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from tprprobe import plugins
from tprprobe.analyses.probing.examples import Examples, Places
from tprprobe.analyses.probing.labelled_words import Corpus, Order
from tprprobe.analyses.probing.settings import HIDDEN, SITES, ProbeSettings
from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of, select, side_of
from tprprobe.store import Store
from tprprobe.store.layout import SIDES, TWINS

Codes = Int[np.ndarray, " _row"]
WEIGHTS = ".role_weights"
EMBEDDING, FIRST_INPUT = "*.embedding", "*.0.self.input"
DENSE = 0.25  # share of a stretch of rows above which the whole stretch is read
CHUNK = 256  # samples that are read at once
FLOAT = 4


def find_sites(store: Store, patterns: Sequence[str]) -> list[str]:
    """The sites of a store that patterns name; default patterns that match nothing are left out."""
    sites = store.select(_present(patterns, store.sites))
    return [site for site in sites if not store.specs[site].is_attention]


def needed_sites(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The sites, of all ``names`` of a model, that a store needs for probes and their controls."""
    weights = fnmatch.filter(names, f"*{WEIGHTS}")
    embedded = [site for side in SIDES if (site := _embedding(names, side))]
    return select([*_present(patterns, names), *weights, *embedded], names)


def _embedding(names: Iterable[str], side: str) -> str | None:
    """The site of what the first layer on a side reads, the same for a symbol in all contexts."""
    of_side = [name for name in names if side_of(name) == side]
    found = [*fnmatch.filter(of_side, EMBEDDING), *fnmatch.filter(of_side, FIRST_INPUT)]
    return next(iter(found), None)


def _present(patterns: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """The patterns, without those default ones that match no name."""
    if tuple(patterns) != SITES:
        return patterns
    return [p for p in SITES if fnmatch.filter(names, p)] or ["*"]


def check_test(store: Store, test: Store, sites: Sequence[str], settings: ProbeSettings) -> None:
    """Refuses a test store on which probes of these sites of ``store`` cannot be tested."""
    for site in sites:
        if site not in test.sites or test.specs[site].shape != store.specs[site].shape:
            raise InputError(
                f"{test.path} has no {site} of the shape {store.specs[site].shape} to test on: extract both "
                "from models of one size"
            )
    _check_twins(test, settings)


def _check_twins(store: Store, settings: ProbeSettings) -> None:
    for kind in TWINS:
        if kind in (settings.controls or ()) and kind not in store.twins:
            raise InputError(f"{store.path} has no {kind} twin: leave out that control")


def _joined(*arrays: np.ndarray) -> np.ndarray:
    return np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)


@dataclass(frozen=True, eq=False)
class Vector:
    """Vectors of ``width`` for every row: made of the rows of ``sites``, or of words where none."""

    site: str
    head: int | None
    width: int
    sites: tuple[str, ...]
    make: Callable[..., np.ndarray] = _joined
    control: str = "real"

    @property
    def layer(self) -> int | None:
        return layer_of(self.site)

    def store(self, store: Store) -> Store:
        """Where the vectors lie: in a store, or in that of a twin."""
        return store.twins.get(self.control, store)

    def read(self, corpus: Corpus, rows: np.ndarray) -> Float32[np.ndarray, "row width"]:
        """The vectors of some rows (rising) of a side of a store, or of its twin."""
        if not self.sites:
            return self.make(corpus.previous[rows]).astype(np.float32)
        store = self.store(corpus.store)
        arrays = [_read_rows(store, site, rows) for site in self.sites]
        return np.ascontiguousarray(self.make(*arrays), np.float32).reshape(len(rows), self.width)


def _read_rows(store: Store, site: str, rows: np.ndarray) -> np.ndarray:
    """Some rows of a site; where they lie dense, one stretch of the store is read."""
    if not len(rows):
        return store.read(site, slice(0, 0))
    first, stop = int(rows[0]), int(rows[-1]) + 1
    if len(rows) >= DENSE * (stop - first):
        return store.read_finite(site, slice(first, stop))[rows - first]
    return store.read_finite(site, rows)


def site_vectors(store: Store, sites: Sequence[str], heads: bool) -> Iterator[Vector]:
    """The vectors of every site, its heads concatenated, or of each head."""
    for site in sites:
        spec = store.specs[site]
        width = int(np.prod(spec.shape))
        if heads and spec.heads is not None:
            for head in range(spec.shape[0]):
                yield Vector(
                    site, head, width // spec.shape[0], (site,), itemgetter((slice(None), head))
                )
        else:
            yield Vector(site, None, width, (site,))


def joined_vectors(store: Store, sites: Sequence[str]) -> Iterator[Vector]:
    """Vectors of role and filler of the same sub-layer, side by side."""
    for role in (site for site in sites if site.endswith(".role")):
        filler = f"{role.removesuffix('role')}filler"
        if filler in sites:
            width = sum(int(np.prod(store.specs[site].shape)) for site in (role, filler))
            yield Vector(f"{role}+filler", None, width, (role, filler))


def control_vectors(
    store: Store, real: Sequence[Vector], test: Store | None, settings: ProbeSettings
) -> Iterator[Vector]:
    """The vectors of controls: of twins, the embeddings, the word before, and those of plug-ins."""
    _check_twins(store, settings)
    for kind, twin in store.twins.items():
        if settings.has(kind) and (test is None or kind in test.twins):
            yield from (
                replace(vector, control=kind) for vector in real if vector.site in twin.sites
            )
    side = store.side(real[0].site)
    if settings.has("static") and (site := _embedding(store.sites, side)):
        (vector,) = site_vectors(store, [site], heads=False)
        yield replace(vector, control="static")
    elif settings.controls is not None and "static" in settings.controls:
        raise InputError(
            f"{store.path} has no input embeddings ({EMBEDDING} or {FIRST_INPUT}): extract them too, or "
            "leave out the control static"
        )
    if settings.has("previous"):
        width = max(vector.width for vector in real)
        yield Vector("previous word", None, width, (), partial(_embedded, width=width), "previous")
    if not settings.heads:
        for name, make in plugins.load_all("controls").items():
            if settings.has(name):
                yield from make(store, real, settings.seed)


def _embedded(words: Codes, width: int) -> np.ndarray:
    """A fixed random vector for every word."""
    kinds, index = np.unique(words, return_inverse=True)
    vectors = [np.random.default_rng(int(kind) + 1).normal(size=width) for kind in kinds]
    return np.array(vectors).reshape(len(kinds), width)[index]


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
