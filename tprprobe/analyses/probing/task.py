"""Tasks as data: a folder of ``probes/`` with a task.toml says what is probed for."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.files import assets
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.gold.labels import decode_cell

FILE, ALL = "task.toml", "all"


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
    try:
        folder = assets.find("probes", name)
    except InputError as error:
        raise InputError(f"{error}; labels that a store lacks: --labels {name}=FILE") from None
    settings = read_toml(folder / FILE)
    if "name" in settings:
        raise InputError(f"{folder / FILE}: the name is the folder's: leave it out")
    return parse(Task, {"name": folder.resolve().name, **settings}, folder / FILE)


def list_tasks() -> dict[str, Task]:
    """The tasks that ship, by name."""
    return {name: read_task(folder) for name, folder in assets.available("probes").items()}


def find_tasks(
    names: str | os.PathLike[str] | Iterable[str | Path], tokens: pd.DataFrame
) -> list[Task]:
    """The tasks of those names; ``all`` are those that ship and have a column in the token table. Any other column of labels, of
    single words or of pairs, is a task without a task.toml.
    """
    if names == ALL:
        shipped = list_tasks().values()
        tasks = [task for task in shipped if task.cells in tokens]
        if not tasks:
            raise _unlabelled(", ".join(task.cells for task in shipped))
        return tasks
    listed = [names] if isinstance(names, str | os.PathLike) else names
    tasks = [_of_column(name, tokens) or read_task(name) for name in listed]
    if not tasks:
        raise InputError("no task: give one or several, or all")
    for task in tasks:
        if task.cells not in tokens:
            raise _unlabelled(task.cells)
    return tasks


def _of_column(name: str | os.PathLike[str], tokens: pd.DataFrame) -> Task | None:
    """The task of a column that no shipped task and no folder of a task is named like; its labels say of how many spans."""
    column = str(name)
    is_task = column in assets.available("probes") or (Path(column) / FILE).exists()
    if column not in tokens or is_task:
        return None
    cells = map(str, tokens[column].dropna().unique())
    is_of_pairs = any(target.span2 for cell in cells for target in decode_cell(cell, 0))
    return Task(name=column, title=column, spans=2 if is_of_pairs else 1)


def _unlabelled(columns: str) -> InputError:
    return InputError(
        f"the token table of this store has no labels ({columns}): add them (`tprprobe probe TASK STORE --labels TASK=FILE`, "
        "`store.with_labels`), or probe which token stands where (`tprprobe probe token STORE --probe bilinear`)"
    )
