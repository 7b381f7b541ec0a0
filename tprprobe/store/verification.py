"""What of a store is not as it was written: files that are missing, cut short or changed."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from tprprobe.store.checksums import sum_file, sum_manifest
from tprprobe.store.command import making_command
from tprprobe.store.layout import MANIFEST, Part, parts_of, twins_in
from tprprobe.store.manifests import CHECKSUMS, Manifest, fault_of, read_complete, undamaged

CHANGED = "is not what was written"
NAMED = 3  # damaged files in a line


@dataclass(frozen=True)
class Damage:
    """A damaged file of a store, what is wrong with it, and the site and the rows that it holds."""

    file: str
    fault: str
    site: str | None = None
    rows: tuple[int, int] | None = None

    def __str__(self) -> str:
        told = f"{self.file} {self.fault}"
        if self.rows is None:
            return told
        return f"{self.site}, rows {self.rows[0]} to {self.rows[1] - 1} ({told})"


@dataclass(frozen=True)
class Verification:
    """The damage of a store and its control; without checksums only lengths could be compared."""

    store: Path
    files: int
    has_checksums: bool
    damage: list[Damage]
    command: str

    def as_dict(self) -> dict[str, Any]:
        """The verification in JSON types; the command, if there is damage."""
        return {
            "store": str(self.store),
            "files": self.files,
            "checksums": self.has_checksums,
            "damage": [asdict(each) for each in self.damage],
            "command": self.command if self.damage else None,
        }

    def __str__(self) -> str:
        if self.damage:
            more = len(self.damage) - NAMED
            named = "; ".join(map(str, self.damage[:NAMED]))
            rest = f"; and {more} files more (--json lists all)" if more > 0 else ""
            return f"{self.store} is damaged: {named}{rest}: {self._remedy}"
        if self.has_checksums:
            return f"{self.store}: all {self.files} files are as they were written"
        return (
            f"{self.store}: all {self.files} files have their lengths; it was written without "
            "checksums, so changed bytes would go unnoticed"
        )

    @property
    def _remedy(self) -> str:
        """What to type: only of what this program extracted can single files be made again."""
        manifests_too = any(each.file.endswith(MANIFEST) for each in self.damage)
        if manifests_too or not self.command.startswith("tprprobe extract"):
            return f"remove it and run `{self.command}`"
        return f"`{self.command} --repair` makes these files again"


def verify(path: Path) -> Verification:
    """The damage of a store and its twins, every file read once.

    Raises:
        InputError: no complete store, or a manifest that cannot be read.
    """
    manifest = read_complete(path)
    with undamaged(path):
        damage = list(find_damage(path, manifest))
        files = 1 + sum(1 for _ in parts_of(manifest))
        command = making_command(path, manifest)
    found = Verification(path, files, CHECKSUMS in manifest, damage, command)
    return reduce(_with_twin, twins_in(path), found)


def _with_twin(found: Verification, kind: str) -> Verification:
    twin = verify(found.store / kind)
    of_twin = [Damage(f"{kind}/{d.file}", d.fault, d.site, d.rows) for d in twin.damage]
    return Verification(
        found.store,
        found.files + twin.files,
        found.has_checksums and twin.has_checksums,
        found.damage + of_twin,
        found.command,
    )


def find_damage(path: Path, manifest: Manifest) -> Iterator[Damage]:
    """The damaged files of a store, its twins' left out; every file is read once."""
    sums = manifest.get(CHECKSUMS, {})
    if sums and sums.get(MANIFEST) != sum_manifest(manifest):
        yield Damage(MANIFEST, CHANGED)
    for part in parts_of(manifest):
        if fault := fault_of(path, part) or _change(path, part, sums):
            yield Damage(part.file, fault, part.site, part.rows)


def _change(path: Path, part: Part, sums: dict[str, str]) -> str | None:
    written = sums.get(part.file)
    return CHANGED if written not in (None, sum_file(path / part.file)) else None
