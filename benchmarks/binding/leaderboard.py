"""``python -m benchmarks.binding.leaderboard METHOD.py``: scores a method of your own by the benchmark, and ranks it among all.

The file is a ``Method`` (structure.py), as those in ``methods``. It is measured on the subjects that need no folder; the other
methods' scores on the same subjects and seeds are those of the committed table.
"""

import hashlib
import importlib.util
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, cast

import pandas as pd
import typer

from benchmarks.binding.runner import choose, list_methods, list_subjects, run
from benchmarks.binding.scores import MEASURES
from benchmarks.binding.structure import Method
from benchmarks.binding.tables import RESULTS, over_seeds, read_table
from tprprobe.errors import InputError
from tprprobe.files.runs import write_table
from tprprobe.statistics import interval_text

SCORES = ("r2", "r2_withheld", "accuracy", "accuracy_withheld", "interchange", "interchange_withheld", "others_kept", "named_right")  # fmt: skip
REQUIRED = ("TITLE", "PRIMARY", "GRID", "CANNOT", "fit")
KEYS = ["subject", "seed"]


def load_method(file: Path) -> Method:
    """The method of a file.

    Raises:
        InputError: No such file, it cannot be imported, or it lacks a name that every method has.
    """
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise InputError(f"no method in {file}: give a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever a stranger's file raises
        raise InputError(f"{file} cannot be imported: {type(error).__name__}: {error}") from None
    return check_method(module, file)


def check_method(module: ModuleType, file: Path) -> Method:
    """The module as a method, if it has all that a method has."""
    if missing := [name for name in REQUIRED if not hasattr(module, name)]:
        raise InputError(
            f"{file} lacks {', '.join(missing)}: a method has {', '.join(REQUIRED)} "
            "(benchmarks/binding/structure.py)"
        )
    if module.PRIMARY not in (primaries := ("states", "fillers", "swaps", "")):
        raise InputError(f"{file}: PRIMARY is {module.PRIMARY!r}: give one of {primaries}")
    return cast(Any, module)


def score_method(file: Path, out: Path, subjects: list[str] | None, seeds: int) -> pd.DataFrame:
    """The method's cells, kept by the contents of its file."""
    available = {name: s for name, s in list_subjects().items() if not s.needs}
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8] if file.is_file() else ""
    method = load_method(file)
    folder = out / f"{file.stem}-{digest}"
    selected = choose(available, subjects, "subject")
    return run(folder, selected, {file.stem: method}, seeds)


def rank(cells: pd.DataFrame, rival_cells: pd.DataFrame) -> Iterator[dict[str, str]]:
    """For every score a row: the method's, its rank, and the best of the other methods on the same subjects and seeds."""
    shared_cells = rival_cells.merge(cells[KEYS].drop_duplicates(), on=KEYS)
    for measure in SCORES:
        yield _rank_by(MEASURES[measure], measure, cells, shared_cells)
    binding = {name: subject.binding for name, subject in list_subjects().items()}
    for is_bound, title in ((True, "fillers are bound"), (False, "nothing is bound")):
        frames = [t[t["subject"].map(binding) == is_bound] for t in (cells, shared_cells)]
        title = f"claims binding where {title}"
        yield _rank_by(title, "claims_shuffled", *frames, is_lower_better=not is_bound)


def _rank_by(
    title: str,
    measure: str,
    cells: pd.DataFrame,
    rival_cells: pd.DataFrame,
    is_lower_better: bool = False,
) -> dict[str, str]:
    interval, sign = over_seeds(cells, measure), -1 if is_lower_better else 1
    rivals = sign * rival_cells.groupby("method")[measure].mean()
    rivals = rivals.dropna().sort_values(ascending=False)
    row = {"score": title, "yours": "n/a", "rank": "–", "best of the others": "n/a"}
    if len(rivals):
        best = list_methods()[str(rivals.index[0])].TITLE
        row["best of the others"] = f"{best} {sign * rivals.iloc[0]:.2f}"
    if not math.isnan(interval.value):
        n_better = int((rivals > sign * interval.value + 1e-9).sum())
        row["yours"] = interval_text(interval, ".2f")
        row["rank"] = f"{n_better + 1} of {len(rivals) + 1}"
    return row


def main(
    file: Annotated[Path, typer.Argument(help="A Python file with the method.")],
    out: Annotated[Path, typer.Option(help="Where measurements are kept.")] = Path("runs/binding"),
    subjects: Annotated[list[str] | None, typer.Option(help="Some subjects; default: all.")] = None,
    seeds: Annotated[int, typer.Option(min=1, max=3, help="Draws of every subject.")] = 1,
) -> None:
    """Score a method of your own, and rank it among the methods of the benchmark."""
    cells = score_method(file, out, subjects, seeds)
    table = pd.DataFrame(rank(cells, read_table(RESULTS / "cells.csv")))
    write_table(out / f"{file.stem}.csv", table)
    typer.echo(table.to_string(index=False))


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"benchmarks.binding.leaderboard: {error}")
