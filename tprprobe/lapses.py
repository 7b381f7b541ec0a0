"""A film of learning: questions that every checkpoint of a training is asked, weights that occur twice only once."""

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
from scipy import stats

from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.evaluation.results import NUMBERS
from tprprobe.figures.lapses import lapse_curves
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.locks import alone
from tprprobe.files.runs import PARTS, KeptRun
from tprprobe.models import load_model
from tprprobe.models.checkpoint import TRANSFORMERS
from tprprobe.models.origins import sum_origin
from tprprobe.models.protocol import Readable

MANIFEST, TABLE, STEPS, NUMBER = "lapse.json", "table", "steps", re.compile(r"(\d+)/*$")
CEILINGS = ("pca", "itself")  # controls that nothing has to pass
UNNAMED = (*NUMBERS, "step", "seed", "control", "metric")  # columns that name no row of a question
CURVE, ENDS = ["question", "measure", "row"], {"_low": -1, "_high": 1}
WriteStore = Callable[[Readable, Path], Any]


class Checkpoint(NamedTuple):
    """A checkpoint: what :func:`load_model` takes, the number of its series (seed), and its step."""

    name: str
    seed: int
    step: int


class Question(NamedTuple):
    """A question to a checkpoint: ``answer`` gets its name and its store, which has ``sites`` (None: needs no store)."""

    name: str
    text: str
    sites: list[str] | None
    answer: Callable[[str, Path], pd.DataFrame]


def find_checkpoints(given: Sequence[str]) -> list[Checkpoint]:
    """The checkpoints: a folder of steps is a series, and all others together are one, by the numbers that end
    their names, or in their order where one has none.

    Raises:
        InputError: a step occurs twice in a series.
    """
    inside = {each: _steps_in(each) for each in given}
    listed = [each for each, found in inside.items() if not found]
    ends = [int(of[1]) if (of := NUMBER.search(each)) else None for each in listed]
    steps = range(1, len(listed) + 1) if None in ends else ends
    series = [*filter(None, inside.values()), dict(zip(listed, steps, strict=True))]
    for of in series:
        if len({*of.values()}) < len(of):
            raise InputError(f"{next(iter(of))}, …: a step occurs twice; give each series a folder")
    ordered = [sorted(of.items(), key=lambda each: each[1]) for of in series]
    return [Checkpoint(name, i, step) for i, of in enumerate(ordered) for name, step in of]


def _steps_in(given: str) -> dict[str, int]:
    """The checkpoints in a folder, or in its folder ``steps``, each with the number that ends its name."""
    prefix = TRANSFORMERS if given.startswith(TRANSFORMERS) else ""
    folder = Path(given.removeprefix(prefix))
    inside = (folder / STEPS if (folder / STEPS).is_dir() else folder).glob("*/")
    return {f"{prefix}{each}": int(of[1]) for each in inside if (of := NUMBER.search(each.name))}


def run_lapse(
    checkpoints: Sequence[Checkpoint],
    questions: Sequence[Question],
    out: str | os.PathLike[str],
    write_store: WriteStore | None = None,
    about: Any = None,
    resume: bool = False,
    device: str = "cpu",
) -> dict[str, pd.DataFrame]:
    """The tables of all questions over all checkpoints by name, ``curves`` and ``moments`` among them, kept in the
    folder ``out`` beside one figure.

    ``write_store`` writes a model's vectors for questions that read them, ``about`` says which. Identical weights
    are measured once. Raises: InputError for no such model, an answer without an interval, another folder.
    """
    folder, asked = Path(out), {each.name: each.text for each in questions}
    settings = {"asked": asked, "about": about, "tprprobe": version("tprprobe")}
    with alone(folder):
        run = KeptRun.open(folder, settings, resume, MANIFEST)
        if not run.is_done:
            _measure(run, checkpoints, questions, write_store, device)
        elif read_json(folder / MANIFEST)["checkpoints"] != [[*each] for each in checkpoints]:
            raise InputError(f"{folder} holds other checkpoints: write to another place")
    return {name: pd.read_csv(folder / f"{name}.csv") for name in [*asked, "curves", "moments"]}


def _measure(run: KeptRun, checkpoints: Any, questions: Any, write: Any, device: str) -> None:
    """Asks checkpoint by checkpoint; then all tables, the figure, and which checkpoints have the same weights."""
    same, rows = dict[str, list[str]](), dict[str, list[Any]]()
    for number, (name, seed, step) in enumerate(checkpoints, 1):
        note(f"checkpoint {number} of {len(checkpoints)}: {name}")
        try:
            model = load_model(name, device=device)
        except InputError as error:
            raise InputError(f"{error}; leave out {name}, or mend it, and --resume") from None
        weights = sum_origin(model)[:16]
        same.setdefault(weights, []).append(name)
        store = run.folder / PARTS / f"store-{weights}"
        for question in questions:
            make = partial(_answer, question, name, store, partial(write, model) if write else None)
            part = run.part(f"{question.name}-{weights}", make)
            part.finish()
            at = pd.DataFrame({"step": [step], "seed": [seed]})
            rows.setdefault(question.name, []).append(at.merge(part.read(TABLE), how="cross"))
        shutil.rmtree(store, ignore_errors=True)
    identical = [names for names in same.values() if len(names) > 1]
    if identical:
        note(f"identical weights, measured once: {'; '.join(map(' = '.join, identical))}")
    tables: Any = {name: pd.concat(of, ignore_index=True) for name, of in rows.items()}
    pairs = pd.concat([pair_controls(of, name) for name, of in tables.items()], ignore_index=True)
    tables |= {"curves": find_curves(pairs), "moments": find_moments(pairs)}
    lapse_curves(tables["curves"], tables["moments"]).savefig(run.folder / "lapse.pdf")
    files = {f"{name}.csv": table for name, table in tables.items()}
    run.finish(files, {"checkpoints": checkpoints, "identical": identical})


def _answer(question: Question, name: str, store: Path, write: Any) -> dict[str, pd.DataFrame]:
    if question.sites is not None:
        write(store)
    return {TABLE: question.answer(name, store)}


def pair_controls(table: pd.DataFrame, question: str) -> pd.DataFrame:
    """A row a metric, row, step and seed of a long table: the ``value``, the strongest ``control`` (NaN: none) and their
    ``difference`` (to 0 where there is none), with intervals; that of the difference adds both in quadrature.

    Raises:
        InputError: no number has an interval.
    """
    if not table["low"].notna().any():
        raise InputError(f"{question}: no number has an interval: {', '.join({*table['metric']})}")
    names = [name for name in table if name not in UNNAMED]
    text: Any = table[names].map(_text)
    real, null = table["control"] == "", ~table["control"].isin(["", *CEILINGS])
    rows = text[real].drop_duplicates() if names else text[:1]
    varying = [name for name in names if rows[name].nunique() > 1]
    only_controls = text.apply(lambda column: ~column.isin({*column[real]} - {""}))
    metrics = table.loc[table["low"].notna(), "metric"].unique()
    pairs = []
    for (_, row), metric in product(rows.iterrows(), metrics):
        is_metric, same = table["metric"] == metric, text == row
        value = _by_step(table[real & is_metric & same.all(axis=1)], "value").mean()
        suits = null & is_metric & (same | only_controls).all(axis=1)
        control = _by_step(table[suits], "control").last()
        label = {"measure": metric, "row": " ".join(row[varying])}
        pairs.append(value.join(control).reset_index().assign(**label))
    paired = pd.concat(pairs, ignore_index=True).assign(question=question)
    paired["difference"] = paired["value"] - paired["control"].fillna(0)
    for (end, sign), opposite in zip(ENDS.items(), reversed(ENDS), strict=True):
        rival = (paired[f"control{opposite}"] - paired["control"]).fillna(0)
        reach = np.hypot(paired[f"value{end}"] - paired["value"], rival)
        paired[f"difference{end}"] = paired["difference"] + sign * reach
    return paired


def _text(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)


def _by_step(rows: pd.DataFrame, name: str) -> Any:
    """The numbers of a row by step and seed, the largest last."""
    columns = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
    numbers = rows[["step", "seed", *columns]].astype(float).rename(columns=columns)
    return numbers.dropna(subset=name).sort_values(name).groupby(["step", "seed"])


def find_curves(pairs: pd.DataFrame) -> pd.DataFrame:
    """The means over seeds, a row a measure, row and step, with Student's intervals; of one seed its own."""
    steps = pairs.groupby([*CURVE, "step"], sort=False)
    curves, n = steps.mean().drop(columns="seed"), steps.size()
    for name in ("value", "control", "difference"):
        half = steps[name].sem() * stats.t.ppf(0.975, (n - 1).clip(lower=1))
        for end, sign in ENDS.items():
            own = curves[f"{name}{end}"]
            curves[f"{name}{end}"] = own.where(n == 1, curves[name] + sign * half)
    return curves.reset_index().sort_values([*CURVE, "step"], ignore_index=True)


def find_moments(pairs: pd.DataFrame) -> pd.DataFrame:
    """A row a measure and row: the ``step`` from which on the interval of its difference lies above 0 at every
    later step (NaN: never), and ``first`` and ``last``, the earliest and latest of the seeds, each alone.
    """
    alone = pd.concat({seed: _moments(of) for seed, of in pairs.groupby("seed")}, axis=1)
    ends = {"first": alone.min(axis=1), "last": alone.max(axis=1, skipna=False)}
    return pd.DataFrame({"step": _moments(pairs), **ends}).rename_axis(CURVE).reset_index()


def _moments(pairs: pd.DataFrame) -> pd.Series:
    groups: Any = find_curves(pairs).groupby(CURVE)
    return pd.Series({key: _moment(curve) for key, curve in groups}, dtype=float)


def _moment(curve: pd.DataFrame) -> float:
    """The first step after the last one whose interval reaches 0."""
    steps, below = curve["step"].to_numpy(), ~(curve["difference_low"].to_numpy() > 0)
    after = int(np.flatnonzero(below)[-1]) + 1 if below.any() else 0
    return float(steps[after]) if after < len(steps) else np.nan
