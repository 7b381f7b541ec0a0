"""Tables in files, read with the columns that they must have; every damage is one line."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error

if TYPE_CHECKING:
    import pandas as pd  # which takes longer to import than what needs no table of a folder

Columns = Mapping[str, type]  # by name what it holds: str, float, int (no gaps), bool, object
WORDS = {str: "text", float: "numbers", int: "whole numbers", bool: "true or false"}


def read_table(path: str | os.PathLike[str], columns: Columns, remedy: str) -> "pd.DataFrame":
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path.parent} has no {path.name}: {remedy}")
    texts = {name: str for name, kind in columns.items() if kind is str}
    with as_input_error(f"{path} is damaged", remedy):
        import pandas as pd

        if path.suffix == ".parquet":
            table = pd.read_parquet(path)
        elif path.suffix == ".jsonl":
            table = pd.read_json(path, lines=True, dtype=dict(texts))
        else:
            # "null" and "nan" are texts; what is missing is empty
            kinds = dict.fromkeys(texts, "str")
            table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    return check_columns(table, columns, path, remedy)


def check_columns(
    table: "pd.DataFrame", columns: Columns, where: object, remedy: str
) -> "pd.DataFrame":
    for name, kind in columns.items():
        if name not in table:
            raise InputError(f"{where} has no column {name!r}: {remedy}")
        try:
            table = table.assign(**{name: _values(table[name], kind)})
        except (ValueError, TypeError, OverflowError) as error:
            fault = f"column {name!r} holds other things than {WORDS[kind]}"
            raise InputError(f"{where}: {fault}: {remedy}") from error
    for name in (name for name in columns if {f"{name}_low", f"{name}_high"} <= columns.keys()):
        low, value, high = (table[f"{name}{end}"] for end in ("_low", "", "_high"))
        if ((low > value) | (value > high)).any():
            raise InputError(f"{where}: {name!r} lies outside its interval: {remedy}")
    return table


def columns(text: str = "", number: str = "", whole: str = "", flag: str = "") -> dict[str, type]:
    """The columns that a table must have, named in texts by what they hold."""
    kinds = {str: text, float: number, int: whole, bool: flag}
    return {name: kind for kind, names in kinds.items() for name in names.split()}


def _values(values: "pd.Series", kind: type) -> "pd.Series":
    import pandas as pd

    if kind is str and not all(
        isinstance(text, str) and text.encode() is not None for text in values.dropna().unique()
    ):
        raise TypeError("no text")
    if kind in (object, str):
        return values
    if kind is bool:
        if not values.isin([True, False]).all():
            raise ValueError("neither true nor false")
        return values.astype(bool)
    numbers = pd.to_numeric(values)
    if pd.api.types.is_bool_dtype(numbers) or not pd.api.types.is_numeric_dtype(numbers):
        raise TypeError("no numbers")
    if kind is float:
        return numbers
    integers = numbers.astype("int64")
    if (integers != numbers).any():
        raise ValueError("not whole, or too large")
    return integers
