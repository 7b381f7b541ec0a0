"""Splits: documents are divided, never their samples, and what is tested is fitted on nowhere."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import (
    DEV,
    LEFT_OUT,
    TEST,
    TRAIN,
    clear_parts,
    count_documents,
    divide_documents,
    leave_out,
    read_provenance,
    rotate_documents,
)


def tokens(*samples: tuple[str, str], **columns: list[str]) -> pd.DataFrame:
    """A row a token of samples (document, symbols)."""
    rows = [
        {"sample": number, "token": symbol, "document": document}
        | {name: values[number] for name, values in columns.items()}
        for number, (document, symbols) in enumerate(samples)
        for symbol in symbols
    ]
    return pd.DataFrame(rows, columns=["sample", "token", "document", *columns])


def documents(table: pd.DataFrame) -> list[int]:
    """The document of every sample."""
    names = pd.Series(read_provenance(table).documents).groupby(table["sample"])
    assert (names.nunique() == 1).all()
    return names.first().tolist()


def test_documents_that_share_a_sentence_stay_two_documents():
    assert documents(tokens(("p", "ab"), ("p", "c"), ("q", "ab"), ("r", "d"))) == [0, 0, 1, 2]


def test_a_sample_without_a_document_is_one_with_those_of_its_sequence():
    table = tokens(("", "a"), ("", "b"), ("", "a"), ("a", "a"), question=["", "", "", ""])
    assert documents(table) == [0, 1, 0, 2]
    assert documents(table[["sample", "token"]]) == [0, 1, 0, 0]
    categories = table.astype({"document": "category", "question": "category"})
    assert documents(categories) == [0, 1, 0, 2]
    assert read_provenance(table.iloc[:0]).documents.tolist() == []


COPIES = [("Thanks", "thanks"), ("caf\u00e9", "cafe\u0301"), ("10\u00a0km", "10 km"), ("a b", " a  b\n")]  # fmt: skip


@pytest.mark.parametrize(("text", "copy"), COPIES)
def test_copies_are_recognized_in_any_case_normal_form_and_blank(text: str, copy: str):
    table = tokens(("p", "a"), ("q", "b"), ("q", "c"), question=[text, copy, text + "!"])
    original, copy_id, third = read_provenance(table).sequences[:, 0]
    assert original == copy_id != third


def test_symbols_of_another_column_count_beside_the_text():
    table = tokens(("p", "a"), ("q", "b"), question=["x", "y"], lemma=["l", "l"])
    text, lemma = read_provenance(table, "lemma").sequences.T
    assert text[0] != text[1]
    assert lemma[0] == lemma[1]
    blanks = tokens(("p", "1 2"), ("q", "12"))  # a blank is a symbol
    assert len(np.unique(read_provenance(blanks).sequences)) == 2


def drawn(samples: list[tuple[str, str]]) -> tuple[pd.DataFrame, list[str]]:
    """A row a sample, of ten documents at least, and the texts."""
    samples[:10] = [(name, text) for name, (_, text) in zip("pqrstuvwxy", samples, strict=False)]
    table = pd.DataFrame(samples, columns=["document", "token"])
    return table.assign(sample=range(len(table))), [text.lower() for _, text in samples]


SAMPLES = st.lists(
    st.tuples(st.sampled_from("pqrstuvwxyz"), st.text("abAB", min_size=1, max_size=2)), min_size=12
)


@given(SAMPLES, st.integers(0, 99))
def test_no_part_is_fitted_on_a_sequence_of_the_test_part(
    samples: list[tuple[str, str]], seed: int
):
    table, texts = drawn(samples)
    origin = read_provenance(table)
    tested_once = np.zeros(len(samples), int)
    for assignment in rotate_documents(origin.documents, origin.sequences, seed):
        by_part = {
            n: {t for t, p in zip(texts, assignment, strict=True) if p == n} for n in {*assignment}
        }
        test, dev, train = (by_part.get(name, set()) for name in (TEST, DEV, TRAIN))
        assert not test & dev
        assert not test & train
        assert not dev & train
        tested = {d for (d, _), p in zip(samples, assignment, strict=True) if p == TEST}
        assert all(
            (d in tested) == (p == TEST) for (d, _), p in zip(samples, assignment, strict=True)
        )
        left_out = [t for t, p in zip(texts, assignment, strict=True) if p == LEFT_OUT]
        assert all(text in test | dev for text in left_out)  # nothing else is lost
        tested_once += assignment == TEST
    assert (tested_once == 1).all()


@given(SAMPLES, st.integers(0, 99))
def test_what_is_fitted_on_keeps_every_sample_that_is_no_copy(
    samples: list[tuple[str, str]], seed: int
):
    table, texts = drawn(samples)
    origin = read_provenance(table)
    test, dev = divide_documents(origin.documents, np.random.default_rng(seed))
    is_fitted = leave_out(~test & ~dev, test | dev, origin.sequences)
    held_out_texts = {text for text, is_out in zip(texts, test | dev, strict=True) if is_out}
    expected = [
        text not in held_out_texts and not out for text, out in zip(texts, test | dev, strict=True)
    ]
    assert is_fitted.tolist() == expected


def test_stored_parts_lose_their_copies_and_few_documents_are_refused():
    assignment = np.array([TRAIN, TRAIN, DEV, DEV, TEST, TRAIN], object)
    sequences = np.array([[1, 2, 2, 3, 3, 3]], np.uint64).T
    expected = [TRAIN, LEFT_OUT, DEV, LEFT_OUT, TEST, LEFT_OUT]
    assert clear_parts(assignment, sequences).tolist() == expected
    with pytest.raises(InputError, match=r"2 different documents: read 10 or more"):
        count_documents(np.array([0, 1, 1]), 10, "the store")


def test_the_documents_of_ewt_stay_documents_though_they_share_sentences(shared):
    data = load_data(str(shared / "data" / "ewt" / "conllu" / "en_ewt-ud-dev.conllu.gz"))
    examples = list(data)
    columns = ("document", "token", "question")
    rows = [(example.document_name, example.source, example.source) for example in examples]
    table = pd.DataFrame(rows, columns=list(columns)).assign(sample=range(len(rows)))
    origin = read_provenance(table)
    assert len(np.unique(origin.documents)) == table["document"].nunique() == 318
    largest = np.bincount(origin.documents).max()  # one component had 17 % of the sentences
    assert largest == table["document"].value_counts().max() < 0.05 * len(table)
    counts = table["question"].str.casefold().value_counts()
    assert (counts > 1).any()
    for assignment in rotate_documents(origin.documents, origin.sequences, 0):
        assert 0.1 < np.mean(assignment == TEST) < 0.3
