"""Stores, results and models below a folder, by name; links that lead out of it are not followed."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from tprprobe.analyses.kinds import CLUSTERS
from tprprobe.dashboard.contents import EXAMINATION, describe_store
from tprprobe.errors import InputError, unknown
from tprprobe.files import assets
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import list_kinds
from tprprobe.store import Store, open_store
from tprprobe.store.contents import sort_results
from tprprobe.store.layout import ARRAYS, MANIFEST, TOKENS, TWINS
from tprprobe.store.token_texts import visible

MAX_FOLDERS, MAX_DEPTH = 20_000, 8  # that are looked into, and how far down
DEFAULT_CLUSTERS = 20
FOREIGN = ("zarr.json", ".zgroup", ".zarray")


@dataclass(frozen=True)
class Runs:
    """The folders below ``root`` by kind and name, which is the path relative to ``root``'s parent."""

    root: Path
    folders: Mapping[str, Mapping[str, Path]]

    def names(self, kind: str) -> list[str]:
        return list(self.folders[kind])

    def folder(self, kind: str, name: str) -> Path:
        """The folder of that kind and name; only folders that were found, whatever the name says."""
        if name not in self.folders[kind]:
            raise unknown(kind, name, self.folders[kind])
        return self.folders[kind][name]

    def open(self, name: str) -> Store:
        """The store of that name."""
        path = self.folder("control" if name in self.folders["control"] else "store", name)
        for entry in (MANIFEST, TOKENS, ARRAYS, *TWINS):
            if (path / entry).exists() and not is_within(path / entry, self.root):
                raise InputError(f"{name}: its {entry} is outside {self.root} and is not read")
        return open_store(path)

    def run_of(self, name: str) -> Path:
        """The folder of a store's run: its parent, unless that holds other stores too."""
        path = self.folder("store", name)
        parents = [store.parent for store in self.folders["store"].values()]
        is_alone = parents.count(path.parent) == 1
        return path.parent if is_alone and path != self.root else path

    def beside(self, store: Store | None, *kinds: str) -> dict[str, Path]:
        """The folders of kinds of results that were made of the store, or of its model; all of them without a store."""
        return self.sort(store, *kinds)[0] if store else self._list(kinds)

    def sort(self, store: Store, *kinds: str) -> list[dict[str, Path]]:
        """Results made of the store (or its model), of another one, and of nothing that they record."""
        paths = self._list(kinds)
        groups = sort_results(store, paths.values())
        return [{name: path for name, path in paths.items() if path in group} for group in groups]

    def _list(self, kinds: Sequence[str]) -> dict[str, Path]:
        return {name: path for kind in kinds for name, path in self.folders.get(kind, {}).items()}

    def count_clusters(self, store: Store) -> int:
        """The number of clusters that results of the store have; without one, DEFAULT_CLUSTERS."""
        for folder in self.beside(store, "clusters").values():
            with suppress(InputError, LookupError, TypeError, ValueError):
                return int(read_json(folder / CLUSTERS.file)["runs"][0]["k"])
        return DEFAULT_CLUSTERS

    def find_model(self, store: Store) -> str | None:
        """What :func:`tprprobe.load_model` takes for the model of a store: a folder, a shipped name, a hub id; None where none is there."""
        name, folder = str(store.facts.model.name), store.facts.model_folder
        is_there = folder and ":" not in name.removeprefix("hf:") and Path(folder).exists()
        return self._find_known(store) or (
            ("hf:" if name.startswith("hf:") else "") + str(folder) if is_there else None
        )

    def _find_known(self, store: Store) -> str | None:
        name = str(store.facts.model.name)
        kind, _, hub_id = name.rpartition("hf:")
        base, folders = hub_id or name, self.folders["checkpoint"].values()
        paths = [folder for folder in folders if folder.name == base]
        if base.endswith(".gguf") and "/" not in base:
            paths = [folder / base for folder in folders if (folder / base).is_file()]
        if paths:  # of several that are called ``model``, that of the store's run
            nearest = max(paths, key=lambda path: len(os.path.commonpath([path, store.path])))
            return f"hf:{nearest}" if name.startswith("hf:") else str(nearest)
        if name.startswith("hf:") and re.fullmatch(r"[\w.-]+/[\w.-]+", hub_id):
            return name
        folder = None if kind else assets.available("models").get(name)
        return None if folder is None else str(folder)


def find_runs(root: str | os.PathLike[str]) -> Runs:
    """Every store and result in ``root`` and below it, and what was made of ``root`` itself beside it; links are not followed."""
    root = Path(root)
    if not root.is_dir():
        raise InputError(f"no folder {root}: give a folder with runs, or make one: tprprobe demo")
    root = root.resolve()
    kinds: dict[str, dict[str, Path]] = {kind: {} for kind in ("control", *list_kinds())}
    for folder, files in _walk(root):
        for kind in _kinds(files):
            name = folder.relative_to(root.parent).as_posix()
            kinds[kind][name] = folder
            twins = TWINS if kind == "store" else ()
            for twin in (twin for twin in twins if (folder / twin / MANIFEST).is_file()):
                kinds["control"][f"{name}/{twin}"] = folder / twin
    for folder in _find_beside(root):
        for kind in {*_kinds(os.listdir(folder))} - {"store", "checkpoint"}:
            kinds[kind][folder.name] = folder
    return Runs(root, kinds)


def _find_beside(root: Path) -> list[Path]:
    """The folders of results beside a store, if ``root`` is one, that were made of it."""
    if not (root / MANIFEST).is_file():
        return []
    try:
        folders = [path for path in sorted(root.parent.iterdir()) if not path.is_symlink()]
        return sort_results(open_store(root), filter(Path.is_dir, folders))[0]
    except (InputError, OSError):  # damaged, or not to be read
        return []


def list_comparable(runs: Runs, name: str) -> list[str]:
    """The other stores, and their baseline models, of data of the same name, those of the store first."""
    names = [n for n in (*runs.names("control"), *runs.names("store")) if n != name]
    data = {n: _describe(runs, n).get("data", "").partition(" · ")[0] for n in (name, *names)}
    alike = [n for n in names if data[n] == data[name]]
    return sorted(alike, key=lambda n: not n.startswith(f"{name}/"))


def describe_all(runs: Runs, names: Sequence[str]) -> pd.DataFrame:
    """The facts of stores of these names, a row each; of a damaged one why it cannot be read."""
    return pd.DataFrame([{"store": name, **_describe(runs, name)} for name in names]).fillna("")


def _describe(runs: Runs, name: str) -> dict[str, str]:
    try:
        return describe_store(runs.open(name))
    except InputError as error:
        return {"model": f"cannot be read: {visible(error, 160)}"}


def write_report(runs: Runs, name: str) -> bytes:
    """The report of a store's run, as `tprprobe report` writes it, with results of the store that lie elsewhere."""
    from tprprobe.figures.report.page import report_run

    run, kinds = runs.run_of(name), runs.folders.keys() - {"store", "control", "checkpoint"}
    results = {*runs.beside(runs.open(name), *kinds).values()}
    beside = [path for path in results if run not in (path, path.parent)]
    with TemporaryDirectory() as folder:
        return report_run(run, folder, sorted(beside)).read_bytes()


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Folders with the names of what is in them, at most MAX_FOLDERS, none inside a store's arrays."""
    for number, (path, folders, files) in enumerate(os.walk(root)):
        if number >= MAX_FOLDERS:
            return
        yield Path(path), files
        is_deep = len(Path(path).relative_to(root).parts) >= MAX_DEPTH
        is_end = is_deep or (number > 0 and any(name in FOREIGN for name in files))
        skipped = {ARRAYS, *TWINS} if MANIFEST in files else {ARRAYS}
        visited = [name for name in folders if name[0] != "." and name not in skipped]
        folders[:] = [] if is_end else sorted(visited)


def _kinds(files: list[str]) -> list[str]:
    if EXAMINATION in files:  # its tables are those of the folders in it
        return []
    kinds = [name for name, kind in list_kinds().items() if not {*kind.files}.isdisjoint(files)]
    is_foreign = any(name in FOREIGN for name in files) and "store" not in kinds
    is_weights = any(name.endswith(".gguf") for name in files)
    return [*kinds, *["store"] * is_foreign, *["checkpoint"] * is_weights]


def is_within(path: Path, root: Path) -> bool:
    """True if a path, after all its links, lies in ``root``."""
    return path.resolve().is_relative_to(root)
