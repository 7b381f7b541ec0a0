"""Kinds of folders, known by a file in them. Rooms register their kinds as plug-ins do (`tprprobe.kinds`)."""

import os
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tprprobe import plugins
from tprprobe.errors import InputError
from tprprobe.files.tables import Columns, read_table

SETTINGS = "settings.json"  # of probes, whose first file is a table
Source = str | os.PathLike[str]


@dataclass(frozen=True)
class Kind:
    """A folder that ``tprprobe COMMAND`` makes: the first of ``files`` is there when it is finished.

    ``loader`` is the function that reads the folder, "MODULE:NAME" of the room that registers the kind, so
    that a list of kinds imports nothing; without one the first file is a table, which has at least these
    ``columns``. A kind that ``is_beside`` others names a folder only where no other does.
    """

    files: tuple[str, ...]
    command: str
    loader: str = ""
    columns: Columns = field(default_factory=dict)
    is_beside: bool = False

    @property
    def file(self) -> str:
        """The file that a finished folder has."""
        return self.files[0]

    @property
    def is_read(self) -> bool:
        """True if ``load`` reads it: some folders are for people, or for one command."""
        return bool(self.loader) or self.file.endswith((".csv", ".parquet"))

    def is_in(self, folder: Source) -> bool:
        """True if the folder is of this kind, finished or begun."""
        return any((Path(folder) / name).is_file() for name in self.files)

    def is_finished_in(self, folder: Source) -> bool:
        """True if the folder is of this kind and finished."""
        return (Path(folder) / self.file).is_file()

    def find_finished(self, folders: Iterable[Path]) -> list[Path]:
        """Those of the folders that are of this kind and finished."""
        return [each for each in folders if self.is_finished_in(each)]

    def load(self, folder: Source) -> Any:
        """The contents of the folder, loaded."""
        if self.loader:
            return pkgutil.resolve_name(self.loader)(folder)
        path = Path(folder) / self.file
        if not path.is_file():
            raise InputError(
                f"{folder} holds no {self.file}: make one with `tprprobe {self.command}`"
            )
        table = read_table(path, self.columns, f"make it again with `tprprobe {self.command}`")
        if table.empty:
            raise InputError(f"{path} holds no rows: see `tprprobe {self.command}`")
        return table


def list_kinds() -> dict[str, Kind]:
    """Every kind by name; those that lie beside other results come last."""
    kinds: dict[str, Kind] = plugins.load_all("kinds")
    return dict(sorted(kinds.items(), key=lambda each: each[1].is_beside))


def finished_in(folder: Source) -> dict[str, str]:
    """The kind of what is finished in a folder ("." is itself) and in the folders in it, by their names."""
    path = Path(folder)
    places = [path, *(each for each in sorted(path.glob("*")) if each.is_dir())]
    return {
        place.relative_to(path).as_posix(): name
        for place in places
        for name, kind in reversed(list_kinds().items())
        if kind.is_finished_in(place)
    }
