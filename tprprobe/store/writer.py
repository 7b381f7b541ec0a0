"""Writing a store block by block; a run killed at any moment is resumed where it was.

Files grow by writes at known places, which cut off what a killed run left. The journal commits their lengths in
bytes after every block; at the end it becomes the manifest.
"""

import contextlib
import errno
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
from jaxtyping import Shaped

from tprprobe.errors import InputError
from tprprobe.store import arrays, layout, manifests, tokens
from tprprobe.store.dtypes import as_stored, first_overflow
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec
from tprprobe.store.manifests import Ledger, Manifest, Progress, with_checksums

Rows = Shaped[np.ndarray, "_token ..."]  # _: as many as the site's side has
Map = Shaped[np.ndarray, "_head _query _key"]


class StoreWriter:
    """A store in the making: ``create`` or resume it, ``append`` blocks of samples, ``finish``."""

    def __init__(self, path: Path, journal: Manifest):
        self.path = path
        self._journal = journal
        self._sites = journal.sites
        self._arrays = layout.all_arrays(self._sites)

    @classmethod
    def create(
        cls,
        path: str | Path,
        sites: Mapping[str, SiteSpec],
        settings: Mapping[str, object],
        resume: bool = False,
    ) -> "StoreWriter":
        """A writer of a new store, or (``resume``) of the one begun there with the same settings. InputError for anything else there."""
        path = Path(path)
        begun = manifests.read_begun(path, resume)
        description = manifests.describe(sites, settings)
        if begun is not None:
            manifests.check_same(path, begun.content, description)
            manifests.check_begun(path, begun)
            return cls(path, begun)
        start: Progress = {"complete": False, "samples": 0, "lengths": {}, "token_bytes": 0}
        content = {**description, **start, **Ledger({}, {}).progress()}
        writer = cls(path, Manifest.of(content, path))
        with writer._explained():
            path.mkdir(parents=True, exist_ok=True)
            writer._commit({})
        return writer

    @property
    def samples_done(self) -> int:
        """The number of committed samples, which a resumed run does not compute again."""
        return self._journal.samples

    @property
    def counts(self) -> Mapping[str, int]:
        return self._journal.counts

    def append(
        self,
        values: Mapping[str, Rows],
        table: pd.DataFrame,
        attention: Mapping[str, Sequence[Map]] = MappingProxyType({}),
        counts: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Adds whole samples. Rows go by sample; ``attention`` holds maps of the first samples. A full disk is an InputError, nothing is lost."""
        table = tokens.sort_tokens(table)
        lengths = dict(self._journal.lengths)
        ledger = Ledger.of(self._journal)
        rows = {name: self._typed(name, array, table) for name, array in values.items()}
        rows |= self._pairs(attention, lengths)
        added = self._count(rows, table)
        with self._explained():
            for name, array in rows.items():
                spec = self._arrays[name]
                start = lengths.get(spec.rows, 0)
                arrays.write_rows(self._folder(name), spec, start, array, ledger)
            size = self._journal.token_bytes
            block = tokens.encode_block(table)
            arrays.write_at(self.path / layout.TOKENS_BEGUN, size, block)
            progress: Progress = {
                "samples": self.samples_done + table["sample"].nunique(),
                "lengths": lengths | {axis: lengths.get(axis, 0) + n for axis, n in added.items()},
                "token_bytes": size + len(block),
            }
            if summed := Counter(self.counts) + Counter(counts):
                progress["counts"] = summed
            self._commit({**progress, **ledger.progress()})
            for name, array in rows.items():
                start = lengths.get(self._arrays[name].rows, 0)
                arrays.remove_begun(self._folder(name), self._arrays[name], start, len(array))

    def finish(self) -> None:
        """Completes the store; steps that are done already are not repeated."""
        with self._explained():
            if not self._journal.complete:
                ledger = Ledger.of(self._journal)
                arrays.seal(self.path / layout.ARRAYS, self._journal.arrays, ledger)
                table = self.path / layout.TOKENS
                blocks = self.path / layout.TOKENS_BEGUN
                tokens.write_parquet(blocks, self._journal.token_bytes, table)
                end: Progress = {"complete": True, "token_bytes": table.stat().st_size}
                content = {**self._journal.content, **end, **ledger.progress()}
                sealed = Manifest.of(content, self.path)
                self._commit({**end, **with_checksums(self.path, sealed)})
            if not manifests.is_finished(self.path):
                for file in (self.path / layout.ARRAYS).glob(f"*/*{layout.BEGUN}"):
                    file.unlink()
                (self.path / layout.TOKENS_BEGUN).unlink(missing_ok=True)
                os.replace(self.path / layout.JOURNAL, self.path / layout.MANIFEST)

    def _folder(self, name: str) -> Path:
        return self.path / layout.ARRAYS / name

    def _typed(self, name: str, values: np.ndarray, table: pd.DataFrame) -> np.ndarray:
        spec = self._sites[name]
        if values.shape[1:] != spec.shape:
            raise ValueError(f"{name}: rows of shape {values.shape[1:]}, declared {spec.shape}")
        stored = as_stored(values, spec.dtype)
        if (row := first_overflow(values, stored)) is not None:
            number = np.abs(values[row][np.isinf(stored[row])]).max()
            sample = tokens.samples_of(table, spec.rows)[row]
            value = f"{name}, sample {sample}: {number:.6g} is beyond the range of {spec.dtype}"
            raise InputError(f"{value}: keep it as float32 or bfloat16 (--store-dtype)")
        return stored

    def _pairs(
        self, attention: Mapping[str, Sequence[Map]], lengths: Mapping[str, int]
    ) -> dict[str, np.ndarray]:
        """Maps as rows [pair, head], with each sample's first pair and shape."""
        rows: dict[str, np.ndarray] = {}
        for name, maps in attention.items():
            spec = self._sites[name]
            flat = [weights.transpose(1, 2, 0).reshape(-1, *spec.shape) for weights in maps]
            flat = np.concatenate([np.empty((0, *spec.shape), np.float32), *flat])
            rows[name] = as_stored(flat, spec.dtype)
            shape = np.array([weights.shape[1:] for weights in maps], "<i8").reshape(-1, 2)
            before = np.cumsum(shape.prod(1)) - shape.prod(1)
            rows[f"{spec.rows}.offset"] = lengths.get(spec.rows, 0) + before
            if not np.array_equal(rows.setdefault(f"{spec.rows}.shape", shape), shape):
                raise ValueError(f"{name}: maps of other shapes than other {spec.rows} maps")
            if len(maps) and lengths.get(f"{spec.rows}_sample", 0) != self.samples_done:
                raise ValueError(f"{name}: samples before these have no maps")
        return rows

    def _count(self, rows: Mapping[str, np.ndarray], table: pd.DataFrame) -> dict[str, int]:
        has_maps = any(self._arrays[name].is_attention for name in rows)
        required = {n for n, spec in self._sites.items() if has_maps or not spec.is_attention}
        if missing := required - rows.keys():
            raise ValueError(f"a block lacks {', '.join(sorted(missing))}")
        added = {side: int(np.sum(table["side"] == side)) for side in SIDES}
        if SAMPLE in {spec.rows for spec in self._sites.values()}:
            added[SAMPLE] = table["sample"].nunique()
        for name, array in rows.items():
            axis = self._arrays[name].rows
            if added.setdefault(axis, len(array)) != len(array):
                raise ValueError(f"{name} has {len(array)} rows, {axis} has {added[axis]}")
        return added

    def _commit(self, progress: Progress) -> None:
        self._journal = manifests.write_manifest(self.path, self._journal.content, progress)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (PermissionError, NotADirectoryError) as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}") from error
        except (OSError, InputError) as error:
            codes = {getattr(cause, "errno", None) for cause in (error, error.__cause__)}
            if not codes & {errno.ENOSPC, errno.EDQUOT}:
                raise
            progress_text = f"its first {self.samples_done} samples are kept"
            raise InputError(
                f"the disk of {self.path} is full: {progress_text}; free space, then --resume"
            ) from error
