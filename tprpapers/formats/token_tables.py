"""Token tables (CSV, Parquet) of foreign arrays, in the columns that a store's table has."""

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.store.layout import SIDES
from tprprobe.store.tokens import join_texts, sort_tokens

SUFFIXES = (".parquet", ".csv", ".tsv")
SEQUENCE = "sequence"
TEXTS = ("token", SEQUENCE)  # columns that are texts whatever they look like
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE)
ACCEPTED = (
    "a table of tokens has one row for every token, with the columns sample and token, or one row for every "
    "sample, with the column sequence (symbols separated by blanks)"
)


def find_table(source: Path, table: Path | None) -> Path:
    """The token table that is given, or that lies beside the arrays under their name or as ``tokens``."""
    if table is not None:
        if table.suffix not in SUFFIXES or not table.is_file():
            raise InputError(
                f"no token table {table}: give a {', '.join(SUFFIXES)} file; {ACCEPTED}"
            )
        return table
    near = [source.with_name(stem + end) for stem in (source.stem, "tokens") for end in SUFFIXES]
    nearest = next((path for path in near if path.is_file()), None)
    if nearest is None:
        raise InputError(
            f"{source} has no tokens: put {source.stem}.parquet or .csv beside it, or give --tokens "
            f"FILE; {ACCEPTED}"
        )
    return nearest


def read_table(path: Path) -> pd.DataFrame:
    """The tokens of a table: side, sample (from 0), position, id, token, question, and its own columns."""
    with as_input_error(f"{path} cannot be read as a table", ACCEPTED):
        table = pd.read_parquet(path) if path.suffix == ".parquet" else _read_texts(path)
    return complete_table(table, path)


def _read_texts(path: Path) -> pd.DataFrame:
    """A table of a CSV or TSV file; a .tsv has no quotes."""
    quoting: Any = {} if path.suffix == ".csv" else {"sep": "\t", "quoting": csv.QUOTE_NONE}
    options: Any = {"dtype": str, "keep_default_na": False, "index_col": False, **quoting}
    table = pd.read_csv(path, encoding="utf-8-sig", **options)
    return table.apply(lambda texts: texts if texts.name in TEXTS else _as_numbers(texts))


def _as_numbers(texts: pd.Series) -> pd.Series:
    """The numbers of a column, if no text is lost by them: 01 and 1 are two labels."""
    values = texts.unique()
    if {*values} <= {"True", "False"}:
        return texts == "True"
    if not all(map(NUMBER.fullmatch, values)):
        return texts
    numbers = pd.to_numeric(texts)
    return numbers if numbers.nunique() == len(values) else texts


def complete_table(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The table that was read from ``path``, with the columns that it lacks."""
    if SEQUENCE in table and "token" not in table:  # one row a sample
        table = table.drop(columns="sample", errors="ignore")
        symbols = table[SEQUENCE].astype(str).str.split()
        table = table.drop(columns=SEQUENCE).assign(sample=range(len(table)), token=symbols)
        table = table.explode("token", ignore_index=True)
    if lacking := {"sample", "token"} - {*table}:
        raise InputError(f"{path} has no column {', '.join(sorted(lacking))}: {ACCEPTED}")
    side = table["side"] if "side" in table else pd.Series(SIDES[0], table.index)
    if unknown := set(side.unique()) - {*SIDES}:
        raise InputError(
            f"{path}: side {sorted(map(str, unknown))[0]!r}: a side is source or target"
        )
    runs = (table["sample"] != table["sample"].shift()).to_numpy()
    if runs.sum() != table["sample"].nunique():
        raise InputError(f"{path}: the rows of a sample do not follow one another: sort the table")
    table = sort_tokens(table.assign(side=side, sample=np.cumsum(runs) - 1)).reset_index(drop=True)
    token = table["token"]
    if not _are_categories(token):
        token = token.astype(str).astype("category")
    source = table.loc[table["side"] == SIDES[0]]
    samples = source["sample"]
    texts = join_texts(source["token"], samples.to_numpy())
    texts = pd.Series(texts, samples.unique(), dtype=object)
    filled = {
        "side": table["side"],
        "sample": table["sample"],
        "position": table.groupby(["sample", "side"], observed=True).cumcount(),
        "id": token.cat.codes.astype(np.int32),
        "token": token,
        "question": table["sample"].map(texts).fillna("").astype("category"),
    }
    further = {name: table[name] for name in table if name not in ("side", "sample", "token")}
    return pd.DataFrame(filled | further)


def _are_categories(column: pd.Series) -> bool:
    """True for texts that are categories already, without gaps."""
    kind = column.dtype
    texts = isinstance(kind, pd.CategoricalDtype) and pd.api.types.is_string_dtype(kind.categories)
    return texts and not column.hasnans
