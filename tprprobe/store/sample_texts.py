"""The texts of a store's samples, and those samples that hold a text."""

from collections.abc import Collection

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.statistics import Interval, wilson
from tprprobe.store.reader import Store

TEXTS = ("question", "source", "document")  # columns with the text of a sample


def read_texts(store: Store) -> pd.Series:
    """The text of every sample by its number; of samples without one, their tokens."""
    tokens = store.tokens
    column = next((name for name in TEXTS if name in tokens), None)
    if column is None:
        return tokens.groupby("sample")["token"].agg(lambda words: " ".join(map(str, words)))
    return tokens.drop_duplicates("sample").set_index("sample")[column].astype(str)


def find_samples(store: Store, text: str, limit: int = 500) -> list[int]:
    """The samples that hold a text, ignoring case; all for an empty one."""
    if not text.strip():
        return list(range(store.samples))
    texts = read_texts(store)
    holds = texts.str.casefold().str.contains(text.strip().casefold(), regex=False)
    return [int(sample) for sample in texts.index[holds.to_numpy()][:limit]]


def match_samples(store: Store, other_store: Store) -> pd.DataFrame:
    """The samples that both stores have, by their texts: text, first, second."""
    texts, other_texts = (
        read_texts(s).rename("text").rename_axis(name).reset_index()
        for s, name in ((store, "first"), (other_store, "second"))
    )
    pairs = texts.merge(other_texts, on="text").drop_duplicates("text")
    if pairs.empty:
        names = " and ".join("/".join(s.path.parts[-2:]) for s in (store, other_store))
        raise InputError(f"{names} have no sample in common: choose a store of the same data")
    return pairs


def score_answers(
    store: Store, is_arithmetic: bool, samples: Collection[int] | None = None
) -> Interval | None:
    """The share of right answers, of all samples or these; None for a corpus, which asks nothing, and for texts of which none is its reference."""
    if not store.has_answers or not {"correct", "answer", "question"} <= {*store.tokens}:
        return None
    rows = store.tokens[["sample", "question", "answer", "correct"]]
    rows = rows if samples is None else rows[rows["sample"].isin(samples)]
    rows = rows.drop_duplicates("sample").dropna().astype({"answer": str, "question": str})
    rows = rows[rows["answer"] != ""]
    is_asked, right = (rows["answer"] != rows["question"]).any(), rows["correct"].astype(bool)
    is_scored = is_asked and (is_arithmetic or right.any())
    return wilson(int(right.sum()), len(right)) if is_scored else None
