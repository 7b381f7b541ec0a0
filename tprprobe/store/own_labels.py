"""Labels of one's own as a column of a token table: a label a token, checked."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import as_input_error
from tprprobe.store.layout import SIDES

WORD, LAST_WORD = "word", "last_word"
RESERVED = {"side", "sample", "position", "token", WORD, LAST_WORD, "document", "split"}
NO_LABEL = re.compile(r"\s|\[\d+,\d+\)$")  # a blank, or a span at the end
KEYS = ["side", "sample", "position"]  # of a token


def copy_labels(tokens: pd.DataFrame, of_twin: pd.DataFrame) -> pd.DataFrame:
    """The tokens of a twin with all columns of those of the model, of which they are the same or a part."""
    return of_twin[KEYS].merge(tokens, how="left", on=KEYS)


def read_labels(file: Path, task: str) -> list[str]:
    """The labels in the column ``task`` of a CSV file, empty where a token has none."""
    with as_input_error(f"{file}: no labels", f"give a CSV file with a column {task}"):
        return pd.read_csv(file, usecols=[task], dtype=str, keep_default_na=False)[task].tolist()


def add_labels(
    tokens: pd.DataFrame, task: str, labels: Iterable[object], side: str
) -> pd.DataFrame:
    """The tokens with a column ``task``, in which those of a side have these labels; where there are no words, each token is one."""
    if side not in SIDES:
        raise unknown("side", side, SIDES)
    if task in RESERVED or not task.isidentifier():
        raise InputError(f"task {task!r}: give a name of letters that is no column of tokens yet")
    is_side = (tokens["side"] == side).to_numpy()
    values = pd.Series(list(labels), dtype=object)
    if len(values) != is_side.sum():
        raise InputError(
            f"{len(values)} labels of {task} for {is_side.sum()} tokens of the {side} side: give one a token, '' where it has none"
        )
    texts = values.where(values.notna(), "").astype(str)
    if wrong := [label for label in texts.unique() if NO_LABEL.search(label)]:
        raise InputError(f"label {wrong[0]!r}: a label has no blanks and does not end in a span")
    if WORD not in tokens:
        tokens = tokens.assign(**{WORD: tokens["position"], LAST_WORD: tokens["position"]})
    cells = np.full(len(tokens), "", object)
    cells[is_side] = texts
    cells[tokens[WORD].to_numpy() < 0] = ""
    tokens = tokens.assign(**{task: cells})
    by_word = tokens.loc[is_side & (tokens[WORD] >= 0)].groupby(["sample", WORD], observed=True)
    if (several := by_word[task].nunique() > 1).any():
        sample, word = several.index[several][0]
        raise InputError(
            f"sample {sample} has several labels of {task} in word {word}: give all tokens of a word one label"
        )
    return tokens
