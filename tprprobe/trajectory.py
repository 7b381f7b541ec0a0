"""Trajectories: analyses of every checkpoint of a training, their long tables one after another with the column ``step``;
curves beside their strongest controls, and from which step on they differ."""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas.api.typing import DataFrameGroupBy
from scipy import stats

from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.evaluation.results import BEHIND, FILE, NUMBERS, join_tables
from tprprobe.figures.dots import render
from tprprobe.figures.trajectories import trajectory_scene
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.runs import PARTS_FOLDER, KeptRun
from tprprobe.files.tables import read_table
from tprprobe.files.writing import alone
from tprprobe.models import load_model
from tprprobe.models.architectures import sum_origin
from tprprobe.models.checkpoint import TRANSFORMERS
from tprprobe.models.protocol import Readable

BOUNDS = ("pca", "itself")  # controls that nothing has to pass
NOT_NAMES = (*NUMBERS, "run", "step", "seed", "control", "metric")
CURVE, SIGNS = ["run", "metric", "row"], {"_low": -1, "_high": 1}


def pair_controls(table: pd.DataFrame, run: str) -> pd.DataFrame:
    """A row for each metric, row, step and seed of a long table: the ``value``, the strongest ``control`` (NaN: none)
    and their ``difference`` (to 0 where there is none), with intervals; that of the difference adds both in quadrature.
    """
    table = table.dropna(axis=1, how="all")
    if "low" not in table:
        raise InputError(f"{run}: no number has an interval: {', '.join({*table['metric']})}")
    names = [str(name) for name in table if name not in NOT_NAMES]
    texts = table[names].map(_text)
    is_real = table["control"] == ""
    is_rival = ~table["control"].isin(["", *BOUNDS])
    rows = texts[is_real].drop_duplicates() if names else texts[:1]
    varying = [name for name in names if rows[name].nunique() > 1]
    of_controls = texts.apply(lambda column: ~column.isin({*column[is_real]} - {""}))
    metrics = table.loc[table["low"].notna() & (table["metric"] != BEHIND), "metric"].unique()
    pairs = []
    for (_, row), metric in product(rows.iterrows(), metrics):
        is_metric, is_row = table["metric"] == metric, texts == row
        value = _by_step(table[is_real & is_metric & is_row.all(axis=1)], "value").mean()
        is_comparable = is_rival & is_metric & (is_row | of_controls).all(axis=1)
        control = _by_step(table[is_comparable], "control").last()
        labels = {"metric": metric, "row": " ".join(row[varying])}
        pairs.append(value.join(control).reset_index().assign(**labels))
    paired = pd.concat(pairs, ignore_index=True).assign(run=run)
    paired["difference"] = paired["value"] - paired["control"].fillna(0)
    for (end, sign), opposite in zip(SIGNS.items(), reversed(SIGNS), strict=True):
        rival = (paired[f"control{opposite}"] - paired["control"]).fillna(0)
        reach = np.hypot(paired[f"value{end}"] - paired["value"], rival)
        paired[f"difference{end}"] = paired["difference"] + sign * reach
    return paired


def _text(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)


def _by_step(rows: pd.DataFrame, name: str) -> DataFrameGroupBy:
    """The numbers of a row by step and seed, the largest last."""
    columns = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
    numbers = rows[["step", "seed", *columns]].astype(float).rename(columns=columns)
    return numbers.dropna(subset=name).sort_values(name).groupby(["step", "seed"])


def find_curves(pairs: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds, a row for each metric, row and step, with Student's intervals; of one seed its own."""
    steps = pairs.groupby([*CURVE, "step"], sort=False)
    curves, n = steps.mean().drop(columns="seed"), steps.size()
    for name in ("value", "control", "difference"):
        half = steps[name].sem() * stats.t.ppf(0.975, (n - 1).clip(lower=1))
        for end, sign in SIGNS.items():
            interval_end = curves[f"{name}{end}"]
            curves[f"{name}{end}"] = interval_end.where(n == 1, curves[name] + sign * half)
    return curves.reset_index().sort_values([*CURVE, "step"], ignore_index=True)


def find_onsets(pairs: pd.DataFrame) -> pd.DataFrame:
    """A row for each metric and row: the ``step`` from which on the interval of its difference lies above 0 at every
    later step (NaN: never), and ``first`` and ``last``, the earliest and latest of the seeds, each alone.
    """
    by_seed = pd.concat({seed: _onsets(rows) for seed, rows in pairs.groupby("seed")}, axis=1)
    ends = {"first": by_seed.min(axis=1), "last": by_seed.max(axis=1, skipna=False)}
    return pd.DataFrame({"step": _onsets(pairs), **ends}).rename_axis(CURVE).reset_index()


def _onsets(pairs: pd.DataFrame) -> pd.Series:
    """The first step after the last one whose interval reaches 0."""
    curves = find_curves(pairs).set_index(CURVE)[::-1]
    stays_above = (curves["difference_low"] > 0).groupby(CURVE).cummin()
    return curves["step"].where(stays_above).groupby(CURVE).min()


MANIFEST, FIGURE = "trajectory.json", "trajectory.pdf"
TABLE, STEPS = "table", "steps"
NUMBER = re.compile(r"(\d+)/*$")
TABLES = {"results": FILE, "curves": "curves.csv", "onsets": "onsets.csv"}
WriteStore = Callable[[Readable, Path], object]


class Checkpoint(NamedTuple):
    """A checkpoint: what :func:`load_model` takes, the number of its series (seed), and its step."""

    name: str
    seed: int
    step: int


class Analysis(NamedTuple):
    """An analysis of a checkpoint: ``measure`` gets its name and the folder of its store and returns a long table.

    ``text`` is the line that it was asked by; ``sites`` are those that the store needs (None: it reads no store).
    """

    name: str
    text: str
    sites: list[str] | None
    measure: Callable[[str, Path], pd.DataFrame]


def find_checkpoints(paths: Sequence[str]) -> list[Checkpoint]:
    """The checkpoints of several series, by step. A folder of checkpoints is a series; all other paths together are
    one, whose steps are the numbers at the end of their names (where one has none: 1, 2, …).
    """
    steps_by_path = {path: _list_steps(path) for path in paths}
    single = [path for path, steps in steps_by_path.items() if not steps]
    numbers = [int(match[1]) if (match := NUMBER.search(path)) else None for path in single]
    steps = range(1, len(single) + 1) if None in numbers else numbers
    series = [*filter(None, steps_by_path.values()), dict(zip(single, steps, strict=True))]
    for steps in series:
        if len({*steps.values()}) < len(steps):
            raise InputError(
                f"{next(iter(steps))}, …: a step occurs twice; give each series a folder"
            )
    ordered = [sorted(steps.items(), key=lambda item: item[1]) for steps in series]
    return [Checkpoint(name, i, step) for i, steps in enumerate(ordered) for name, step in steps]


def _list_steps(path: str) -> dict[str, int]:
    """The checkpoints in a folder, or in its folder ``steps``, each with the number that ends its name."""
    prefix = TRANSFORMERS if path.startswith(TRANSFORMERS) else ""
    folder = Path(path.removeprefix(prefix))
    steps = (folder / STEPS if (folder / STEPS).is_dir() else folder).glob("*/")
    return {
        f"{prefix}{step}": int(match[1]) for step in steps if (match := NUMBER.search(step.name))
    }


def run_trajectory(
    checkpoints: Sequence[Checkpoint],
    analyses: Sequence[Analysis],
    out: str | os.PathLike[str],
    write_store: WriteStore | None = None,
    stores: object = None,
    resume: bool = False,
    device: str = "cpu",
) -> dict[str, pd.DataFrame]:
    """The tables of a trajectory: ``results``, the long table of all analyses (column ``run``) and checkpoints (``step``,
    ``seed``), its ``curves`` and ``onsets``; kept in the folder ``out`` with one figure.

    ``write_store`` writes a model's vectors for analyses that read them, ``stores`` says which, as JSON. Identical weights
    are measured once. Raises: InputError for no such model, an analysis without an interval, another folder.
    """
    folder = Path(out)
    lines = {analysis.name: analysis.text for analysis in analyses}
    settings = {"asked": lines, "stores": stores, "tprprobe": version("tprprobe")}
    with alone(folder):
        run = KeptRun.open(folder, settings, resume, MANIFEST)
        if not run.is_done:
            _measure_all(run, checkpoints, analyses, write_store, device)
        elif read_json(folder / MANIFEST)["checkpoints"] != [
            [*checkpoint] for checkpoint in checkpoints
        ]:
            raise InputError(f"{folder} holds other checkpoints: write to another place")
    return {name: read_table(folder / file, {}, "run it again") for name, file in TABLES.items()}


def _measure_all(
    run: KeptRun,
    checkpoints: Sequence[Checkpoint],
    analyses: Sequence[Analysis],
    write_store: WriteStore | None,
    device: str,
) -> None:
    """Analyzes checkpoint by checkpoint; then all tables, the figure, and which checkpoints have the same weights."""
    names_by_weights, tables = dict[str, list[str]](), list[pd.DataFrame]()
    for number, (name, seed, step) in enumerate(checkpoints, 1):
        note(f"checkpoint {number} of {len(checkpoints)}: {name}")
        try:
            model = load_model(name, device=device)
        except InputError as error:
            raise InputError(f"{error}; leave out {name}, or mend it, and --resume") from None
        weights = sum_origin(model)[:16]
        names_by_weights.setdefault(weights, []).append(name)
        store = run.folder / PARTS_FOLDER / f"store-{weights}"
        for analysis in analyses:
            write = partial(write_store, model, store) if write_store else None
            job = run.part(
                f"{analysis.name}-{weights}", partial(_measure, analysis, name, store, write)
            )
            job.finish()
            tables.append(job.read(TABLE).assign(run=analysis.name, step=step, seed=seed))
        shutil.rmtree(store, ignore_errors=True)
    identical = [names for names in names_by_weights.values() if len(names) > 1]
    if identical:
        note(f"identical weights, measured once: {'; '.join(map(' = '.join, identical))}")
    results = join_tables(tables)
    pairs = [pair_controls(rows, str(name)) for name, rows in results.groupby("run", sort=False)]
    paired = pd.concat(pairs, ignore_index=True)
    curves, onsets = find_curves(paired), find_onsets(paired)
    render(trajectory_scene(curves, onsets)).savefig(run.folder / FIGURE)
    files = dict(zip(TABLES.values(), (results, curves, onsets), strict=True))
    run.finish(files, {"checkpoints": checkpoints, "identical": identical})


def _measure(
    analysis: Analysis, name: str, store: Path, write: Callable[[], object] | None
) -> dict[str, pd.DataFrame]:
    if analysis.sites is not None and write is not None:
        write()
    return {TABLE: analysis.measure(name, store)}
