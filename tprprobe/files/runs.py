"""Runs that are kept in a folder: one that was cut off goes on with the parts that are missing."""

import json
import operator
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.files.checksums import sum_bytes
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import flatten, read_json
from tprprobe.files.writing import alone, is_partial, write_file, write_folder

BEGUN, PARTS_FOLDER = "begun.json", "parts"
SUMS = "checksums"  # of a manifest: of its tables, by name
Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Part:
    """A part of a run: tables that are made once and kept in a folder."""

    folder: Path
    make: Callable[[], Tables]

    @property
    def is_done(self) -> bool:
        return self.folder.is_dir()

    def finish(self) -> None:
        if not self.is_done:
            tables = self.make().items()
            write_folder(
                self.folder,
                {f"{name}.parquet": table.to_parquet(index=False) for name, table in tables},
            )

    def read(self, name: str) -> pd.DataFrame:
        """One of the tables; an empty one if the part makes no table of that name."""
        file = self.folder / f"{name}.parquet"
        with as_input_error(f"{file} is damaged", f"remove {self.folder} and go on with --resume"):
            return pd.read_parquet(file) if file.is_file() else pd.DataFrame()


def join_parts(jobs: Sequence[Part], name: str) -> pd.DataFrame:
    return pd.concat([job.read(name) for job in jobs], ignore_index=True)


@dataclass(frozen=True)
class KeptRun:
    """The folder of one run: its settings are in ``begun`` from the start, in ``manifest`` once all is done."""

    folder: Path
    settings: Mapping[str, object]
    manifest: str
    begun: str = BEGUN

    @classmethod
    def open(
        cls,
        folder: Path,
        settings: Mapping[str, object],
        resume: bool,
        manifest: str,
        begun: str = BEGUN,
        beside: Collection[str] = (),
        growing: Collection[str] = (),
    ) -> "KeptRun":
        """The run, begun (beside files of these names) or gone on with; settings that are ``growing`` may then have more."""
        run = cls(folder, json.loads(json.dumps(settings)), manifest, begun)
        files = [folder / name for name in (manifest, begun) if (folder / name).is_file()]
        if files:
            run._check(read_json(files[0]), resume, growing)
        elif folder.exists() and any(
            path.name not in beside and not is_partial(path) for path in folder.iterdir()
        ):
            raise InputError(f"{folder} holds something else: write to another place")
        if run.is_done:
            run._clean()
        else:
            run._write(begun, {})
        return run

    @property
    def is_done(self) -> bool:
        return self.manifest != self.begun and (self.folder / self.manifest).is_file()

    def part(self, name: str, make: Callable[[], Tables]) -> Part:
        return Part(self.folder / PARTS_FOLDER / name, make)

    def finish(self, tables: Tables, facts: Mapping[str, object]) -> None:
        """Writes the tables by name of file, then the manifest with these facts, and removes the parts."""
        sums = {}
        for name, table in tables.items():
            content = _content(name, table)
            write_file(self.folder / name, content)
            sums[name] = sum_bytes(content)
        self._write(self.manifest, {**facts, SUMS: sums})
        self._clean()

    def _write(self, name: str, facts: Mapping[str, object]) -> None:
        content = json.dumps({**self.settings, **facts}, indent=1, ensure_ascii=False)
        write_file(self.folder / name, content + "\n")

    def _clean(self) -> None:
        shutil.rmtree(self.folder / PARTS_FOLDER, ignore_errors=True)
        if self.is_done:
            (self.folder / self.begun).unlink(missing_ok=True)

    def _check(self, stored: Mapping[str, object], resume: bool, growing: Collection[str]) -> None:
        has = {k: _has if k in growing else operator.eq for k in self.settings}
        changed = {k: v for k, v in self.settings.items() if not has[k](v, stored.get(k))}
        now, before = flatten(changed), flatten({key: stored.get(key) for key in changed})
        if different := [key for key in now | before if now.get(key) != before.get(key)]:
            raise InputError(
                f"{self.folder} holds another run (its {' and '.join(different)}): write elsewhere"
            )
        if not resume:
            raise InputError(f"{self.folder} holds this run: --resume goes on, or change the place")


def _has(value: object, stored: object) -> bool:
    """True if a list or table of settings has all that a known one has."""
    if isinstance(value, dict) and isinstance(stored, dict):
        return stored.items() <= value.items()
    return isinstance(value, list) and isinstance(stored, list) and all(map(value.count, stored))


@contextmanager
def kept(out: str | os.PathLike[str] | None) -> Iterator[Path]:
    """The folder of a run: that of ``out``; without it one that is gone at the end of the block."""
    with TemporaryDirectory() as scratch:
        folder = Path(out or Path(scratch) / "run")
        with alone(folder):
            yield folder


def keep_table(
    run: KeptRun,
    names: tuple[str, str],
    measure: Callable[[KeptRun], pd.DataFrame],
    summarize: Callable[[pd.DataFrame], pd.DataFrame],
    views: Callable[[pd.DataFrame], Tables] = lambda _: {},
) -> pd.DataFrame:
    """The summary of what is measured, from the run's folder if it is finished; ``names`` are the files of both."""
    if not run.is_done:
        measured = measure(run)
        summary = summarize(measured)
        run.finish({names[0]: measured, names[1]: summary, **views(summary)}, {})
    return pd.read_csv(run.folder / names[1])


def write_table(path: Path, table: pd.DataFrame) -> None:
    write_file(path, _content(path.name, table))


def _content(name: str, table: pd.DataFrame) -> bytes:
    return (
        table.to_parquet(index=False)
        if name.endswith(".parquet")
        else table.to_csv(index=False).encode()
    )


def check_tables(manifest: Path) -> int:
    sums = read_json(manifest).get(SUMS)
    sums = sums if isinstance(sums, dict) else {}
    for name, digest in sums.items():
        file = manifest.parent / Path(name).name
        if not file.is_file() or sum_bytes(file.read_bytes()) != digest:
            fault = "is not what was written" if file.is_file() else "is missing"
            raise InputError(f"{file} {fault}: remove {file.parent} and make it again")
    return len(sums)
