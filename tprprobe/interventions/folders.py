"""The folder of a resumable run: its settings, its parts, and the results that stay when it is
done.
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from tprprobe.data.dataset import Dataset
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import KINDS
from tprprobe.files.writing import write_file
from tprprobe.interventions.sweep_recipes import Recipe
from tprprobe.models.architectures import fingerprint
from tprprobe.models.protocol import Model

MANIFEST = KINDS["interventions"].file
BEGUN, PARTS = "begun.json", "parts"


@dataclass(frozen=True)
class Folder:
    """The folder of one run, which its settings identify."""

    path: Path
    settings: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path, settings: Mapping[str, Any], resume: bool) -> "Folder":
        """The folder of a run, created if it is new.

        Raises:
            InputError: it holds something else, or this run and ``resume`` was not given.
        """
        known = json.loads(json.dumps({**settings, "tprprobe": version("tprprobe")}))
        folder = cls(path, known)
        files = [path / name for name in (MANIFEST, BEGUN) if (path / name).is_file()]
        if files:
            folder._check(files[0], resume)
        elif path.exists() and any(path.iterdir()):
            raise InputError(f"{path} holds something else: give another --out")
        else:
            (path / PARTS).mkdir(parents=True, exist_ok=True)
            folder._write(BEGUN)
        return folder

    @property
    def is_done(self) -> bool:
        """True once the run is finished."""
        return (self.path / MANIFEST).is_file()

    def part(self, number: int) -> Path:
        """The file of a part."""
        return self.path / PARTS / f"{number}.parquet"

    def join(self, parts: int) -> pd.DataFrame:
        """All parts, one after another."""
        return pd.concat([pd.read_parquet(self.part(n)) for n in range(parts)], ignore_index=True)

    def finish(self, files: Mapping[str, bytes]) -> None:
        """Writes the results; the settings last."""
        for name, content in files.items():
            write_file(self.path / name, content)
        self._write(MANIFEST)
        shutil.rmtree(self.path / PARTS)
        (self.path / BEGUN).unlink()

    def _write(self, name: str) -> None:
        write_file(self.path / name, json.dumps(self.settings, indent=1) + "\n")

    def _check(self, file: Path, resume: bool) -> None:
        known = read_json(file)
        if differ := [key for key in self.settings if known.get(key) != self.settings[key]]:
            raise InputError(
                f"{self.path} holds another run (its {', '.join(differ)}): give another --out"
            )
        if not resume:
            raise InputError(f"{self.path} exists already: give --resume, or another --out")


def describe_run(model: Model, data: Dataset, recipe: Recipe) -> dict[str, Any]:
    """The settings that identify a run: model with weights, data, recipe."""
    about = {"model": model.name, "weights": fingerprint(model)}
    about |= {"data": [data.name, data.split, data.seed]}
    return about | {"recipe": recipe.model_dump()}


def keep_table(
    out: str | os.PathLike[str] | None,
    settings: Mapping[str, Any],
    resume: bool,
    names: tuple[str, str],
    measure: Callable[[Folder], pd.DataFrame],
    summarise: Callable[[pd.DataFrame], pd.DataFrame],
) -> pd.DataFrame:
    """The summary of the measured rows, read from the folder ``out`` if it was finished there.

    ``names`` are the files of the measurements (Parquet) and of their summary (CSV). Without ``out``
    nothing is kept.
    """
    with TemporaryDirectory() as scratch:
        folder = Folder.open(Path(out or Path(scratch) / "run"), settings, resume)
        if not folder.is_done:
            measured = measure(folder)
            table = summarise(measured).to_csv(index=False).encode()
            folder.finish({names[0]: measured.to_parquet(), names[1]: table})
        return pd.read_csv(folder.path / names[1])
