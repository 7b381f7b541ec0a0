"""What of a store is not as it was written: what opening it checks, cheaply, and what reading every file finds.

Opening compares the lengths of all files, and the checksums of all but those of numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.files.checksums import sum_file
from tprprobe.store import layout
from tprprobe.store.layout import MANIFEST
from tprprobe.store.manifests import Manifest, fault_of, read_complete, sum_manifest, undamaged

CHANGED = "is not what was written"
MAX_FAULTS = 3  # damaged files in a line


@dataclass(frozen=True)
class Damage:
    """A damaged file of a store, and what is wrong with it."""

    file: str
    fault: str

    def __str__(self) -> str:
        return f"{self.file} {self.fault}"


def find_damage(path: Path, manifest: Manifest, reads_numbers: bool) -> Iterator[Damage]:
    """The damaged files of a store, its twins' left out; those of numbers are read if they are to be."""
    sums = manifest.checksums
    for entry in manifest.parts():
        fault = fault_of(path, entry)
        if fault is None and entry.file in sums and (reads_numbers or entry.rows is None):
            fault = None if sum_file(path / entry.file) == sums[entry.file] else CHANGED
        if fault is not None:
            yield Damage(entry.file, fault)
    if MANIFEST in sums and sums[MANIFEST] != sum_manifest(manifest.content):
        yield Damage(MANIFEST, CHANGED)


def check_store(path: Path, manifest: Manifest) -> None:
    """Checks the lengths of all files and the content of those that say what the numbers are."""
    with undamaged(path):
        for damage in find_damage(path, manifest, reads_numbers=False):
            file = path / damage.file
            raise InputError(f"{file} {damage.fault}: the store is damaged, extract it again")


def check_twin(path: Path, manifest: Manifest, kind: str, twin: Manifest) -> None:
    """Checks that a twin's store is of this store's model, of this kind, on the same data; old stores do not say."""
    if "files" not in manifest.model.model_fields_set:
        return
    twin_model, name = twin.model, str(twin.model.name)
    is_bound = twin_model.twin_of == manifest.model.sha256 and name.startswith(f"{kind}:")
    data, twin_data = (m.data.model_copy(update={"n": None}) for m in (manifest, twin))
    if not is_bound or data != twin_data:
        origin = f"{name} on {twin_data.name}, or of other files"
        raise InputError(
            f"{path / kind} is no control of {path} (it is of {origin}): extract it again"
        )


@dataclass(frozen=True)
class Verification:
    """The damage of a store and its twins; of ``unchecked`` files only the lengths could be compared."""

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
            damaged = list(find_damage(store, manifest, reads_numbers=True))
        names = {MANIFEST, *(entry.file for entry in manifest.parts())}
        unchecked += len(names - manifest.checksums.keys())
        files += len(names)
        damage += [replace(d, file=f"{kind}/{d.file}") if kind else d for d in damaged]
    return Verification(path, files, unchecked, damage)
