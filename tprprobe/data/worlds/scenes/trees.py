"""Phrases as dependency trees: a word with what depends on it, in order; and their labels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tprprobe.data.worlds.english.sentences import Sentence, Word


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word with its tag, and its dependents to the left and to the right, by relation."""

    form: str
    xpos: str
    left: tuple[tuple[str, "Phrase"], ...] = ()
    right: tuple[tuple[str, "Phrase"], ...] = ()

    def before(self, relation: str, *phrases: "Phrase") -> "Phrase":
        """The phrase with others of a relation in front of it."""
        return replace(self, left=(*((relation, each) for each in phrases), *self.left))

    def behind(self, relation: str, *phrases: "Phrase") -> "Phrase":
        """The phrase with others of a relation behind it."""
        return replace(self, right=(*self.right, *((relation, each) for each in phrases)))

    def __len__(self) -> int:
        return 1 + sum(len(phrase) for _, phrase in (*self.left, *self.right))


def label(phrase: Phrase) -> Sentence:
    """The words of a phrase with tags, heads and relations; `a` before a vowel is `an`."""
    words = list(_placed(phrase, 0, 0, "root"))
    following = [word.form for word in words[1:]] + [""]
    words = [
        word._replace(form="an") if word.form == "a" and after[:1] in tuple("aeiou") else word
        for word, after in zip(words, following, strict=True)
    ]
    return Sentence(tuple(words), (), ())


def _placed(phrase: Phrase, start: int, head: int, relation: str) -> Iterator[Word]:
    own = start + 1 + sum(len(each) for _, each in phrase.left)  # words count from 1
    for name, each in phrase.left:
        yield from _placed(each, start, own, name)
        start += len(each)
    yield Word(phrase.form, phrase.xpos, head, relation)
    start = own
    for name, each in phrase.right:
        yield from _placed(each, start, own, name)
        start += len(each)
