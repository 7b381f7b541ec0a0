"""Tasks as data: a folder of ``probes/`` with a task.toml says what is probed for."""

import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tprprobe.errors import InputError, unknown
from tprprobe.files import assets

FILE, ALL = "task.toml", "all"


class Task(BaseModel):
    """What is probed for: ``spans`` of a target, its ``labels``, what is counted.

    ``column`` of the token table holds the labels (the task's name if not given); labels that begin
    with one of ``unscored`` are trained on and not counted.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    spans: Literal[1, 2]
    labels: Literal["training"] | tuple[str, ...] = "training"
    metric: Literal["micro_f1", "accuracy"] = "micro_f1"
    unscored: tuple[str, ...] = ()
    column: str = ""
    source: str = ""

    @property
    def cells(self) -> str:
        """The column of the token table."""
        return self.column or self.name

    def is_scored(self, label: str) -> bool:
        """Whether a label counts."""
        return not label.startswith(self.unscored) if self.unscored else True


def read_task(name: str | os.PathLike[str]) -> Task:
    """The task in a folder: a path, or the name of one that ships.

    Raises:
        InputError: there is none, or its task.toml has an unknown key or a wrong value.
    """
    folder = assets.find("probes", name)
    try:
        settings = tomllib.loads((folder / FILE).read_text())
    except FileNotFoundError as error:
        raise InputError(f"{folder} has no {FILE}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{folder / FILE}: {error}") from error
    accepted = [key for key in Task.model_fields if key != "name"]
    for key in settings:
        if key not in accepted:
            raise unknown(f"key of {folder / FILE}", key, accepted)
    try:
        return Task(name=folder.resolve().name, **settings)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise InputError(f"{folder / FILE}: {at}: {first['msg']}") from error


def find_tasks(
    names: str | os.PathLike[str] | Iterable[str | Path], columns: Iterable[str]
) -> list[Task]:
    """The tasks that are meant; ``all`` are those that ship and have a column in the token table.

    Raises:
        InputError: an unknown task, or one whose labels are not among the columns.
    """
    known = {*columns}
    if names == ALL:
        shipped = [read_task(folder) for folder in assets.available("probes").values()]
        tasks = [task for task in shipped if task.cells in known]
        if not tasks:
            raise _unlabelled(", ".join(task.cells for task in shipped))
        return tasks
    single = isinstance(names, str | os.PathLike)
    tasks = [read_task(name) for name in ([names] if single else list(names))]
    for task in tasks:
        if task.cells not in known:
            raise _unlabelled(task.cells)
    return tasks


def _unlabelled(columns: str) -> InputError:
    return InputError(
        f"the token table of this store has no labels ({columns}): extract from annotated data "
        "(`tprprobe extract --data FILE.conllu`, or with `--labels TASK=FILE`)"
    )
