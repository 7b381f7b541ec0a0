"""One long table for every analysis, a row a number, and the folder that holds it.

site layer head            what was read
task                       what was asked: a column of labels, a scheme of roles, …
estimator control          what answered; the control is empty for the real one
metric value low high      the number with its 95 % interval, which is empty where groups are too few
beyond beyond_low beyond_high   the number minus that of the strongest control, on the same groups; ``rival`` is that
                           control, ``rival_value`` its number there, and ``p`` the largest p-value (Holm) of all controls that it is no better
n n_groups note            tested units, tested groups, a remark

Any further column (side, seed, k, step of a training, …) names a row, as do the first six.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.evaluation.intervals import FEW_GROUPS, NO_INTERVAL
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import SETTINGS
from tprprobe.files.notebook import as_html
from tprprobe.files.runs import write_table
from tprprobe.files.tables import columns, read_table
from tprprobe.files.writing import alone
from tprprobe.statistics import Interval, read_interval

FILE, REMEDY = "results.parquet", "make it again"
NAMES = ("task", "site", "layer", "head", "estimator", "control")
DIFFERENCES = ("beyond", "beyond_low", "beyond_high", "rival", "rival_value", "p")
NUMBERS = ("value", "low", "high", *DIFFERENCES, "n", "n_groups", "note")
TEXTS = ("site", "estimator", "control", "rival", "note")
INTEGERS = ("layer", "head", "seed")
BEHIND = "behind_best"  # the metric of how far a layer is behind the best one, with the p of that
RENAMED = {"learnt": "learned"}  # metrics of version 0.3 and before
View = TypeVar("View")
Row = dict[str, Any]  # of a table, by column
COLUMNS = columns(
    text="task estimator control metric note",
    number="value low high beyond beyond_low beyond_high p",
)


@dataclass(frozen=True, eq=False)
class Results:
    """The numbers of an analysis; ``.table`` is a DataFrame, ``.wide()`` one with a column for every metric.

    Attributes:
        table: One long table, a row a number; see [columns](columns.md).
        settings: The settings of the run that they come from.

    Examples:
        >>> results = tp.load_results("runs/pos")  # doctest: +SKIP
        >>> results.wide()[["site", "f1"]]  # doctest: +SKIP
    """

    table: pd.DataFrame
    settings: Mapping[str, object] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Results({len(self)} numbers: .table is their DataFrame, .wide() has a column for every metric)"

    def select(self, **names: object) -> "Results":
        """The rows whose columns have these values.

        Args:
            **names: The value of a column, or a list of values.

        Returns:
            The results, of fewer rows.
        """
        is_chosen = pd.Series(True, self.table.index)
        for name, values in names.items():
            listed = list(values) if isinstance(values, list | tuple | set) else [values]
            is_chosen &= self.table[name].isin(listed)
        return Results(self.table[is_chosen], self.settings)

    def wide(self) -> pd.DataFrame:
        """One row for all numbers of the same name: a column a metric, its interval beside it.

        Returns:
            The columns that name a row, and of every metric ``metric``, ``metric_low`` and ``metric_high`` where it has an
            interval.
        """
        names = [name for name in self.table if name not in (*NUMBERS, "metric")]
        draw = self.table.groupby([*names, "metric"], dropna=False).cumcount()  # 0 but of controls
        row = self.table.groupby([*names, draw], dropna=False, sort=False).ngroup()
        view = self.table.loc[~row.duplicated(), names].reset_index(drop=True)
        for metric, rows in self.table.groupby("metric", sort=False):
            numbers = rows.set_index(row[rows.index])
            view[metric] = numbers["value"]
            if (numbers["low"].notna() | numbers["note"].str.startswith(NO_INTERVAL)).any():
                view[[f"{metric}_low", f"{metric}_high"]] = numbers[["low", "high"]]
        return view

    def _repr_html_(self) -> str:
        nonempty = self.table.dropna(axis=1, how="all")
        return as_html(f"{len(self)} numbers", nonempty, ".wide() has a column for every metric.")


def number(metric: str, interval: Interval | float, **columns: object) -> Row:
    """A number as columns of a row; ``columns`` are further ones, such as ``n_groups``."""
    if not isinstance(interval, Interval):
        return {"metric": metric, "value": float(interval), **columns}
    ends = {"value": interval.value, "low": interval.low, "high": interval.high}
    note = FEW_GROUPS if np.isnan(interval.low) and not np.isnan(interval.value) else ""
    return {"metric": metric, **ends, "note": note, **columns}


def tabulate(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """The long table of rows; columns that they lack are empty."""
    return complete(pd.DataFrame(list(rows)))


def complete(table: pd.DataFrame) -> pd.DataFrame:
    """The table with all columns of a long table, in their order."""
    further = [name for name in table if name not in (*NAMES, *NUMBERS, "metric")]
    table = table.reindex(columns=[*NAMES, *further, "metric", *NUMBERS])
    floats = [name for name in NUMBERS if name not in ("n", "n_groups", *TEXTS)]
    integers = [name for name in (*INTEGERS, "n", "n_groups") if name in table]
    types = dict.fromkeys(floats, float) | dict.fromkeys(integers, "Int64")
    table = table.astype(types | dict.fromkeys(TEXTS, object))
    return table.fillna(dict.fromkeys(TEXTS, "")).astype(dict.fromkeys((*TEXTS, "task"), str))


def melt(
    table: pd.DataFrame,
    names: Mapping[str, str],
    metrics: Sequence[str] = (),
    with_missing: bool = False,
) -> pd.DataFrame:
    """The long table of a table with a column for every metric, and its interval in METRIC_low and METRIC_high.

    ``names`` says which of its columns name a row, and as what, for example ``{"family": "estimator"}``; ``metrics`` default to
    all columns with an interval. Columns ``beyond``, ``n`` and others of a long table stay what they are. ``with_missing``: a metric
    that a row lacks is a number, too, so that ``.wide()`` gives the same table back.
    """
    listed = metrics or [str(name) for name in table if f"{name}_low" in table and name != "beyond"]
    common = table[[*names]].rename(columns=dict(names))
    further = [name for name in table if name in NUMBERS and name not in ("value", *listed)]
    common = common.join(table[further])
    tables = []
    for metric in listed:
        numbers = common.assign(metric=metric, value=table[metric])
        if f"{metric}_low" in table:
            numbers = numbers.assign(low=table[f"{metric}_low"], high=table[f"{metric}_high"])
            numbers["note"] = numbers["low"].isna().map({True: NO_INTERVAL, False: ""})
        tables.append(numbers if with_missing else numbers.dropna(subset="value"))
    return complete(pd.concat(tables, ignore_index=True))


def load_results(folder: str | os.PathLike[str]) -> Results:
    """The numbers of all analyses in a folder, and in the folders in it.

    Args:
        folder: The ``--out`` of commands.

    Returns:
        The results: ``.table`` is one long DataFrame, ``.wide()`` has a column for every metric. Where numbers come from several folders, the column ``run`` has their names.

    Raises:
        InputError: There are none, or they are damaged.

    Examples:
        >>> results = tp.load_results("runs/pos")  # doctest: +SKIP
        >>> results.select(metric="f1", control="").table[["site", "value"]]  # doctest: +SKIP
    """
    path = Path(folder)
    files = [file for file in (path / FILE, *sorted(path.glob(f"*/{FILE}"))) if file.is_file()]
    if not files:
        raise InputError(f"{folder} holds no {FILE}: give the folder of a command (--out)")
    tables = [_read(file) for file in files]
    if len(files) > 1:
        runs = [file.parent.relative_to(path).as_posix() for file in files]
        tables = [table.assign(run=run) for table, run in zip(tables, runs, strict=True)]
    settings = path / SETTINGS
    document = read_json(settings) if settings.is_file() else {}
    return Results(join_tables(tables), document)


def load_long(folder: str | os.PathLike[str]) -> Results:
    """The long table of a finished run alone, not of the folders in its folder."""
    return Results(complete(_read(Path(folder) / FILE)))


def _read(file: Path) -> pd.DataFrame:
    table = read_table(file, COLUMNS, REMEDY)
    return table.assign(metric=table["metric"].replace(RENAMED))


def load_view(folder: str | os.PathLike[str], view: Callable[[Results], View]) -> View:
    """What people read of the long table of a finished run."""
    results = load_long(folder)
    with as_input_error(f"{Path(folder) / FILE} is damaged", REMEDY):
        return view(results)


def join_tables(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Long tables one after another; a column that is text in one of them and numbers in another is text."""
    joined = complete(pd.concat([table.astype(object) for table in tables], ignore_index=True))
    for name in [name for name, dtype in joined.dtypes.items() if dtype.kind == "O"]:
        values = joined[name].infer_objects()
        is_mixed = values.dtype.kind == "O" and values.dropna().map(type).nunique() > 1
        joined[name] = values.map(str, na_action="ignore") if is_mixed else values
    return joined


def save_answers(summary: Row, names: tuple[str, str, str], folder: Path) -> None:
    """Writes the numbers of an evaluation to the long table of a folder, in place of those of the same ``names``: model,
    data and split.
    """
    keys = ("model", "task", "split")
    table = tabulate(dict(zip(keys, names, strict=True)) | row for row in list_numbers(summary))
    with alone(folder):
        if (folder / FILE).is_file():
            previous = load_results(folder).table
            is_other = (previous[[*keys]].astype(str) != [*map(str, names)]).any(axis=1)
            table = join_tables([previous[is_other], table])
        write_table(folder / FILE, table)


def list_numbers(summary: Row) -> Iterator[Row]:
    """The rows of a summary: the scores of texts, or exact match, of all questions (module "") and of each module."""
    for metric, row in summary.get("scores", {}).items():
        if row["n"]:
            yield number(metric, read_interval(row), module="", n=row["n"])
    if "modules" in summary:
        for module, row in {"": summary, **summary["modules"]}.items():
            interval = Interval(row["exact_match"], *row["exact_match_interval"])
            yield number("exact_match", interval, module=module, n=row["n"])
