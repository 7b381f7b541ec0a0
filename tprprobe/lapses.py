"""A film of learning: questions that every checkpoint of a training is asked, weights that occur twice only once."""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from tprprobe.analyses.moments import find_curves, find_moments
from tprprobe.console import note
from tprprobe.errors import InputError
from tprprobe.figures.lapses import lapse_curves
from tprprobe.figures.style import FORMATS
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.locks import alone
from tprprobe.files.runs import PARTS, KeptRun
from tprprobe.models import load_model
from tprprobe.models.architectures import fingerprint
from tprprobe.models.checkpoint import TRANSFORMERS
from tprprobe.models.protocol import Readable

MANIFEST, TABLE, STEPS = "lapse.json", "table", "steps"
NUMBER = re.compile(r"(\d+)/*$")


class Checkpoint(NamedTuple):
    """A checkpoint: what :func:`load_model` takes, the number of its series, and its step."""

    name: str
    series: int
    step: int


@dataclass(frozen=True)
class Question:
    """What every checkpoint is asked: its name, its text, and what answers it with a table.

    ``answer`` gets the name of a checkpoint and, where the question ``reads_store``, the folder of one.
    """

    name: str
    text: str
    reads_store: bool
    answer: Callable[[str, Path], pd.DataFrame]


@dataclass(frozen=True, eq=False)
class Lapse:
    """What came of it: a table a question, the curves and moments of all, and which checkpoints are the same."""

    tables: dict[str, pd.DataFrame]
    curves: pd.DataFrame
    moments: pd.DataFrame
    identical: list[list[str]]


def find_checkpoints(given: Sequence[str]) -> list[Checkpoint]:
    """The checkpoints of every series: each folder of steps is one, everything else together is another.

    A step is the number at the end of a name; where not every name of a list has one, its place there.

    Raises:
        InputError: nothing is given, or a step occurs twice in a series.
    """
    listed = [each for each in given if not _steps_in(each)]
    series = [_steps_in(each) for each in given if each not in listed]
    if listed:
        found = [NUMBER.search(each) for each in listed]
        steps = [int(of[1]) if of else 0 for of in found]
        places = steps if all(found) and len({*steps}) == len(steps) else range(1, len(listed) + 1)
        series.append(dict(zip(listed, places, strict=True)))
    if not series:
        raise InputError("no checkpoints: give a folder of steps, or checkpoints one by one")
    checkpoints = []
    for number, of in enumerate(series):
        if len({*of.values()}) < len(of):
            raise InputError(f"{next(iter(of))}: a step occurs twice in its folder")
        ordered = sorted(of.items(), key=lambda each: each[1])
        checkpoints += [Checkpoint(name, number, step) for name, step in ordered]
    return checkpoints


def _steps_in(given: str) -> dict[str, int]:
    """The checkpoints in a folder (or in its folder ``steps``) by name, each with the number that ends it."""
    prefix = TRANSFORMERS if given.startswith(TRANSFORMERS) else ""
    folder = Path(given.removeprefix(prefix))
    folder = folder / STEPS if (folder / STEPS).is_dir() else folder
    inside = [each for each in folder.glob("*") if each.is_dir()] if folder.is_dir() else []
    return {f"{prefix}{each}": int(of[1]) for each in inside if (of := NUMBER.search(each.name))}


def run_lapse(
    checkpoints: Sequence[Checkpoint],
    questions: Sequence[Question],
    out: str | os.PathLike[str],
    write_store: Callable[[Readable, Path], Any],
    about: Any = None,
    resume: bool = False,
    device: str = "cpu",
) -> Lapse:
    """The tables of all questions over all checkpoints, kept in a folder with the curves, moments and one figure.

    Args:
        checkpoints: As :func:`find_checkpoints` has them.
        questions: What each is asked.
        out: The folder.
        write_store: Writes a model's vectors into a folder; called once for weights that a question needs them of.
        about: What it reads, for the settings of the run.
        resume: Resume a run that was cut off.
        device: The device.

    Returns:
        The tables; identical weights are measured once and stand in every row that has them.

    Raises:
        InputError: no model of that name, no interval in any answer, a folder of something else.
    """
    asked = {each.name: each.text for each in questions}
    settings = {"checkpoints": [list(each) for each in checkpoints], "questions": asked}
    settings |= {"about": about, "tprprobe": version("tprprobe")}
    folder = Path(out)
    with alone(folder):
        run = KeptRun.open(folder, settings, resume, MANIFEST)
        if not run.is_done:
            _finish(run, checkpoints, questions, write_store, device)
    return load_lapse(folder)


def _finish(
    run: KeptRun,
    checkpoints: Sequence[Checkpoint],
    questions: Sequence[Question],
    write_store: Callable[[Readable, Path], Any],
    device: str,
) -> None:
    same: dict[str, list[str]] = {}
    rows: dict[str, list[pd.DataFrame]] = {each.name: [] for each in questions}
    for number, at in enumerate(checkpoints, 1):
        model = load_model(at.name, device=device)
        weights = fingerprint(model)[:16]
        if weights not in same:
            note(f"checkpoint {number} of {len(checkpoints)}: {at.name}")
        same.setdefault(weights, []).append(at.name)
        store = run.folder / PARTS / f"store-{weights}"
        for question in questions:
            make = partial(_answer, question, store, model, at.name, write_store)
            part = run.part(f"{question.name}-{weights}", make)
            part.finish()
            rows[question.name].append(part.read(TABLE).assign(step=at.step, seed=at.series))
        shutil.rmtree(store, ignore_errors=True)
    identical = [names for names in same.values() if len(names) > 1]
    if identical:
        listed = "; ".join(" = ".join(names) for names in identical)
        note(f"identical weights, measured once: {listed}")
    tables = {name: _first(pd.concat(of, ignore_index=True)) for name, of in rows.items()}
    named = {"curves": find_curves, "moments": find_moments}
    all_of = {
        key: pd.concat([make(t).assign(question=name) for name, t in tables.items()])
        for key, make in named.items()
    }
    figure = lapse_curves(all_of["curves"], all_of["moments"])
    for ending in FORMATS:
        figure.savefig(run.folder / f"lapse{ending}")
    files = {f"{name}.csv": table for name, table in (tables | all_of).items()}
    run.finish(files, {"identical": identical})


def _answer(
    question: Question, store: Path, model: Readable, name: str, write: Callable[..., Any]
) -> dict[str, pd.DataFrame]:
    """The table of a question, the store written first where it is needed and not there."""
    if question.reads_store:
        write(model, store)
    return {TABLE: question.answer(name, store)}


def _first(table: pd.DataFrame) -> pd.DataFrame:
    """The table, its step and seed in front."""
    front = ["step", "seed"]
    return table[[*front, *(name for name in table if name not in front)]]


def load_lapse(folder: str | os.PathLike[str]) -> Lapse:
    """What lies in the folder of a finished run."""
    facts = read_json(Path(folder) / MANIFEST)
    read = {
        name: pd.read_csv(Path(folder) / f"{name}.csv", keep_default_na=True)
        for name in (*facts["questions"], "curves", "moments")
    }
    curves, moments = read.pop("curves"), read.pop("moments")
    return Lapse(read, curves, moments, facts["identical"])
