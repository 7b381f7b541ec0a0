"""Exact labels of words as columns that clusters are named by: tag, relation, role, entity."""

import pandas as pd

from tprprobe.analyses.naming.fields import Field
from tprprobe.gold.labels import WORD, decode_cell
from tprprobe.store import Store

LABELS = {
    "pos": Field(("pos",)),
    "dep": Field(("dep",)),
    "srl": Field(("srl",)),
    "nel": Field(("nel",), "in {}"),
}


def list_exact(store: Store) -> dict[str, Field]:
    """The fields of the labels that the store's data tell; what a tagger guessed is not among them."""
    guessed = store.manifest.get("labels") or {}
    columns = store.tokens.columns
    if WORD not in columns:  # without the words' numbers, cells name no words
        return {}
    return {
        name: field for name, field in LABELS.items() if name in columns and name not in guessed
    }


def read_labels(store: Store, side: str) -> pd.DataFrame:
    """The tokens of a side with a label per task, missing where a word has none.

    A relation is told of its dependent, a role of every word of the argument (of several, the first
    listed), an entity of every word in it.
    """
    tokens = store.tokens.loc[store.tokens["side"] == side].reset_index(drop=True)
    return tokens.assign(**{name: label_words(tokens, name) for name in list_exact(store)})


def label_words(tokens: pd.DataFrame, task: str) -> pd.Series:
    """The label of every token of a side for one task, exact or guessed; missing where a word has none."""
    known = tokens[tokens[WORD] >= 0].drop_duplicates(["sample", WORD])
    words = pd.MultiIndex.from_frame(tokens[["sample", WORD]])
    return pd.Series(words.map(_by_word(known, task).get), tokens.index, dtype=object)


def _by_word(known: pd.DataFrame, task: str) -> dict[tuple[int, int], str]:
    """The label of every labelled word, by its sample and number."""
    found: dict[tuple[int, int], str] = {}
    cells = known[known[task].astype(str) != ""]
    for sample, word, cell in zip(cells["sample"], cells[WORD], cells[task], strict=True):
        for label, span1, span2 in decode_cell(str(cell), int(word)):
            span = span2 if task == "srl" and span2 else span1
            for each in range(*span):
                found.setdefault((int(sample), each), label)
    return found
