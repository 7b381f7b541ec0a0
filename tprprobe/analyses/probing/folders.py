"""The folder of a run of probes: its settings, the rounds that are done, and its tables.

OUT/settings.json          what the run is of: another one does not go on with it
OUT/rounds/NNNN.npz        counts by document of every probe of a round, written when it is done
OUT/probes/NAME/           the probes of real labels, each in the layout of checkpoints
OUT/rows.parquet, .csv     one row per probe, with intervals; differences.* beside it
OUT/documents.parquet      the counts by document behind them
OUT/curves.parquet, .csv   the training curve of every probe: step, training and held-out loss
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tprprobe.analyses.probing.grid import Piece
from tprprobe.analyses.probing.rows import Results, Tested
from tprprobe.analyses.probing.tallies import ALL
from tprprobe.files.file_errors import damage_told
from tprprobe.files.kinds import SETTINGS
from tprprobe.files.runs import KeptRun
from tprprobe.files.writing import write_file
from tprprobe.store import Store

ROUNDS, PROBES = "rounds", "probes"
STORE = "store"  # the folder of the store, where it is extracted for the run
TABLES = ("rows", "differences", "documents", "curves")
DOCUMENTS = "documents.parquet"


def identify(store: Store) -> dict[str, Any]:
    """The path of a store, its model and its data: what a run of probes belongs to."""
    manifest = {key: store.manifest.get(key) for key in ("model", "data", "samples", "lengths")}
    return {"path": str(store.path.resolve()), **manifest}


def open_run(folder: Path, settings: dict[str, Any], resume: bool) -> KeptRun:
    """The run of these settings, begun or gone on with."""
    run = KeptRun.open(folder, settings, resume, SETTINGS, begun=SETTINGS, beside={STORE})
    (folder / ROUNDS).mkdir(exist_ok=True)
    (folder / PROBES).mkdir(exist_ok=True)
    return run


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
    with (
        damage_told(f"{file} is damaged", "remove it and go on with --resume"),
        np.load(file) as arrays,
    ):
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


def finish_run(run: KeptRun, results: Results, stores: Sequence[Store]) -> None:
    """Writes the tables of a run, and into its settings the fingerprints of its stores."""
    tables = {f"{name}.parquet": getattr(results, name) for name in TABLES}
    tables |= {f"{name}.csv": getattr(results, name) for name in TABLES if name != "documents"}
    run.finish(tables, {"stores": [each.fingerprint for each in stores]})
