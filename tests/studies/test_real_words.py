"""Words and sentences of the study on real models: aligned letters, syllables, exchanges, local changes."""

import gzip

import numpy as np
import pytest

from studies.real.clauses import NONE, read_clauses
from studies.real.spelling_roles import BY_FORM, _exchange, permute
from studies.real.words import TREEBANK, Words, place_in_syllables, read_forms
from tprprobe.errors import InputError

PRONUNCIATIONS = {"cat": "K AE1 T", "bat": "B AE1 T", "cab": "K AE1 B", "tab": "T AE1 B"}
PRONUNCIATIONS |= {"act": "AE1 K T", "cats": "K AE1 T S", "bath": "B AE1 TH"}
PRONUNCIATIONS |= {"thab": "TH AE1 B", "taba": "T AE1 B AH0"}


@pytest.fixture
def words() -> Words:
    """A few words in which letters sound alike."""
    lemmas = [form.removesuffix("s") for form in PRONUNCIATIONS]
    return Words(list(PRONUNCIATIONS), lemmas, list(PRONUNCIATIONS.values()))


def test_letters_are_aligned_with_their_phonemes(words):
    by_word = dict(zip(words.forms, words.aligned, strict=True))
    assert by_word["cat"] == ["K", "AE1", "T"]
    assert sorted(by_word["bath"]) == ["", "AE1", "B", "TH"]
    for letters, sounds in zip(words.aligned, words.sounds, strict=True):
        assert " ".join(filter(None, letters)) == sounds


def test_consonants_belong_to_the_syllable_that_can_begin_with_them():
    onsets = {(), ("T",), ("T", "R"), ("S", "T", "R")}
    places = place_in_syllables(["EH1", "K", "S", "T", "R", "AH0"], onsets)
    assert places == ["0.nucleus", "0.coda", "1.onset", "1.onset", "1.onset", "1.nucleus"]
    assert place_in_syllables(["", "N", "AY1", "", "T"], {(), ("N",)}) == [
        "0.onset", "0.onset", "0.nucleus", "0.nucleus", "0.coda",
    ]  # fmt: skip
    assert place_in_syllables(["S", "T"], onsets) == ["0.coda", "0.coda"]


def test_forms_have_their_commonest_lemma(tmp_path):
    path = tmp_path / TREEBANK.format(split="train")
    path.parent.mkdir()
    words = ("Saw see V", "saw saw N", "saw see V", "I i P", "x-ray x-ray N")
    lines = [f"{i} {word} _ _ 0 root _ _" for i, word in enumerate(words, 1)]
    rows = "\n".join(lines).replace(" ", "\t")
    path.write_bytes(gzip.compress(f"{rows}\n\n".encode()))
    assert read_forms(tmp_path) == (["saw"], ["see"])
    with pytest.raises(InputError, match="--treebank"):
        read_forms(tmp_path, "dev")


def test_permuted_syllables_are_those_of_words_as_long(words):
    roles, rng = words.syllables, np.random.default_rng(0)
    changed = permute(words, "syllable", roles, rng)
    assert [len(syllables) for syllables in changed] == words.lengths.tolist()
    assert sorted(map(tuple, changed)) == sorted(map(tuple, roles))
    inside = permute(words, "left", [BY_FORM["left"](f) for f in words.forms], rng)
    assert all(
        sorted(syllables) == BY_FORM["left"](f)
        for syllables, f in zip(inside, words.forms, strict=True)
    )


def test_an_exchanged_letter_is_of_its_kind():
    rng = np.random.default_rng(0)
    for place in range(3):
        changed = _exchange("cat", place, rng)
        assert sum(a != b for a, b in zip("cat", changed, strict=True)) == 1
        assert (changed[place] in "aeiouy") == (place == 1)


def test_sentences_stand_beside_their_exchange_and_have_paraphrases(tmp_path):
    clauses = read_clauses("clauses", 0, tmp_path)
    content, swapped = clauses.content, [clauses.content[i] for i in clauses.exchange]
    for roles, others in zip(content, swapped, strict=True):
        assert roles["agent"] == others["patient"]
        assert roles["patient"] == others["agent"]
    kinds = sorted(set(clauses.clauses))
    assert len(clauses) == len(kinds) * 2 * (clauses.sets.max() + 1)
    for (words_of, clause, agent), i in clauses.place_of.items():
        sentence = (clauses.sets[i], clauses.clauses[i], content[i]["agent"])
        assert sentence == (words_of, clause, agent)
        assert all((words_of, kind, agent) in clauses.place_of for kind in kinds)
    assert {role for row in clauses.roles() for role in row} >= {"agent", "patient", NONE}
