"""Minimal pairs: every frame fills, is labelled, exchanges two words and says the other answer."""

import re

import pytest

from tprprobe.data import load_data
from tprprobe.data.frames.grammar import list_frames
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError

EXPECTED = {  # of a text of a frame: its words with their labels of a task
    "active": ("role", {"agent", "patient", "action"}),
    "passive": ("role", {"agent", "patient", "action"}),
    "dative": ("role", {"agent", "recipient", "theme", "action"}),
    "agreement": ("number", {"singular", "plural"}),
    "capital": ("role", {"first-capital", "first-country", "second-capital"}),
}
CUSTOM = """
says = "own"
slots = { a = "beast", b = "beast" }
[labels.role]
a = "first"
b = "second"
[words.beast]
words = "dog, cat, cow"
[[patterns]]
text = "A {a} sees a {b}. The"
answer = "{a}"
other = "{b}"
"""


def labels_of(example, task):
    words = example.sentence.words
    return {target.label: words[target.span1[0]] for target in example.sentence.targets[task]}


@pytest.mark.parametrize("frame", list_frames())
def test_the_texts_of_an_item_differ_in_two_words_and_in_their_answer(frame):
    data = list(load_data(f"pairs:{frame},asked", n=80))
    assert len({example.source for example in data}) == len(data)
    for text, variant in zip(data[::2], data[1::2], strict=True):
        assert text.document_name == variant.document_name
        assert sorted(text.sentence.words) == sorted(variant.sentence.words) or frame == "capital"
        assert (
            sum(a != b for a, b in zip(text.sentence.words, variant.sentence.words, strict=True))
            == 2
        )
        assert text.target != variant.target
        assert "{" not in text.source + text.target
    assert len({example.document_name for example in data}) == 40


@pytest.mark.parametrize("frame", EXPECTED)
def test_words_bear_the_roles_of_their_places(frame):
    task, labels = EXPECTED[frame]
    for text, variant in (lambda d: zip(d[::2], d[1::2], strict=True))(
        list(load_data(f"pairs:{frame}", n=40))
    ):
        assert {*labels_of(text, task)} == labels
        if frame in ("active", "passive"):
            roles = labels_of(text, task), labels_of(variant, task)
            assert [roles[0][r] for r in ("agent", "patient")] == [
                roles[1][r] for r in ("patient", "agent")
            ]
        if frame == "agreement":  # the number goes with the word, the role with the place
            assert (text.target == "is") == (
                labels_of(text, "number")["singular"] == labels_of(text, "role")["subject"]
            )
            assert (variant.target == "is") == (
                labels_of(variant, "number")["singular"] == labels_of(variant, "role")["subject"]
            )


def test_items_are_drawn_by_the_seed_and_a_shorter_set_is_the_beginning():
    items, repeated = (list(load_data("pairs:all", n=64, seed=3)) for _ in range(2))
    assert items == repeated
    assert items[:20] == list(load_data("pairs:all", n=20, seed=3))
    assert items != list(load_data("pairs:all", n=64, seed=4))
    assert load_data("pairs:all", n=64, seed=3)[9] == items[9]


class Letters(Codec):
    """A vocabulary that knows words of up to ``longest`` letters, and spells others."""

    def __init__(self, longest):
        self.longest = longest

    encode = spell = files = None  # pyright: ignore

    def offsets(self, text):
        return [(m.start(), m.end()) for m in re.finditer(rf"\b\w{{1,{self.longest}}}\b|\w", text)]


def test_words_of_one_token(capsys):
    data = load_data("pairs:active,one_token", n=20)
    suited = data.suited_to(Letters(5))
    assert len(suited) == 20
    assert "pairs:active,one_token: 10 items; left out" in capsys.readouterr().err
    for item in suited.items:
        assert all(len(word.word) <= 5 for word in item.text.exchanged)
    plain = load_data("pairs:active", n=20)
    assert plain.suited_to(Letters(5)) is plain
    with pytest.raises(InputError, match="no item has two words"):
        load_data("pairs:capital,one_token", n=2).suited_to(Letters(1))


def test_a_frame_of_your_own(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(CUSTOM)
    data = load_data(f"pairs:{path}")
    assert len(data) == 6  # three pairs of beasts
    assert {example.module for example in data} == {"own"}
    assert all(e.target == labels_of(e, "role")["first"] for e in data)
    with pytest.raises(InputError, match=r"n = 7 of .*, which has 6"):
        load_data(f"pairs:{path}", n=7)


def test_words_that_stand_several_times_change_places_wherever_they_stand(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(CUSTOM.replace("a {b}. The", "a {b}. The {a} runs. {b}"))
    text, variant = load_data(f"pairs:{path}", n=2)
    for example, rival in ((text, variant), (variant, text)):
        a, b = example.target, rival.target
        assert example.source == f"A {a} sees a {b}. The {a} runs. {b}"
        labels = [target.label for target in example.sentence.targets["role"]]
        assert labels == ["first", "second"] * 2


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('b = "beast"', 'b = "best"', "unknown list of words of frame own 'best'"),
        ("a {b}. The", "a {c}. The", "unknown slot of frame own 'c'"),
        ("a {b}. The", "a {b.plural}. The", "unknown form of beast in frame own 'plural'"),
        ("a {b}. The", "a dog", "has no slot {b}"),
        ("says", "said", "unknown key"),
        ("dog, cat, cow", "dog, cat cow", "own.toml: words.beast: 'cat cow'"),
    ],
)
def test_what_is_said_of_a_wrong_frame(tmp_path, before, after, message):
    path = tmp_path / "own.toml"
    path.write_text(CUSTOM.replace(before, after, 1))
    with pytest.raises(InputError) as error:
        load_data(f"pairs:{path}")
    assert message in str(error.value)
