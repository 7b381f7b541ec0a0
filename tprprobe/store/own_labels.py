"""Labels of one's own as a column of a token table: a label a token, checked."""

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from tprprobe.errors import InputError, unknown
from tprprobe.store.layout import SIDES

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
