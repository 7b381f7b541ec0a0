"""Labels of one's own as columns of a token table: a label a token, checked; saved, they lie in a file of the store."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.console import note
from tprprobe.errors import InputError, unknown
from tprprobe.files.writing import whole
from tprprobe.store.layout import OWN_LABELS, SIDES, TOKENS, WORDS
from tprprobe.store.tokens import read_parquet

WORD, LAST_WORD = WORDS
RESERVED = {"side", "sample", "position", "token", *WORDS, "document", "split"}
NO_LABEL = re.compile(r"\s|\[\d+,\d+\)$")  # a blank, or a span at the end


def add_labels(
    tokens: pd.DataFrame, task: str, labels: Iterable[object], side: str, names: Iterable[str] = ()
) -> pd.DataFrame:
    """The tokens with a column ``task``, in which those of a side have these labels; missing where the label is None, and outside words.

    Every token is a word where there are no words, or where tokens of a word have several labels, or those of none have one, and no
    ``names`` (``pos``, or counted ``source.pos``) are labels of words.
    """
    if side not in SIDES:
        raise unknown("side", side, SIDES)
    if task in RESERVED:
        raise InputError(f"task {task!r}: this name is reserved, give another")
    if not task.isidentifier():
        wrong = next((c for i, c in enumerate(task) if not task[: i + 1].isidentifier()), "")
        raise InputError(
            f"task {task!r}: {wrong!r} cannot stand there: give a letter, then letters, digits and _"
        )
    is_side = (tokens["side"] == side).to_numpy()
    values = pd.Series(list(labels), dtype=object)
    if len(values) != is_side.sum():
        sizes = [
            f"{n} tokens of side={name!r}" for name, n in tokens["side"].value_counts().items()
        ]
        raise InputError(
            f"{len(values)} labels of {task} for {' and '.join(sizes)}, where side is {side!r}: give one a token, '' where it has none"
        )
    if task in tokens:
        note(f"{task}: these labels replace others of that name")
    texts = values.where(values.notna(), "").astype(str)
    if wrong := [label for label in texts.unique() if NO_LABEL.search(label)]:
        raise InputError(
            f"label {wrong[0]!r}: a label has no blanks and does not end in a span (several of a token: give the first)"
        )
    labelled = tokens[is_side].assign(**{task: texts.to_numpy()})
    of_words = sorted({name.rpartition(".")[2] for name in names} & {*tokens} - {task})
    has_words = WORD in tokens
    place = _find_several(labelled, task) if has_words else ""
    if place and of_words:
        raise InputError(
            f"{place}: give all tokens of a word one label, beside those of words ({', '.join(of_words)})"
        )
    if has_words and not place and (outside := _find_outside(labelled, task)):
        are_tokens = not of_words or _are_tokens(tokens, of_words)
        place = outside if are_tokens else ""
        if not are_tokens:
            note(f"{outside}: labels of such tokens are left out")
    if place:
        note(f"{place}: every token counts as a word")
    if place or not has_words:
        tokens = tokens.assign(**{WORD: tokens["position"], LAST_WORD: tokens["position"]})
    elif are_whole_texts(tokens):
        note(f"{task}: every text is one word, and one target; blanks in it would divide it")
    cells = np.full(len(tokens), None, object)
    cells[is_side] = texts.where(values.notna())
    cells[tokens[WORD].to_numpy() < 0] = None
    return tokens.assign(**{task: cells})


def are_whole_texts(tokens: pd.DataFrame) -> bool:
    """Whether every text is one word of several tokens, such as letters without blanks."""
    words = tokens[tokens[WORD] >= 0].groupby(["sample", "side"], observed=True)[WORD]
    return bool((words.nunique() == 1).all() and (words.size() > 1).any())


def _find_several(tokens: pd.DataFrame, task: str) -> str:
    """The first word whose tokens have several labels, in words; empty if there is none."""
    by_word = tokens[tokens[WORD] >= 0].groupby(["sample", WORD], observed=True)[task]
    several = by_word.nunique() > 1
    if not several.any():
        return ""
    sample, word = several.index[several][0]
    return f"sample {sample} has several labels of {task} in word {word}"


def _find_outside(tokens: pd.DataFrame, task: str) -> str:
    """The first token with a label that is part of no word, in words; empty if there is none."""
    outside = tokens[(tokens[WORD] < 0) & (tokens[task] != "")]
    if outside.empty:
        return ""
    return "‘{token}’ of sample {sample} has a label and is no word".format(**outside.iloc[0])


def _are_tokens(tokens: pd.DataFrame, names: list[str]) -> bool:
    """Whether every word is one token, and no label is of a span of words, whose numbers would be others."""
    words = tokens[tokens[WORD] >= 0]
    is_repeated = words.duplicated(["sample", "side", WORD])
    has_spans = (
        tokens[names].astype(str).apply(lambda cells: cells.str.endswith(")")).any(axis=None)
    )
    return (
        not (is_repeated | (words[WORD] != words.get(LAST_WORD, words[WORD]))).any()
        and not has_spans
    )


def save_labels(path: Path, table: pd.DataFrame, task: str) -> None:
    """Writes the column of a task, and the words that have its labels, beside other tasks that were saved in the store at ``path``."""
    columns = table.filter([task, *WORDS]).astype({task: "category"})
    labels: Any = columns.reset_index(drop=True)
    with whole(path / OWN_LABELS) as file:
        read_saved(path).reindex(labels.index).assign(**labels).to_parquet(file)


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
