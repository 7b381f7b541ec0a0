"""What of a store is not as it was written: files that are missing, cut short or changed."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from tprprobe.store.command import making_command
from tprprobe.store.layout import MANIFEST, parts_of, twins_in
from tprprobe.store.manifests import (
    CHANGED,
    Manifest,
    change_of,
    checksums_of,
    fault_of,
    is_as_written,
    read_complete,
    undamaged,
)

NAMED = 3  # damaged files in a line


@dataclass(frozen=True)
class Damage:
    """A damaged file of a store, what is wrong with it, and the site and the rows that it holds."""

    file: str
    fault: str
    site: str | None = None
    rows: tuple[int, int] | None = None

    def __str__(self) -> str:
        named = f"{self.file} {self.fault}"
        if self.rows is None:
            return named
        return f"{self.site}, rows {self.rows[0]} to {self.rows[1] - 1} ({named})"


@dataclass(frozen=True)
class Verification:
    """The damage of a store and its control; of ``unchecked`` files, which have no checksum, only the
    lengths could be compared.
    """

    store: Path
    files: int
    unchecked: int
    damage: list[Damage]
    command: str

    def as_dict(self) -> dict[str, Any]:
        """The verification in JSON types; the command, if there is damage."""
        return {
            "store": str(self.store),
            "files": self.files,
            "checksums": not self.unchecked,
            "unchecked": self.unchecked,
            "damage": [asdict(each) for each in self.damage],
            "command": self.command if self.damage else None,
        }

    def __str__(self) -> str:
        if self.damage:
            more = len(self.damage) - NAMED
            named = "; ".join(map(str, self.damage[:NAMED]))
            rest = f"; and {more} files more (--json lists all)" if more > 0 else ""
            return f"{self.store} is damaged: {named}{rest}: {self._remedy}"
        if not self.unchecked:
            return f"{self.store}: all {self.files} files are as they were written"
        return (
            f"{self.store}: all {self.files} files have their lengths, but {self.unchecked} of them have "
            "no checksum in the manifest, so changed bytes in these would go unnoticed"
        )

    @property
    def _remedy(self) -> str:
        """What to type: only of what this program extracted can single files be made again."""
        manifests_too = any(each.file.endswith(MANIFEST) for each in self.damage)
        if manifests_too or not self.command.startswith("tprprobe extract"):
            return f"remove it and run `{self.command}`"
        return f"`{self.command} --repair` makes these files again"


def verify(path: Path) -> Verification:
    """The damage of a store and its twins, every file read once."""
    manifest = read_complete(path)
    with undamaged(path):
        damage = list(find_damage(path, manifest))
        files = [MANIFEST, *(part.file for part in parts_of(manifest))]
        unchecked = sum(file not in checksums_of(manifest) for file in files)
        command = making_command(path, manifest)
    found = Verification(path, len(files), unchecked, damage, command)
    return reduce(_with_twin, twins_in(path), found)


def _with_twin(found: Verification, kind: str) -> Verification:
    twin = verify(found.store / kind)
    return replace(
        found,
        files=found.files + twin.files,
        unchecked=found.unchecked + twin.unchecked,
        damage=found.damage + [replace(each, file=f"{kind}/{each.file}") for each in twin.damage],
    )


def find_damage(path: Path, manifest: Manifest) -> Iterator[Damage]:
    """The damaged files of a store, its twins' left out; every file is read once."""
    sums = checksums_of(manifest)
    if not is_as_written(manifest):
        yield Damage(MANIFEST, CHANGED)
    for part in parts_of(manifest):
        if fault := fault_of(path, part) or change_of(path, part, sums):
            yield Damage(part.file, fault, part.site, part.rows)
