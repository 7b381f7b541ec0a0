"""Tasks as data: a folder of ``probes/`` with a task.toml says what is probed for."""

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Literal

import pandas as pd

from tprprobe.errors import InputError, unknown
from tprprobe.files import assets
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.gold import structure
from tprprobe.gold.labels import decode_cell

FILE, ALL = "task.toml", "all"
OF_TOKENS = ("position", "id", "token")  # columns that every token table has


class Task(Settings):
    """A probing task: the ``spans`` of a target, and its ``labels``.

    ``column`` of the token table holds the labels (the task's name by default); labels that begin
    with one of ``unscored`` are trained on and not counted.
    """

    name: str
    title: str
    spans: Literal[1, 2]
    labels: Literal["training"] | tuple[str, ...] = "training"
    unscored: tuple[str, ...] = ()
    column: str = ""
    source: str = ""

    @property
    def cells(self) -> str:
        """The column of the token table."""
        return self.column or self.name

    def is_scored(self, label: str) -> bool:
        """True if a label counts in the scores."""
        return not label.startswith(self.unscored) if self.unscored else True


def read_task(name: str | os.PathLike[str]) -> Task:
    """The task in a folder: a path, or the name of one that ships."""
    shipped = None if (Path(name) / FILE).exists() else assets.available("probes").get(str(name))
    folder = shipped or assets.find("probes", name)  # another folder may have the name of a task
    settings = read_toml(folder / FILE)
    if "name" in settings:
        raise InputError(f"{folder / FILE}: the name is the folder's: leave it out")
    return parse(Task, {"name": folder.resolve().name, **settings}, folder / FILE)


def list_tasks() -> dict[str, Task]:
    """The tasks that ship, by name."""
    return {name: read_task(folder) for name, folder in assets.available("probes").items()}


def find_tasks(
    names: str | os.PathLike[str] | Iterable[str | Path],
    tokens: pd.DataFrame,
    labels: Iterable[str] = (),
) -> list[Task]:
    """The tasks of those names; ``all`` are those that ship and have a column in the token table. Any other column of labels, of
    single words or of pairs, is a task without a task.toml. Errors list the ``labels`` of the store.
    """
    shipped = list_tasks().values()
    available = [task for task in shipped if task.cells in tokens]
    if names == ALL:
        if not available:
            raise _unlabelled(", ".join(task.cells for task in shipped))
        return available
    listed = [names] if isinstance(names, str | os.PathLike) else names
    task_names = dict.fromkeys([*(task.name for task in available), *labels])
    tasks = [_find_task(str(name), tokens, task_names) for name in listed]
    if not tasks:
        raise InputError("no task: give one or several, or all")
    return tasks


def check_tasks(names: Sequence[str], labels: Sequence[str]) -> None:
    """Refuses tasks of which texts with these labels have none, before anything is extracted from them."""
    if names != [ALL]:
        find_tasks(names, pd.DataFrame(columns=[*labels, *OF_TOKENS, *structure.COLUMNS]), labels)


def _find_task(name: str, tokens: pd.DataFrame, task_names: Collection[str]) -> Task:
    """A task that ships or has a folder, or that of a column of labels, which say of how many spans they are."""
    is_described = name in assets.available("probes") or (Path(name) / FILE).exists()
    task = read_task(name) if is_described else Task(name=name, title=name, spans=1)
    if task.cells not in tokens:
        if not task_names:
            raise _unlabelled(task.cells)
        error = unknown("labels", task.cells, task_names)
        raise InputError(f"{error}; labels that the store lacks: --labels {task.name}=FILE")
    cells = () if is_described else map(str, tokens[name].dropna().unique())
    is_of_pairs = any(target.span2 for cell in cells for target in decode_cell(cell, 0))
    return task.model_copy(update={"spans": 2}) if is_of_pairs else task


def _unlabelled(columns: str) -> InputError:
    return InputError(
        f"no labels ({columns}): add them (`tprprobe probe TASK STORE --labels TASK=FILE`, "
        "`store.with_labels`; of whole texts: `tprprobe probe label --ckpt MODEL --data FILE.csv` with columns text and label), or probe which token stands where (`tprprobe probe token STORE --probe bilinear`)"
    )
