"""Labels of one's own as columns of a token table: a label a token, checked; saved, they lie in a file of the store."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.errors import InputError, unknown
from tprprobe.files.writing import whole
from tprprobe.store.layout import OWN_LABELS, SIDES, TOKENS
from tprprobe.store.tokens import read_parquet

WORD, LAST_WORD = "word", "last_word"
RESERVED = {"side", "sample", "position", "token", WORD, LAST_WORD, "document", "split"}
NO_LABEL = re.compile(r"\s|\[\d+,\d+\)$")  # a blank, or a span at the end


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


def save_labels(path: Path, table: pd.DataFrame, task: str) -> None:
    """Writes the column of a task beside those of other tasks that were saved in the store at ``path``."""
    column = table[[task]].astype("category").reset_index(drop=True)
    saved = read_saved(path).drop(columns=task, errors="ignore")
    with whole(path / OWN_LABELS) as file:
        pd.concat([saved, column], axis=1).to_parquet(file)


def read_saved(path: Path) -> pd.DataFrame:
    """The saved labels, a column a task; none where none were saved."""
    file = path / OWN_LABELS
    return pd.read_parquet(file) if file.is_file() else pd.DataFrame()


def read_tokens(path: Path) -> pd.DataFrame:
    """The token table of the store at ``path``, with the labels that were saved in it."""
    tokens, saved = read_parquet(path / TOKENS), read_saved(path)
    if len(saved.columns) and len(saved) != len(tokens):
        raise InputError(
            f"{path / OWN_LABELS} has labels of {len(saved)} tokens, the store {len(tokens)}: remove this file"
        )
    return tokens.assign(**{str(task): saved[task] for task in saved})
