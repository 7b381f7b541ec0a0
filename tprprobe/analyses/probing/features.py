"""What probes read: vectors of sites, of heads, of several sites together and of controls.

A vector is a function of what a store holds in one row of some sites, so that all of them stream.
"""

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

import numpy as np
from jaxtyping import Float32, Int

from tprprobe import plugins
from tprprobe.analyses.probing.labelled_words import Corpus
from tprprobe.analyses.probing.settings import SITES, ProbeSettings
from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.evaluation.controls import REAL, embed_words
from tprprobe.site.patterns import layer_of, select, side_of
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES, TWINS

Rows = Int[np.ndarray, " row"]
WEIGHTS = ".role_weights"
EMBEDDING, FIRST_INPUT = "*.embedding", "*.0.self.input"
DENSE = 0.25  # share of a stretch of rows above which the whole stretch is read


def find_sites(store: Store, patterns: Sequence[str]) -> list[str]:
    """The sites of a store that patterns name; default patterns that match nothing are left out."""
    sites = store.select(_present(patterns, store.sites))
    return [site for site in sites if not store.specs[site].is_attention]


def needed_sites(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The sites, of all ``names`` of a model, that a store needs for probes and their controls; by default only hidden states of a
    model without roles.
    """
    if (
        tuple(patterns) == SITES
        and not fnmatch.filter(names, "*.role")
        and fnmatch.filter(names, "*.hidden")
    ):
        patterns = ["*.hidden"]
    weights = fnmatch.filter(names, f"*{WEIGHTS}")
    embedding = [site for side in SIDES if (site := _find_embedding(names, side))]
    return select([*_present(patterns, names), *weights, *embedding], names)


def _find_embedding(names: Iterable[str], side: str) -> str | None:
    """The site of what the first layer on a side reads, the same for a symbol in all contexts."""
    sites = [name for name in names if side_of(name) == side]
    matches = [*fnmatch.filter(sites, EMBEDDING), *fnmatch.filter(sites, FIRST_INPUT)]
    return next(iter(matches), None)


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
            kept = f" (it has: {', '.join(store.twins)})" * bool(store.twins)
            raise InputError(f"{store.path} has no {kind} twin{kept}: leave out that control")


def _concatenate(*arrays: np.ndarray) -> np.ndarray:
    return np.concatenate([array.reshape(len(array), -1) for array in arrays], axis=1)


@dataclass(frozen=True, eq=False)
class FeatureSource:
    """Vectors of ``width`` for every row: made of the rows of ``sites``, or of words where none."""

    site: str
    head: int | None
    width: int
    sites: tuple[str, ...]
    make: Callable[..., np.ndarray] = _concatenate
    control: str = REAL

    @property
    def layer(self) -> int | None:
        return layer_of(self.site)

    def store(self, store: Store) -> Store:
        """Where the vectors lie: in a store, or in that of a twin."""
        return store.twins.get(self.control, store)

    def read(self, corpus: Corpus, rows: Rows) -> Float32[np.ndarray, "row width"]:
        """The vectors of some rows (rising) of a side of a store, or of its twin."""
        if not self.sites:
            return self.make(corpus.previous[rows]).astype(np.float32)
        store = self.store(corpus.store)
        arrays = [_read_rows(store, site, corpus, rows) for site in self.sites]
        return np.ascontiguousarray(self.make(*arrays), np.float32).reshape(len(rows), self.width)


def _read_rows(store: Store, site: str, corpus: Corpus, rows: Rows) -> np.ndarray:
    """Some rows of a site; where they lie dense, one stretch of the store is read."""
    if not len(rows):
        return store.read(site, slice(0, 0))
    if store.side(site) == SAMPLE:
        samples, index = np.unique(corpus.sample[rows], return_inverse=True)
        return store.read_finite(site, samples)[index]
    start, stop = int(rows[0]), int(rows[-1]) + 1
    if len(rows) >= DENSE * (stop - start):
        return store.read_finite(site, slice(start, stop))[rows - start]
    return store.read_finite(site, rows)


def site_vectors(store: Store, sites: Sequence[str], heads: bool) -> Iterator[FeatureSource]:
    """The vectors of every site, its heads concatenated, or of each head."""
    for site in sites:
        spec = store.specs[site]
        width = int(np.prod(spec.shape))
        if heads and spec.heads is not None:
            for head in range(spec.shape[0]):
                take = itemgetter((slice(None), head))
                yield FeatureSource(site, head, width // spec.shape[0], (site,), take)
        else:
            yield FeatureSource(site, None, width, (site,))


def joined_vectors(store: Store, sites: Sequence[str]) -> Iterator[FeatureSource]:
    """Vectors of role and filler of the same sub-layer, side by side."""
    for role in (site for site in sites if site.endswith(".role")):
        filler = f"{role.removesuffix('role')}filler"
        if filler in sites:
            width = sum(int(np.prod(store.specs[site].shape)) for site in (role, filler))
            yield FeatureSource(f"{role}+filler", None, width, (role, filler))


def control_vectors(
    store: Store, real: Sequence[FeatureSource], test: Store | None, settings: ProbeSettings
) -> Iterator[FeatureSource]:
    """The vectors of controls: of twins, the embeddings, the word before, and those of plug-ins."""
    _check_twins(store, settings)
    for kind, twin in store.twins.items():
        if settings.has(kind) and (test is None or kind in test.twins):
            yield from (
                replace(source, control=kind) for source in real if source.site in twin.sites
            )
    if settings.needs == "sequences":  # words and their neighbors are not what is asked about
        return
    side = store.side(real[0].site)
    embeddings = [_find_embedding(source.sites, side) for source in (store, test or store)]
    if settings.has("static") and None not in embeddings:
        (source,) = site_vectors(store, [str(embeddings[0])], heads=False)
        yield replace(source, control="static")
    elif settings.has("static"):
        path = store.path if test is None or embeddings[0] is None else test.path
        lack = f"{path} has no input embeddings of the {side} side ({EMBEDDING} or {FIRST_INPUT}): extract them too"
        if settings.controls is not None:
            raise InputError(f"{lack}, or leave out the control static")
        note(
            f"{lack}; without the control static, often the strongest, more vectors look better than controls"
        )
    if settings.has("previous"):
        width = max(source.width for source in real)
        embed = partial(embed_words, width=width)
        yield FeatureSource("previous word", None, width, (), embed, "previous")
    if not settings.heads:
        for name, make in plugins.load_all("controls").items():
            if settings.has(name):
                yield from make(store, real, settings.seed)
