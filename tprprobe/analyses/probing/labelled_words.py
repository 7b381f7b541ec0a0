"""The labelled words on one side of a store, and which documents train, validate and test."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from tprprobe.analyses.probing.task import Task
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import (
    DEV,
    DOCUMENT,
    QUESTION,
    TEST,
    TRAIN,
    Provenance,
    clear_parts,
    count_documents,
    read_provenance,
    rotate_documents,
)
from tprprobe.gold.labels import LAST_WORD, WORD
from tprprobe.store import Store
from tprprobe.store.token_texts import CONTINUATION, spell

FEWEST = 10
SPLIT_NAMES = {"validation": DEV, "valid": DEV}

Order = Int[np.ndarray, " sample"]
Marks = Bool[np.ndarray, "target label"]


@dataclass(frozen=True, eq=False)
class Words:
    """The words on one side of a store, in its order: their tokens, texts and label cells."""

    sample: Int[np.ndarray, " word"]
    number: Int[np.ndarray, " word"]
    rows: Int[np.ndarray, "word edge"]  # half open, among the tokens of that side
    form: np.ndarray
    cells: dict[str, np.ndarray]

    def find(self, sample: np.ndarray, number: np.ndarray) -> np.ndarray:
        """The places of words of samples, −1 where there is no such word."""
        keys = _key(self.sample, self.number)
        place = np.minimum(np.searchsorted(keys, _key(sample, number)), len(keys) - 1)
        return np.where(keys[place] == _key(sample, number), place, -1)

    @property
    def hashes(self) -> Int[np.ndarray, " word"]:
        """A number for every form in lower case without accents, as some models read no others: the same in every store."""
        codes, forms = pd.factorize(self.form)
        letters = pd.Series(forms, dtype=str).str.lower().str.normalize("NFD")
        plain = letters.str.replace(r"[\u0300-\u036f]", "", regex=True)
        return np.array([zlib.crc32(form.encode()) for form in plain], np.int64)[codes]


def _key(sample: np.ndarray, number: np.ndarray) -> np.ndarray:
    return sample.astype(np.int64) * 2**32 + number


@dataclass(frozen=True, eq=False)
class Corpus:
    """One side of a store, and the splits of its documents."""

    store: Store
    side: str
    words: Words
    origin: Provenance  # of every sample
    names: tuple[str, ...]
    splits: tuple[np.ndarray, ...]  # turns that test every document once, or that of the store
    sample: Int[np.ndarray, " row"]
    first_row: Int[np.ndarray, " row"]  # the first row of the row's sample
    last_row: Int[np.ndarray, " row"]
    previous: Int[np.ndarray, " row"]  # a hash of the word before that which the row is asked about
    predicts: bool  # whether a row is asked about the word that follows it

    @property
    def document(self) -> Order:
        return self.origin.documents


def are_predicted(store: Store, side: str, task: Task) -> bool:
    """Whether a state is asked about labels of the word after it: of words of a decoder, but not of labels of one's own, which
    are given to its tokens.
    """
    return side == "target" and task.cells not in store.labels


def read_corpus(
    store: Store,
    tokens: pd.DataFrame,
    side: str,
    tasks: Sequence[Task],
    seed: int | None,
    predicts: bool | None = None,
) -> Corpus:
    """One side of a store, divided by document: by the column ``split``, or by chance; without a seed all are tested."""
    predicts = are_predicted(store, side, tasks[0]) if predicts is None else predicts
    table = tokens.loc[np.asarray(tokens["side"] == side)].reset_index(drop=True)
    words = read_words(table, tasks)
    sample = table["sample"].to_numpy()
    first_row = np.searchsorted(sample, sample, "left")
    last_row = np.searchsorted(sample, sample, "right") - 1
    token_of_sample = np.searchsorted(tokens["sample"], np.arange(store.samples))
    # a sample without tokens has no targets either
    token_of_sample = np.minimum(token_of_sample, len(tokens) - 1)
    origin, per_sample = read_provenance(tokens).take(token_of_sample), tokens.iloc[token_of_sample]
    name_column = next((c for c in (DOCUMENT, QUESTION) if c in per_sample), "sample")
    names = per_sample[name_column].astype(str).groupby(origin.documents).first()
    if seed is None:
        splits = (np.full(len(per_sample), TEST, object),)
    elif "split" in per_sample:
        splits = (clear_parts(_stored_split(per_sample), origin.sequences),)
    else:
        count_documents(origin.documents, FEWEST, "the store")
        splits = tuple(rotate_documents(origin.documents, origin.sequences, seed))
    names, previous = tuple(map(str, names)), _previous(words, len(table), predicts)
    rows = (sample, first_row, last_row, previous)
    return Corpus(store, side, words, origin, names, splits, *rows, predicts)


def read_words(tokens: pd.DataFrame, tasks: Sequence[Task]) -> Words:
    """The words of the tokens of one side."""
    if WORD not in tokens or (tokens[WORD] < 0).all():
        raise InputError(
            "the token table has no words, to which labels belong: extract labeled data, or probe which token "
            "stands where (`tprprobe probe token STORE --probe bilinear`)"
        )
    first_word = tokens[WORD].to_numpy()
    labelled = np.flatnonzero(first_word >= 0)
    if LAST_WORD in tokens:  # words that share a token
        n_words = tokens[LAST_WORD].to_numpy()[labelled] - first_word[labelled] + 1
        labelled = np.repeat(labelled, n_words)
        starts = np.repeat(np.cumsum(n_words) - n_words, n_words)
        number = first_word[labelled] + np.arange(len(labelled)) - starts
    else:
        number = first_word[labelled]
    sample = tokens["sample"].to_numpy()[labelled]
    keys, first_token = np.unique(_key(sample, number), return_index=True)
    last_token = len(labelled) - 1 - np.unique(_key(sample, number)[::-1], return_index=True)[1]
    pieces = tokens["token"].astype(str).str.removeprefix(CONTINUATION).to_numpy(object)[labelled]
    owner = np.searchsorted(keys, _key(sample, number))
    joined = pd.Series(pieces).groupby(owner).sum().map(spell).str.strip()
    is_first = number == first_word[labelled]
    listed = np.full(len(keys), -1)  # the last token that begins in a word, where others share it
    listed[owner[is_first]] = labelled[is_first]
    columns = {task.cells: tokens[task.cells].astype(object).to_numpy() for task in tasks}
    cells = {name: np.where(listed < 0, "", values[listed]) for name, values in columns.items()}
    rows = np.stack([labelled[first_token], labelled[last_token] + 1], axis=1)
    return Words(sample[first_token], number[first_token], rows, joined.to_numpy(object), cells)


def _stored_split(per_sample: pd.DataFrame) -> np.ndarray:
    names = per_sample["split"].astype(str)
    split = names.map(lambda name: SPLIT_NAMES.get(str(name), name)).to_numpy(object)
    if lacking := {TRAIN, DEV, TEST} - {*split}:
        raise InputError(
            f"the column split of this store has no {', '.join(sorted(lacking))}: extract all "
            "three splits, or none"
        )
    return split


def _previous(words: Words, n_rows: int, predicts: bool) -> Int[np.ndarray, " row"]:
    """A hash of the word before each row's word (−1 at the start); one that predicts is about the next word."""
    word = np.full(n_rows + 1, -1)
    for token in range(int((words.rows[:, 1] - words.rows[:, 0]).max(initial=0))):
        has = np.flatnonzero(words.rows[:, 0] + token < words.rows[:, 1])[::-1]
        word[words.rows[has, 0] + token] = has  # the first of words that share tokens
    word_of_row = word[1:] if predicts else word[:-1]
    place = words.find(words.sample[word_of_row], words.number[word_of_row] - 1)
    return np.where((word_of_row >= 0) & (place >= 0), words.hashes[place], -1)
