"""Work in parts that are kept on disk: a run that was cut off makes only the missing parts."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tprprobe.files.writing import write_folder

Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Part:
    """A part of a run: tables that are made once and kept in a folder."""

    folder: Path
    make: Callable[[], Frames]

    def finish(self) -> None:
        """Makes the tables, unless an earlier run did."""
        if not self.folder.is_dir():
            frames = self.make().items()
            write_folder(self.folder, {f"{name}.parquet": encode(each) for name, each in frames})

    def read(self, name: str) -> pd.DataFrame:
        """One of the tables; an empty one if the part makes no table of that name."""
        file = self.folder / f"{name}.parquet"
        return pd.read_parquet(file) if file.is_file() else pd.DataFrame()


def encode(frame: pd.DataFrame) -> bytes:
    """The table as a Parquet file."""
    stream = io.BytesIO()
    frame.to_parquet(stream, index=False)
    return stream.getvalue()
