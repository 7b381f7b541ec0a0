"""The folder of a run of probes: its settings, the rounds that are done, and its tables.

OUT/settings.json          what the run is of: another one does not go on with it
OUT/rounds/NNNN.npz        counts by document of every probe of a round, written when it is done
OUT/probes/NAME/           the probes of real labels, each in the layout of checkpoints
OUT/rows.parquet, .csv     one row per probe, with intervals; differences.* beside it
OUT/documents.parquet      the counts by document behind them
OUT/curves.parquet, .csv   the training curve of every probe: step, training and held-out loss
"""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing.grid import Piece
from tprprobe.analyses.probing.rows import Results, Tested
from tprprobe.analyses.probing.tallies import ALL
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_file
from tprprobe.store import Store

SETTINGS, ROUNDS, PROBES = "settings.json", "rounds", "probes"
STORE = "store"  # the folder of the store, where it is extracted for the run
TABLES = ("rows", "differences", "documents", "curves")
DOCUMENTS = "documents.parquet"


def identify(store: Store) -> dict[str, Any]:
    """The path of a store, its model and its data: what a run of probes belongs to."""
    manifest = {key: store.manifest.get(key) for key in ("model", "data", "samples", "lengths")}
    return {"path": str(store.path.resolve()), **manifest}


def begin(folder: Path, wanted: dict[str, Any], stores: Sequence[Store], resume: bool) -> Path:
    """The folder of a run on some stores, made anew, or the one of the same run to be gone on with."""
    wanted = json.loads(json.dumps(wanted))
    if (folder / SETTINGS).is_file():
        if not resume:
            raise InputError(f"{folder} holds probes: go on with --resume, or give another --out")
        begun = read_json(folder / SETTINGS)
        for key, value in wanted.items():
            if begun.get(key) != value:
                raise InputError(
                    f"{folder} was begun with another {key}: give the same, or another --out"
                )
    elif folder.exists() and {each.name for each in folder.iterdir()} - {STORE}:
        raise InputError(f"{folder} holds something else: give another --out")
    (folder / ROUNDS).mkdir(parents=True, exist_ok=True)
    (folder / PROBES).mkdir(exist_ok=True)
    about = wanted | {"stores": [each.fingerprint for each in stores]}
    write_file(folder / SETTINGS, (json.dumps(about, indent=1) + "\n").encode())
    return folder


def _round_file(folder: Path, number: int) -> Path:
    return folder / ROUNDS / f"{number:04}.npz"


def write_round(folder: Path, number: int, tested: Sequence[Tested]) -> None:
    """Writes what a round found; the presence of this file means that the round is done."""
    stream = io.BytesIO()
    arrays: dict[str, Any] = {f"sums{i}": each.sums for i, each in enumerate(tested)}
    arrays |= {f"curve{i}": each.curve for i, each in enumerate(tested)}
    np.savez_compressed(stream, **arrays)
    write_file(_round_file(folder, number), stream.getvalue())


def read_round(folder: Path, number: int, pieces: Sequence[Piece]) -> list[Tested] | None:
    """The tested probes of a round that is done, None where it is not."""
    file = _round_file(folder, number)
    if not file.is_file():
        return None
    probes = [(probe, piece.splits) for piece in pieces for probe in piece.probes]
    with np.load(file) as arrays:
        return [
            Tested(
                probe,
                splits,
                arrays[f"sums{i}"],
                (ALL, *(splits.test.targets.subsets() if probe.portion is None else ())),
                arrays[f"curve{i}"],
            )
            for i, (probe, splits) in enumerate(probes)
        ]


def write_tables(folder: Path, results: Results) -> None:
    """Writes the tables of a run."""
    for name in TABLES:
        table: pd.DataFrame = getattr(results, name)
        stream = io.BytesIO()
        table.to_parquet(stream, index=False)
        write_file(folder / f"{name}.parquet", stream.getvalue())
        if name != "documents":
            write_file(folder / f"{name}.csv", table.to_csv(index=False).encode())
