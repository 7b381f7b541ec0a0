"""Folders of results: tables with their figures, and of which stores or models they are."""

import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.figures import reconstruction
from tprprobe.figures.style import Drawing
from tprprobe.files.writing import write_folder
from tprprobe.store import Store


def save_reconstruction(
    results: pd.DataFrame, out: str | os.PathLike[str], stores: Sequence[Store]
) -> Path:
    """The new folder with the results of some stores, their table and their figure."""
    files = {RECONSTRUCTION.file: results.to_csv(index=False)}
    files["reconstruction.json"] = origin_json({"stores": [each.fingerprint for each in stores]})
    files["reconstruction.md"] = reconstruction.reconstruction_table(results).markdown()
    return write_folder(out, files | figure_files(reconstruction.reconstruction_curves(results)))


def origin_json(origin: Mapping[str, list[str]]) -> str:
    """The origin of a result as JSON (see `store.origins`)."""
    return json.dumps(origin, indent=1) + "\n"


def figure_files(figure: Drawing) -> dict[str, bytes | str]:
    """The files of a figure."""
    streams = {kind: io.BytesIO() for kind in ("pdf", "png")}
    for kind, stream in streams.items():
        figure.savefig(stream, format=kind)
    return {f"figure.{kind}": stream.getvalue() for kind, stream in streams.items()}
