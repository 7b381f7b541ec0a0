"""Groups of samples: documents and identical sequences, joined directly or by way of others."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tprprobe.store.groups import group_tokens


def tokens(*samples: tuple[str, str], **columns: list[str]) -> pd.DataFrame:
    """A row a token of samples (document, symbols)."""
    rows = [
        {"sample": number, "token": symbol, "document": document}
        | {name: values[number] for name, values in columns.items()}
        for number, (document, symbols) in enumerate(samples)
        for symbol in symbols
    ]
    return pd.DataFrame(rows, columns=["sample", "token", "document", *columns])


def groups(table: pd.DataFrame) -> list[int]:
    """The group of every sample."""
    whole = pd.Series(group_tokens(table)).groupby(table["sample"])
    assert (whole.nunique() == 1).all()
    return whole.first().tolist()


def test_documents_with_one_sequence_in_common_are_one_group():
    assert groups(tokens(("p", "ab"), ("p", "c"), ("q", "ab"), ("r", "d"))) == [0, 0, 0, 1]
    # by way of another document, and only where the whole sequence is the same
    assert groups(tokens(("p", "ab"), ("q", "ab"), ("q", "c"), ("r", "c"), ("s", "a"))) == [
        0, 0, 0, 0, 1,
    ]  # fmt: skip


def test_an_empty_name_joins_nothing_and_a_missing_column_is_no_fault():
    table = tokens(("", "a"), ("", "b"), ("", "a"), question=["", "", ""])
    assert groups(table) == groups(table[["sample", "token"]]) == [0, 1, 0]
    categories = table.astype({"document": "category", "question": "category"})
    assert groups(categories) == [0, 1, 0]


def test_the_same_question_is_one_group_and_symbols_may_be_of_another_column():
    table = tokens(("", "a"), ("", "b"), ("", "b"), question=["Thanks", "y", "thanks"])
    assert groups(table) == [0, 1, 0]
    lemmas = table.assign(lemma=["l", "l", "m"]).drop(columns="question")
    assert group_tokens(lemmas, "lemma").tolist() == [0, 0, 1]
    assert group_tokens(table.iloc[:0]).tolist() == []


@given(st.lists(st.tuples(st.sampled_from(["", *"pqrstu"]), st.text("ab", min_size=1, max_size=3))))
def test_groups_are_the_components_of_samples_that_share_something(samples: list[tuple[str, str]]):
    found, n = groups(tokens(*samples)), len(samples)
    shared = np.eye(n, dtype=bool)
    for i, (document, text) in enumerate(samples):
        for j, (other, another) in enumerate(samples):
            shared[i, j] |= text == another or document == other != ""
    for _ in samples:
        shared = shared | ((shared.astype(int) @ shared.astype(int)) > 0)
    assert np.array_equal(np.equal.outer(found, found), shared)
    assert found == pd.factorize(np.array(found))[0].tolist()
