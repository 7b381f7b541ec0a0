"""What of a store is not as it was written: what opening it checks, cheaply, and what reading every file finds.

Opening compares the lengths of all files, and the checksums of all but those of numbers. A token table that comes
without a checksum is asked for its number of rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.files.checksums import sum_file
from tprprobe.store import layout
from tprprobe.store.layout import MANIFEST, SIDES, TOKENS, Part
from tprprobe.store.manifests import (
    Manifest,
    check_files,
    fault_of,
    read_complete,
    sum_manifest,
    undamaged,
)

CHANGED = "is not what was written"
MAX_FAULTS = 3  # damaged files in a line


def check_store(path: Path, manifest: Manifest) -> None:
    """Checks the lengths of all files and the content of those that say what the numbers are."""
    check_files(path, manifest)
    with undamaged(path):
        if not is_as_written(manifest):
            raise _damage(path / MANIFEST, CHANGED)
        for entry in manifest.files.parts():
            if entry.rows is None and (fault := _change_of(path, entry, manifest)):
                raise _damage(path / entry.file, fault)
        if TOKENS not in manifest.checksums:
            import pyarrow.parquet as pq

            rows, lengths = pq.read_metadata(path / TOKENS).num_rows, manifest.lengths
            if rows != (expected := sum(lengths.get(side, 0) for side in SIDES)):
                raise _damage(path / TOKENS, f"has {rows} rows where the manifest says {expected}")


def check_twin(path: Path, manifest: Manifest, kind: str, twin: Manifest) -> None:
    """Checks that a twin's store is of this store's model, of this kind, on the same data; old stores do not say."""
    if "files" not in manifest.model.model_fields_set:
        return
    twin_model, name = twin.model, str(twin.model.name)
    is_bound = twin_model.twin_of == manifest.model.sha256 and name.startswith(f"{kind}:")
    data, twin_data = (m.data.model_copy(update={"n": None}) for m in (manifest, twin))
    if not is_bound or data != twin_data:
        description = f"{name} on {twin_data.name}"
        raise InputError(
            f"{path / kind} is no control of {path} (it is of {description}, or of other files): extract it again"
        )


def _damage(file: Path, fault: str) -> InputError:
    return InputError(f"{file} {fault}: the store is damaged, extract it again")


def is_as_written(manifest: Manifest) -> bool:
    digest = manifest.checksums.get(MANIFEST)
    return digest is None or digest == sum_manifest(manifest.content)


def _change_of(path: Path, entry: Part, manifest: Manifest) -> str | None:
    digest = manifest.checksums.get(entry.file)
    return CHANGED if digest not in (None, sum_file(path / entry.file)) else None


@dataclass(frozen=True)
class Damage:
    """A damaged file of a store, what is wrong with it, and the site and the rows that it holds."""

    file: str
    fault: str
    site: str | None = None
    rows: tuple[int, int] | None = None

    def __str__(self) -> str:
        description = f"{self.file} {self.fault}"
        if self.rows is None:
            return description
        return f"{self.site}, rows {self.rows[0]} to {self.rows[1] - 1} ({description})"


@dataclass(frozen=True)
class Verification:
    """The damage of a store and its twins; of ``unchecked`` files, which have no checksum, only the
    lengths could be compared.
    """

    store: Path
    files: int
    unchecked: int
    damage: list[Damage]

    def __str__(self) -> str:
        if self.damage:
            n_further = len(self.damage) - MAX_FAULTS
            first_faults = "; ".join(map(str, self.damage[:MAX_FAULTS]))
            ending = f"; and {n_further} files more (--json lists all)" if n_further > 0 else ""
            return f"{self.store} is damaged: {first_faults}{ending}: remove it and make it again"
        if not self.unchecked:
            return f"{self.store}: all {self.files} files are as they were written"
        return (
            f"{self.store}: all {self.files} files have their lengths, but {self.unchecked} of them have "
            "no checksum in the manifest, so changed bytes in these would go unnoticed"
        )


def verify(path: Path) -> Verification:
    """The damage of a store and its twins, every file read once."""
    files, damage, unchecked = 0, [], 0
    for kind, store in {"": path, **layout.twins_in(path)}.items():
        manifest = read_complete(store)
        if kind:
            check_twin(path, read_complete(path), kind, manifest)
        with undamaged(store):
            damaged = list(find_damage(store, manifest))
            names = [MANIFEST, *(entry.file for entry in manifest.files.parts())]
            unchecked += len({*names} - manifest.checksums.keys())
        files += len(names)
        damage += [replace(d, file=f"{kind}/{d.file}") if kind else d for d in damaged]
    return Verification(path, files, unchecked, damage)


def find_damage(path: Path, manifest: Manifest) -> Iterator[Damage]:
    """The damaged files of a store, its twins' left out; every file is read once."""
    if not is_as_written(manifest):
        yield Damage(MANIFEST, CHANGED)
    for entry in manifest.files.parts():
        if fault := fault_of(path, entry) or _change_of(path, entry, manifest):
            yield Damage(entry.file, fault, entry.site, entry.rows)
