"""Loaders of the inputs of figures: stores, evaluations, logs of training runs."""

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from tprprobe.analyses.kinds import DECOMPOSITIONS, PROBES, ROLES
from tprprobe.errors import InputError
from tprprobe.figures.catalogue.decomposition import load_decompositions, load_searches
from tprprobe.figures.catalogue.interventions import load_behavior, load_swaps, load_sweeps
from tprprobe.figures.catalogue.makers import Input
from tprprobe.files import assets
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import Document, parse
from tprprobe.interventions.kinds import BEHAVIORS, SWAPS, SWEEPS
from tprprobe.store import Store, open_store
from tprprobe.store.kinds import STORE
from tprprobe.training.kinds import RUNS
from tprprobe.training.logs import read_log

PROBED = "settings.json"  # of `tprprobe probe --out`

Source = str | os.PathLike[str]


def load_store(source: Store | Source) -> Store:
    """The store; opened if it is given as a path."""
    return source if isinstance(source, Store) else open_store(Path(source))


def load_evaluations(sources: Iterable[Source]) -> pd.DataFrame:
    """The evaluations that ``tprprobe eval --out`` wrote: one row per model, split and module.

    Columns: model, parameters, split, module, n, exact_match, low, high.

    Raises:
        InputError: a source holds no evaluation.
    """
    return pd.DataFrame([row for source in sources for row in _evaluated(_find(source))])


def _evaluated(path: Path) -> list[dict[str, Any]]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    summaries = [summary for file in files if (summary := _summary(file))]
    if not summaries:
        raise InputError(
            f"{path} holds no evaluation: make one with `tprprobe eval --ckpt … --out FOLDER`"
        )
    return [
        {
            "model": summary.model,
            "parameters": summary.parameters,
            "split": summary.split,
            "module": module,
            "n": row.n,
            "exact_match": row.exact_match,
            "low": row.exact_match_interval[0],
            "high": row.exact_match_interval[1],
        }
        for summary in summaries
        for module, row in summary.modules.items()
    ]


class _Matched(Document):
    n: int
    exact_match: float
    exact_match_interval: tuple[float, float]


class _Evaluation(Document):
    model: str
    split: str
    modules: Annotated[dict[str, _Matched], Field(min_length=1)]
    parameters: float = math.nan


def _summary(file: Path) -> _Evaluation | None:
    """The evaluation in a file; None if the file is something else."""
    try:
        content = read_json(file)
    except InputError:
        return None
    is_one = content.keys() >= {"model", "split", "modules"}
    return parse(_Evaluation, content, file) if is_one else None


def load_runs(sources: Iterable[Source]) -> dict[str, pd.DataFrame]:
    """The logs of training runs by name, with step and value as numbers."""
    folders = [_find(source) for source in sources]
    names = [folder.resolve().name for folder in folders]
    keys = names if len(set(names)) == len(names) else [str(folder) for folder in folders]
    return dict(zip(keys, map(_log, folders), strict=True))


def _log(folder: Path) -> pd.DataFrame:
    rows = read_log(folder) if folder.is_dir() else []
    if not rows:
        raise InputError(f"{folder} holds no {RUNS.file} of a training run")
    return pd.DataFrame(rows).astype({"step": int, "value": float})


def load_probes(sources: Iterable[Source]) -> pd.DataFrame:
    """The rows of ``tprprobe probe --out``, one folder after another, with the model of each.

    Two folders of one model are two protocols, not more seeds: their models are named by folder too.

    Raises:
        InputError: a folder has none.
    """
    folders = [Path(source) for source in sources]
    tables = [PROBES.load(folder) for folder in folders]
    names = [_probed_model(folder) for folder in folders]
    labels = [
        name if names.count(name) == 1 else f"{name} ({folder.resolve().name})"
        for name, folder in zip(names, folders, strict=True)
    ]
    return pd.concat(
        [rows.assign(model=name) for name, rows in zip(labels, tables, strict=True)],
        ignore_index=True,
    )


def _probed_model(folder: Path) -> str:
    model = read_json(folder / PROBED)["store"]["model"]
    name = model.get("name") if isinstance(model, dict) else model
    return str(name or folder.resolve().name)


def _find(source: Source) -> Path:
    """A path that exists, or the folder of a shipped checkpoint."""
    return Path(source) if Path(source).exists() else assets.find("models", source)


def find_files(read: Callable[[Path], Any]) -> Callable[[Sequence[Path]], list[Path]]:
    """What finds the folders with a JSON file that can be read so."""
    return lambda folders: [each for each in folders if any(map(read, each.glob("*.json")))]


INPUTS = {
    "store": Input("a store: give --store STORE", load_store, STORE.find_finished),
    "evaluations": Input(
        "evaluations: give --ckpt with folders of `eval --out`",
        load_evaluations,
        find_files(_summary),
    ),
    "runs": Input(
        "logs of training: give --ckpt with folders of `train --out`",
        load_runs,
        RUNS.find_finished,
    ),
    "sweeps": Input(
        "sweeps: give --ckpt with folders of `intervene --out`",
        load_sweeps,
        SWEEPS.find_finished,
    ),
    "behaviors": Input(
        "edits of minimal pairs: give --ckpt with the folder of `intervene --data pairs:FRAME --out`",
        load_behavior,
        BEHAVIORS.find_finished,
    ),
    "swaps": Input(
        "swaps: give --ckpt with folders of `intervene --out`",
        load_swaps,
        SWAPS.find_finished,
    ),
    "probes": Input(
        "probes: give --ckpt with folders of `probe --out`",
        load_probes,
        PROBES.find_finished,
    ),
    "decompositions": Input(
        "decompositions: give --ckpt with folders of `decompose --out`",
        load_decompositions,
        DECOMPOSITIONS.find_finished,
    ),
    "roles": Input(
        "this figure needs a search of roles: give --ckpt with folders of `roles --out`",
        load_searches,
        ROLES.find_finished,
    ),
}
