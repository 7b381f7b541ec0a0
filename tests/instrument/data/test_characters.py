import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tprprobe.data.vocabularies.characters import CHARACTERS, SPECIALS, Vocabulary, characters
from tprprobe.errors import InputError

VOCABULARY = characters()
TEXTS = st.lists(st.text(alphabet=CHARACTERS, max_size=40), max_size=8)


@settings(deadline=None)
@given(TEXTS)
def test_encoding_is_the_place_of_each_character_and_decodes_back(texts):
    for text in texts:
        ids = VOCABULARY.encode(text)
        assert ids == [VOCABULARY.symbols.index(char) for char in text]
        assert VOCABULARY.decode(ids) == text


def test_decode_stops_at_the_end_and_drops_start_and_padding():
    v = VOCABULARY
    ids = [v.sos, *v.encode("12"), v.pad, *v.encode("3"), v.eos, *v.encode("45")]
    assert v.decode(ids) == "123"


@pytest.mark.parametrize("char", ["é", "B", "𝟙", "\ud800", "\n"])
def test_unknown_character_is_named(char):
    with pytest.raises(InputError, match="not in the vocabulary") as error:
        VOCABULARY.encode(f"What is 1{char}2?")
    assert repr(char) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_large_vocabulary_gets_a_wider_type():
    symbols = SPECIALS + tuple(chr(0x4E00 + i) for i in range(300))
    values = Vocabulary(symbols).encode_all([symbols[-1]]).values
    assert values.tolist() == [303]
    assert values.dtype == np.int16


@pytest.mark.parametrize("symbols", [("a", *SPECIALS[1:]), (*SPECIALS, "a", "a")])
def test_refuses_missing_and_double_symbols(symbols):
    with pytest.raises(InputError):
        Vocabulary(symbols)


@pytest.mark.parametrize("content", [None, "{", '{"a": 1}', "[1, 2]"])
def test_loading_what_is_no_vocabulary(tmp_path, content):
    if content is not None:
        (tmp_path / "vocabulary.json").write_text(content)
    with pytest.raises(InputError):
        Vocabulary.load(tmp_path)
