"""The texts of a store's samples, and those samples that hold a text."""

import pandas as pd

from tprprobe.store.reader import Store

TEXTS = ("question", "source", "document")  # columns with the text of a sample


def read_texts(store: Store) -> pd.Series:
    """The text of every sample by its number; of samples without one, their tokens."""
    tokens = store.tokens
    column = next((name for name in TEXTS if name in tokens), None)
    if column is None:
        return tokens.groupby("sample")["token"].agg(lambda each: " ".join(map(str, each)))
    return tokens.drop_duplicates("sample").set_index("sample")[column].astype(str)


def find_samples(store: Store, text: str, most: int = 500) -> list[int]:
    """The samples that hold a text, ignoring case; all for an empty one."""
    if not text.strip():
        return list(range(store.samples))
    texts = read_texts(store)
    holds = texts.str.casefold().str.contains(text.strip().casefold(), regex=False)
    return [int(each) for each in texts.index[holds.to_numpy()][:most]]
