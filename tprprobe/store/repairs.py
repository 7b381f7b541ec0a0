"""A damaged store's files made again, the same to the byte, from the samples that they need.

A file that holds rows of a site needs the samples of these rows, the token table all samples, Zarr's
metadata none.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tprprobe.errors import InputError
from tprprobe.files.checksums import sum_file
from tprprobe.files.writing import whole
from tprprobe.store import arrays, layout, manifests
from tprprobe.store.layout import SAMPLE, SIDES, TOKENS, Part, twins_in
from tprprobe.store.reader import Store, open_store
from tprprobe.store.tokens import samples_of
from tprprobe.store.verification import find_damage

# a store of a range of samples, and those of its twins of some kinds
Make = Callable[[Path, range, Sequence[str]], None]


def repair(out: Path, stride: int, make: Make) -> int:
    """The number of files that were made again, of the store at ``out`` and its twins.

    ``make`` writes the store of samples that begin and end at multiples of ``stride``. A repair that was
    killed goes on.

    Raises:
        InputError: no complete store, one whose manifest is damaged, or a file that came out otherwise.
    """
    damaged = {"": DamagedStore.open(out)}
    damaged |= {kind: DamagedStore.open(path) for kind, path in twins_in(out).items()}
    scratch = out.with_name(f".{out.name}.repair")
    for samples in _join(cell for each in damaged.values() for cell in each.cells(stride)):
        own = range(samples.start * stride, min(samples.stop * stride, damaged[""].store.samples))
        made = scratch / f"{own.start}-{own.stop}"
        kinds = [kind for kind, each in damaged.items() if each.needs(own)]
        make(made, own, [kind for kind in kinds if kind])
        for kind in kinds:
            damaged[kind].mend(open_store(made / kind), own)
    for each in damaged.values():
        each.describe_arrays()
    shutil.rmtree(scratch, ignore_errors=True)
    return sum(len(each.parts) for each in damaged.values())


@dataclass(frozen=True)
class DamagedStore:
    """A complete store and its damaged parts."""

    store: Store
    parts: list[Part]

    @classmethod
    def open(cls, path: Path) -> "DamagedStore":
        """The store at a path, every file of which is read once."""
        manifest = manifests.read_complete(path)
        with manifests.undamaged(path):
            damaged = {each.file for each in find_damage(path, manifest)}
            parts = [each for each in layout.parts_of(manifest) if each.file in damaged]
        if layout.MANIFEST in damaged:
            raise InputError(
                f"{path} cannot be repaired, its {layout.MANIFEST} is damaged: remove it and extract again"
            )
        return cls(Store(path, manifest), parts)

    def cells(self, stride: int) -> set[int]:
        """The numbers of the ranges of ``stride`` samples that the parts need."""
        return {
            cell
            for part in self.parts
            if (samples := self._samples(part))
            for cell in range(samples.start // stride, (samples.stop - 1) // stride + 1)
        }

    def needs(self, samples: range) -> bool:
        return any(True for _ in self._made_of(samples))

    def mend(self, made: Store, samples: range) -> None:
        """Puts the parts in place that are made of these samples, which ``made`` holds."""
        for part in self._made_of(samples):
            if part.file == TOKENS:
                self._replace(part, (made.path / TOKENS).read_bytes())
            else:
                self._replace(part, self._rows(part, made, samples))

    def describe_arrays(self) -> None:
        """Puts Zarr's metadata in place where it is damaged."""
        wanted = [part for part in self.parts if part.file.endswith("zarr.json")]
        documents = arrays.documents(layout.arrays_of(self.store.manifest)) if wanted else {}
        for part in wanted:
            self._replace(part, documents[part.file.removeprefix(f"{layout.ARRAYS}/")])

    def _made_of(self, samples: range) -> Iterable[Part]:
        needed = ((part, self._samples(part)) for part in self.parts)
        return (part for part, own in needed if own and own.start in samples)

    def _samples(self, part: Part) -> range:
        store, all_samples = self.store, range(self.store.samples)
        if any(each.file == TOKENS for each in self.parts):  # which tells what rows are of what
            return range(0) if part.file.endswith("zarr.json") else all_samples
        if part.rows is None or part.site is None:
            return range(0)
        rows = layout.arrays_of(self.store.manifest)[part.site][0].rows
        if rows == SAMPLE:
            return range(*part.rows)
        if rows not in SIDES:  # maps, and where they lie
            return range(store.manifest["attention_samples"])
        known = samples_of(store.tokens, rows)[slice(*part.rows)]
        return range(int(known[0]), int(known[-1]) + 1)

    def _rows(self, part: Part, made: Store, samples: range) -> bytes:
        """The bytes of a chunk; its rows lie elsewhere in ``made``."""
        import zarr

        assert part.site is not None
        assert part.rows is not None
        (spec, total), before = layout.arrays_of(self.store.manifest)[part.site], 0
        if samples.start and spec.rows in (*SIDES, SAMPLE):
            before = int((samples_of(self.store.tokens, spec.rows) < samples.start).sum())
        array = zarr.open_array(made.path / layout.ARRAYS / part.site, mode="r")
        first, last = part.rows
        size = spec.chunk_sizes(total, padded=True)[first // spec.chunk_rows]
        return arrays.chunk_bytes(spec, np.asarray(array[first - before : last - before]), size)

    def _replace(self, part: Part, content: bytes) -> None:
        """Writes a file if it is what was written before."""
        file = self.store.path / part.file
        written = self.store.manifest.get(manifests.CHECKSUMS, {}).get(part.file)
        with whole(file) as partial:
            partial.write_bytes(content)
            if written not in (None, sum_file(partial)):
                raise InputError(
                    f"{file} comes out otherwise than it was written (another version of torch, another "
                    "processor?): remove the store and extract again"
                )


def _join(cells: Iterable[int]) -> Sequence[range]:
    found: list[range] = []
    for cell in sorted(set(cells)):
        start = found.pop().start if found and found[-1].stop == cell else cell
        found.append(range(start, cell + 1))
    return found
