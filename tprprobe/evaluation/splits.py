"""Who is fitted on and who is tested: documents are divided, and no sequence of the test part is fitted on.

A sample is never divided, nor is a document. Documents that share a sentence stay two documents; but a model gives
the same text the same states, so a sample whose sequence the test part has too is left out of the fit.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int, Shaped, UInt64

from tprprobe.errors import InputError
from tprprobe.store.tokens import join_texts, starts_of

DOCUMENT, QUESTION = "document", "question"
TRAIN, DEV, TEST, LEFT_OUT = "train", "dev", "test", ""
TEST_SHARE, DEV_SHARE = 0.25, 0.2  # of the documents; of those that are not tested on
# Between symbols, of which a blank may be one; of private use, as pandas 2 compares texts up to the first null character.
BETWEEN = "\ue000"
TURNS, TURN_DEV = 5, 0.1  # every document is tested in one; share of documents to choose by

Documents = Int[np.ndarray, " row"]
Sequences = UInt64[np.ndarray, "row key"]
Flags = Bool[np.ndarray, " row"]
Names = Shaped[np.ndarray, " row"]  # train, dev, test, or empty: left out


@dataclass(frozen=True, eq=False)
class Provenance:
    """The document that every row comes from, as a number, and its sample's sequences, as hashes that are the same in every store."""

    documents: Documents
    sequences: Sequences

    def take(self, rows: np.ndarray) -> "Provenance":
        return Provenance(self.documents[rows], self.sequences[rows])


def read_provenance(tokens: pd.DataFrame, column: str | None = None) -> Provenance:
    """The document and the sequences of every token, documents in the order in which they appear.

    The tokens of a sample stand in one piece. ``document`` and ``question`` (the text that was read) count where they are there and not
    empty; a sample without a document's name is a document by itself, together with samples of the same sequence. By the
    symbols in ``column`` sequences are compared too: a text and the symbols that it is described by may be repeated independently.
    """
    sample = pd.factorize(tokens["sample"])[0]
    starts, join = starts_of(sample), partial(join_texts, samples=sample, between=BETWEEN)
    text = _cells(tokens, QUESTION, starts)
    if (text == "").any():
        text = text.where(text != "", pd.Series(join(tokens["token"]), dtype=object))
    keys = [text, *([pd.Series(join(tokens[column]), dtype=object)] if column else [])]
    keys = [key.map(normalize) for key in keys]
    name = _cells(tokens, DOCUMENT, starts)
    document = ("document " + name).where(name != "", "sequence " + keys[-1])
    hashes = [pd.util.hash_array(key.to_numpy(object)) for key in keys]
    return Provenance(pd.factorize(document)[0][sample], np.stack(hashes, 1)[sample])


def normalize(text: str) -> str:
    """A text by which copies are recognized: NFKC, in any case, every run of blanks as one."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _cells(tokens: pd.DataFrame, name: str, starts: Int[np.ndarray, " sample"]) -> pd.Series:
    """The cell of a column for every sample; empty where there is none."""
    if name not in tokens:
        return pd.Series([""] * len(starts), dtype=object)
    column = tokens[name].iloc[starts].astype(object).reset_index(drop=True)
    return column.where(column.notna(), "").astype(str)


def leave_out(train: Flags, tested: Flags, sequences: Sequences) -> Flags:
    """The fitted rows that have no sequence in common with a tested row."""
    shared = [np.isin(key, key[tested]) for key in sequences.T]
    return train & ~np.any(shared, axis=0)


def count_documents(documents: Documents, fewest: int, source: object) -> int:
    """How many documents there are."""
    if (n := len(np.unique(documents))) < fewest:
        raise InputError(
            f"{source} has {n} different {'document' if n == 1 else 'documents'}: read {fewest} or more"
        )
    return n


def divide_documents(documents: Documents, rng: np.random.Generator) -> tuple[Flags, Flags]:
    """The rows to test on, and the rows to choose by; what is left is fitted to."""
    n = documents.max() + 1
    place = (rng.permutation(n) / n)[documents]
    test = place < TEST_SHARE
    return test, ~test & (place < TEST_SHARE + DEV_SHARE * (1 - TEST_SHARE))


def halve_documents(documents: Shaped[np.ndarray, " row"], seed: int = 0) -> Flags:
    """The rows of a random half of the documents."""
    unique, index = np.unique(documents, return_inverse=True)
    if len(unique) < 4:
        raise InputError(f"documents to choose on and to test on: {len(unique)}; give 4 or more")
    half = np.arange(len(unique)) < len(unique) // 2
    return np.random.default_rng(seed).permuted(half)[index]


def list_samples(tokens: pd.DataFrame, rows: Flags, model: str) -> pd.DataFrame:
    """The samples of some rows, with the names of their documents where they have any."""
    names = [name for name in ("side", "sample", "document") if name in tokens]
    return tokens.loc[rows, names].drop_duplicates("sample").assign(model=model)


def rotate_documents(documents: Documents, sequences: Sequences, seed: int) -> Iterator[Names]:
    """The part of every row, turn by turn; every document is tested in one."""
    n = documents.max() + 1
    place = np.random.default_rng(seed).permutation(n)[documents]
    tested, checked = (max(1, round(share * n)) for share in (1 / TURNS, TURN_DEV))
    bounds = np.linspace(tested, n, TURNS).round().astype(int)
    for start, stop in pairwise([0, *bounds]):
        names = np.full(len(documents), TRAIN, object)
        names[(place >= start) & (place < stop)] = TEST
        names[(place - stop) % n < checked] = DEV
        yield clear_parts(names, sequences)


def clear_parts(names: Names, sequences: Sequences) -> Names:
    """The parts; a sequence of the test part is left out of the others, one of the part to choose by of the training part."""
    order = np.select([names == TEST, names == DEV], [0, 1], 2)
    return np.where(stand_first(order, sequences), names, LEFT_OUT)


def stand_first(order: Int[np.ndarray, " row"], sequences: Sequences) -> Flags:
    """The rows whose sequences no row of a lower order has."""
    lowest = [pd.Series(order).groupby(key).transform("min") for key in sequences.T]
    return np.all([order == values for values in lowest], axis=0)
