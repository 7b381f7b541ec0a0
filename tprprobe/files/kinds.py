"""Kinds of folders, known by a file in them. Rooms register their kinds as plug-ins do (`tprprobe.kinds`)."""

import os
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tprprobe import plugins
from tprprobe.errors import InputError, unknown
from tprprobe.files import hub
from tprprobe.files.notebook import as_html
from tprprobe.files.tables import Columns, read_table

SETTINGS = "settings.json"  # of probes, whose first file is a table
Source = str | os.PathLike[str]


@dataclass(frozen=True)
class Kind:
    """A folder that a command makes, finished with the first of ``files``. Without a ``loader`` (MODULE:NAME) that is a table."""

    files: tuple[str, ...]
    command: str
    loader: str = ""
    columns: Columns = field(default_factory=dict)
    is_beside: bool = False

    @property
    def file(self) -> str:
        return self.files[0]

    @property
    def is_read(self) -> bool:
        """True if ``load`` reads it: some folders are for people, or for one command."""
        return bool(self.loader) or self.file.endswith((".csv", ".parquet"))

    def is_in(self, folder: Source) -> bool:
        return any((Path(folder) / name).is_file() for name in self.files)

    def is_finished_in(self, folder: Source) -> bool:
        return (Path(folder) / self.file).is_file()

    def find_finished(self, folders: Iterable[Path]) -> list[Path]:
        return [folder for folder in folders if self.is_finished_in(folder)]

    def load(self, folder: Source) -> Any:
        path = Path(folder) / self.file
        command = f"tprprobe {self.command.removesuffix(' --out')} --out"
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {folder}: `{command} {folder}` makes it")
        if not path.is_file():
            raise InputError(f"{folder} holds no {self.file}: give a FOLDER of `{command} FOLDER`")
        if self.loader:
            return pkgutil.resolve_name(self.loader)(folder)
        table = read_table(path, self.columns, f"make it again with `tprprobe {self.command}`")
        if table.empty:
            raise InputError(f"{path} holds no rows: see `tprprobe {self.command}`")
        return table


def list_kinds() -> dict[str, Kind]:
    kinds: dict[str, Kind] = plugins.load_all("kinds")
    return dict(sorted(kinds.items(), key=lambda item: item[1].is_beside))


def finished_in(folder: Source, kinds: dict[str, Kind] | None = None) -> dict[str, str]:
    """The kind, of all or these, of what is finished in a folder ("." is itself) and in the folders in it, by their names."""
    path, kinds = Path(folder), kinds or list_kinds()
    places = [path, *(child for child in sorted(path.glob("*")) if child.is_dir())]
    return {
        place.relative_to(path).as_posix(): name
        for place in places
        for name, kind in reversed(kinds.items())
        if kind.is_finished_in(place)
    }


def verify_run(folder: Source) -> dict[str, Any]:
    """What could be read: finished results (``kinds``, by place), and the number of ``files`` that equal their checksums."""
    from tprprobe.files.runs import check_tables  # a store is verified without pandas

    path, kind_of_place = Path(folder), finished_in(folder)
    if not kind_of_place:
        raise InputError(f"{folder} holds no finished result: give a store, a run or a checkpoint")
    files = 0
    for place, name in kind_of_place.items():
        kind = list_kinds()[name]
        if kind.loader:
            kind.load(path / place)
        manifests = [path / place / name for name in (*kind.files, SETTINGS)]
        files += sum(check_tables(m) for m in manifests if m.suffix == ".json" and m.is_file())
    return {"run": str(folder), "kinds": kind_of_place, "files": files}


class RunContents(dict[str, Any]):
    """The results in a folder by their folders' names, the folder's own result by "." and by its name, too; a notebook shows them as a table.

    Examples:
        >>> tp.load_run("runs")["arith"].samples
        24
    """

    name = ""  # of the folder

    def __missing__(self, name: str) -> Any:
        if name == self.name and "." in self:
            return self["."]
        raise unknown("result of this folder", name, self)

    def __repr__(self) -> str:
        contents = ", ".join(f"{p!r}: {type(result).__name__}" for p, result in self.items())
        return f"RunContents({{{contents}}}): a dictionary, by folder"

    def _repr_html_(self) -> str:
        import pandas as pd

        sizes = [len(result) if hasattr(result, "__len__") else None for result in self.values()]
        rows = [(p, type(r).__name__, n) for (p, r), n in zip(self.items(), sizes, strict=True)]
        table = pd.DataFrame(rows, columns=["folder", "holds", "rows"])
        return as_html(f"{len(self)} results", table)


def load_run(folder: Source) -> RunContents:
    """All finished results in a folder and in the folders in it.

    Args:
        folder: The ``--out`` of commands, or ``hub:owner/name``, a dataset of the hub.

    Returns:
        A dictionary: the results by their folders' names; the folder's own is ``["."]``, and has its name, too
        (``tp.load_run("runs/probes")["probes"]``). Most are a table.

    Raises:
        InputError: Nothing is finished there, or it is damaged.

    Examples:
        >>> sorted(tp.load_run("runs"))[0]
        'arith'
    """
    path = hub.locate_dataset(folder)
    readable = {name: kind for name, kind in list_kinds().items() if kind.is_read}
    kind_of_place = finished_in(path, readable)
    contents = {place: readable[name].load(path / place) for place, name in kind_of_place.items()}
    if not contents:
        raise InputError(f"{folder} holds no finished result: give the folder of a command (--out)")
    loaded = RunContents(contents)
    loaded.name = Path(path).resolve().name
    return loaded
