"""Reading a store: labelled arrays and tokens from disk, no more of them than asked for."""

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Integer, Shaped

from tprprobe.errors import InputError
from tprprobe.files.hub import locate_dataset
from tprprobe.site.patterns import side_of
from tprprobe.store import layout, manifests, verification
from tprprobe.store.contents import StoreContents
from tprprobe.store.dtypes import first_infinite

if TYPE_CHECKING:
    # both take longer to import than what a store says without its arrays and tokens
    import pandas as pd
    import xarray as xr
    import zarr

P = ParamSpec("P")
R = TypeVar("R")
Source = str | os.PathLike[str]
Rows = slice | Integer[np.ndarray, "row"] | Bool[np.ndarray, "token"]


@dataclass(frozen=True, eq=False, repr=False)
class Store(StoreContents):
    """A complete store: the vectors of a model's sites on a data set, and what it says of itself.

    A method's ``site`` is a name or a pattern of one site; layer -1 is the last.

    Attributes:
        table: The token table in place of the one on disk, as :meth:`with_labels` makes it; None: that of the disk.
        labels: The columns of it that :meth:`with_labels` added, or that were saved.

    Examples:
        >>> store.read("encoder.-1.self.role", rows=slice(0, 2), head=0).shape
        (2, 24)
        >>> store.tokens["token"].head(3).to_list()
        ['<sos>', 'W', 'h']
    """

    table: "pd.DataFrame | None" = field(default=None, kw_only=True)
    labels: tuple[str, ...] = field(default=(), kw_only=True)

    @functools.cached_property
    def tokens(self) -> "pd.DataFrame":
        """One row per token, by sample, source before target; see [columns](stores.md#columns-of-tokens)."""
        from tprprobe.store.own_labels import read_tokens

        if self.table is not None:
            return self.table
        with manifests.undamaged(self.path):
            return read_tokens(self.path)

    @functools.cached_property
    def arrays(self) -> "xr.Dataset":
        """All arrays, lazy, of the types on disk; in Dask's chunks as on disk where Dask is installed."""
        import xarray as xr

        with manifests.undamaged(self.path):
            return xr.open_zarr(self.path / layout.ARRAYS)

    @functools.cached_property
    def twins(self) -> "dict[str, Store]":
        """The stores of the model's twins on (a sample of) the same inputs, by kind: ``permuted``,
        ``untrained``, ``rescaled``, in this order.
        """
        twins = {kind: open_store(path) for kind, path in layout.twins_in(self.path).items()}
        for kind, twin in twins.items():
            verification.check_twin(self.path, self.facts, kind, twin.facts)
            if self.labels:  # its tokens are the first of these
                cols: Any = self.tokens.filter([*self.labels, *layout.WORDS]).head(len(twin.tokens))
                twins[kind] = replace(twin, table=twin.tokens.assign(**cols), labels=self.labels)
        return twins

    @property
    def control(self) -> "Store | None":
        """The store of the first of ``twins``; None if there is none."""
        return next(iter(self.twins.values()), None)

    def tokens_of(self, site: str) -> "pd.DataFrame":
        """The tokens that the rows of a site belong to.

        Args:
            site: A site; layer -1 is the last.

        Returns:
            One row per row of the site, in the same order. Where a site has one vector a sample, ``token`` is the sample's whole
            text and ``position`` that of its last token.
        """
        from tprprobe.store.tokens import join_samples

        tokens = self.sequences_of(site)
        return join_samples(tokens) if self.side(site) == layout.SAMPLE else tokens

    def sequences_of(self, site: str) -> "pd.DataFrame":
        """All tokens from which the vectors of a site were made.

        Args:
            site: A site; layer -1 is the last.

        Returns:
            One row per token. For a site of tokens these are :meth:`tokens_of`; where there is one vector a sample, vector n is
            of the tokens of the n-th different ``sample``.
        """
        side = self.side(site)
        if side == layout.SAMPLE:
            side = side_of(self.select(site)[0]) if self.pool else layout.SIDES[0]
        return self.tokens.loc[self.tokens["side"] == side].reset_index(drop=True)

    def read(
        self, site: str, rows: Rows | None = None, head: int | None = None
    ) -> Shaped[np.ndarray, "row ..."]:
        """Vectors of a site.

        Args:
            site: A site; layer -1 is the last.
            rows: Which rows, as numbers or a slice; default: all.
            head: Which head; default: all.

        Returns:
            The vectors [row, head, d_head], [row, d_head] of one head, or [row, d_model]; 16-bit numbers as float32.

        Raises:
            InputError: No such site, or no such head; the line says which heads there are.
        """
        name, spec = self._spec(site)
        index = (slice(None) if rows is None else rows,)
        if head is None:
            return self._read(name, index)
        if spec.heads is None:
            raise InputError(f"{name} holds {' × '.join(spec.axes)}: it has no heads")
        if not -spec.heads <= head < spec.heads:
            raise InputError(f"{name} has no head {head}: it has heads 0 to {spec.heads - 1}")
        return self._read(name, (*index, head % spec.heads))

    def read_finite(self, site: str, rows: slice | np.ndarray) -> Shaped[np.ndarray, "row ..."]:
        """Vectors of a site, checked to be finite.

        Args:
            site: A site; layer -1 is the last.
            rows: Which rows, as numbers or a slice.

        Returns:
            The vectors, as of :meth:`read`.

        Raises:
            InputError: A number is not finite; the line names its site and sample.
        """
        values = self.read(site, rows)
        if (bad := first_infinite(values)) is not None:
            samples = self.tokens_of(site)["sample"].to_numpy()
            place = f"{self.path}: {site}, sample {samples[rows][bad]}"
            raise InputError(f"{place} has a number that is not finite: extract without it")
        return values

    def iterate(
        self,
        site: str,
        head: int | None = None,
        rows_per_block: int = 16384,
        part: slice = slice(None),
    ) -> Iterator[tuple[slice, Shaped[np.ndarray, "row ..."]]]:
        """All vectors of a site in blocks, in the memory of one block.

        Args:
            site: A site; layer -1 is the last.
            head: Which head; default: all.
            rows_per_block: The size of a block.
            part: Which rows are read; default: all.

        Yields:
            The rows of a block as a slice, and their vectors as of :meth:`read`.
        """
        begin, end, _ = part.indices(self.count_rows(site))
        for start in range(begin, end, rows_per_block):
            rows = slice(start, min(start + rows_per_block, end))
            yield rows, self.read(site, rows, head)

    @property
    def has_questions(self) -> bool:
        """True if the samples are questions of mathematics, which have a module."""
        return "module" in self.tokens and bool((self.tokens["module"].astype(str) != "").any())

    @functools.cached_property
    def has_answers(self) -> bool:
        """True if the store's own model wrote texts; beside a twin's tokens stand those of the trained model."""
        name = str(self.facts.model.name)
        if name.partition(":")[0] in layout.TWINS or "prediction" not in self.tokens:
            return False
        return any(map(str, self.tokens["prediction"].dropna().unique()))

    def map_shapes(self, site: str) -> Integer[np.ndarray, "sample 2"]:
        """The sizes of attention maps.

        Args:
            site: A site of attention maps; layer -1 is the last.

        Returns:
            The numbers of queries and keys of every sample that has a map [sample, 2].
        """
        return self._places[self._spec(site)[1].rows][0]

    def attention(self, site: str, sample: int) -> Float[np.ndarray, "head query key"]:
        """The attention maps of one sample.

        Args:
            site: A site of attention maps; layer -1 is the last.
            sample: The number of the sample.

        Returns:
            The weights [head, query, key]; those of a query sum to 1.

        Raises:
            InputError: The site holds no attention maps, or none of this sample.
        """
        name, spec = self._spec(site)
        if not spec.is_attention:
            raise InputError(f"{name} holds {' × '.join(spec.axes)}, no attention maps")
        n_maps = self.count_maps(name)
        if not 0 <= sample < n_maps:
            maps = f"{self.path} keeps those of its first {n_maps} samples"
            raise InputError(f"no attention maps of sample {sample}: {maps} (--attention-samples)")
        shapes, starts = self._places[spec.rows]
        (queries, keys), start = shapes[sample], int(starts[sample])
        pairs = self._read(name, (slice(start, start + int(queries * keys)),))
        return pairs.reshape(queries, keys, *spec.shape).transpose(2, 0, 1)

    @functools.cached_property
    def _opened(self) -> "dict[str, zarr.Array]":
        """The arrays that were read from: opening one takes longer than reading a few rows of it."""
        return {}

    @functools.cached_property
    def _places(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The shape of every sample's maps and the row they start at, by the rows of a map's site."""
        places = {}
        for rows in {spec.rows for spec in self.specs.values() if spec.is_attention}:
            keys = (f"{rows}.shape", f"{rows}.offset")
            shapes, starts = (self._read(key, (slice(None),)) for key in keys)
            if not np.array_equal(starts, np.cumsum(shapes.prod(1)) - shapes.prod(1)):
                raise InputError(f"{self.path} is damaged: maps of {rows} have gaps; extract again")
            places[rows] = shapes, starts
        return places

    def _read(self, name: str, index: tuple) -> np.ndarray:
        import zarr

        with manifests.undamaged(self.path):
            if name not in self._opened:
                self._opened[name] = zarr.open_array(self.path / layout.ARRAYS / name, mode="r")
            values = np.asarray(self._opened[name].oindex[index])
        return values.astype(np.float32) if values.dtype == np.float16 else values

    def with_labels(
        self, task: str, labels: Iterable[object], side: str = "source", save: bool = False
    ) -> "Store":
        """The store with labels of one's own beside those on disk, for :func:`tprprobe.probe`, :func:`tprprobe.name_roles` and others.

        Args:
            task: The name of the labels, a column of ``tokens`` afterwards.
            labels: A label for every token of the side, in the order of ``tokens``; None or '' where it has none. If pieces of a word differ, each counts as a word.
            side: ``source`` or ``target``. Those of a decoder's tokens are probed at the states of these tokens.
            save: Whether the labels are also written into the store's folder, where all commands see them.

        Returns:
            The store.

        Raises:
            InputError: More or fewer labels than tokens, several of a word beside labels of words, or a label with blanks.

        Examples:
            >>> letters = store.tokens.loc[store.tokens["side"] == "source", "token"]
            >>> labeled = store.with_labels("digit", ["yes" if text.isdigit() else "no" for text in letters])
            >>> labeled.tokens["digit"].head(3).to_list()
            ['no', 'no', 'no']
        """
        from tprprobe.store.own_labels import add_labels, save_labels

        table = add_labels(self.tokens, task, labels, side, (*self.labels, *self.facts.counts))
        if save:
            save_labels(self.path, table, task)
        return replace(self, table=table, labels=(*self.labels, task))

    def __reduce__(self) -> tuple[object, ...]:
        """Sent to another process, a store is its path, where it is opened again."""
        return _reopen, (str(self.path.absolute()), self.fingerprint, self.table, self.labels)


def open_store(path: Source) -> Store:
    """A store, of which only the manifest is read so far.

    Args:
        path: The folder of the store, or ``hub:owner/name``, a dataset of the hub.

    Returns:
        The store.

    Raises:
        InputError: There is none, it is not complete, or it is damaged.

    Examples:
        >>> tp.open_store("runs/arith").samples
        24
    """
    path = locate_dataset(path)
    manifest = manifests.read_complete(path)
    verification.check_store(path, manifest)
    return Store(path, manifest.content, labels=layout.list_own_labels(path))


def takes_paths(
    function: Callable[Concatenate[Store, P], R],
) -> Callable[Concatenate[Store | Source, P], R]:
    """The function, whose first argument may be the path of a store, or ``hub:owner/name``."""

    @functools.wraps(function)
    def opened(store: Store | Source, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(as_store(store), *args, **kwargs)

    signature = inspect.signature(function)
    store_parameter, *further = signature.parameters.values()
    parameters = [store_parameter.replace(annotation=Store | Source), *further]
    opened.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return opened


def as_store(store: Store | Source) -> Store:
    return store if isinstance(store, Store) else open_store(store)


def _reopen(
    path: str, fingerprint: str, table: "pd.DataFrame | None", labels: tuple[str, ...]
) -> Store:
    return replace(_open_again(path, fingerprint), table=table, labels=labels)


@functools.lru_cache(maxsize=16)
def _open_again(path: str, fingerprint: str) -> Store:
    store = open_store(path)
    if store.fingerprint != fingerprint:
        raise InputError(f"{path} is another store here: give a path that all processes share")
    return store
