"""Phrases as dependency trees: a word with what depends on it, in order; and their labels."""

from dataclasses import dataclass

from tprpapers.worlds.english.sentences import Sentence, Word

VOWELS = tuple("aeiou")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word with its tag, and its dependents to the left and to the right, by relation."""

    form: str
    xpos: str
    left_dependents: tuple[tuple[str, "Phrase"], ...] = ()
    right_dependents: tuple[tuple[str, "Phrase"], ...] = ()

    def before(self, relation: str, *phrases: "Phrase") -> "Phrase":
        """The phrase with others of a relation in front of it."""
        added = tuple((relation, phrase) for phrase in phrases)
        return Phrase(self.form, self.xpos, added + self.left_dependents, self.right_dependents)

    def behind(self, relation: str, *phrases: "Phrase") -> "Phrase":
        """The phrase with others of a relation behind it."""
        added = tuple((relation, phrase) for phrase in phrases)
        return Phrase(self.form, self.xpos, self.left_dependents, self.right_dependents + added)


def label(phrase: Phrase) -> Sentence:
    """The words of a phrase with tags, heads and relations; `a` before a vowel is `an`."""
    placements: list[tuple[Phrase, str]] = []
    heads: list[int] = []
    _place(phrase, "root", placements, heads)
    forms = [node.form for node, _ in placements]
    for position, following in enumerate(forms[1:]):
        if forms[position] == "a" and following.startswith(VOWELS):
            forms[position] = "an"
    words = (
        Word(form, node.xpos, head, relation)
        for form, (node, relation), head in zip(forms, placements, heads, strict=True)
    )
    return Sentence(tuple(words), (), ())


def _place(
    phrase: Phrase, relation: str, placements: list[tuple[Phrase, str]], heads: list[int]
) -> int:
    """The number of the phrase's word, from 1, behind the words that are placed; its dependents' head."""
    dependents = [
        _place(dependent, name, placements, heads) for name, dependent in phrase.left_dependents
    ]
    placements.append((phrase, relation))
    heads.append(0)
    number = len(placements)
    dependents += [
        _place(dependent, name, placements, heads) for name, dependent in phrase.right_dependents
    ]
    for child in dependents:
        heads[child - 1] = number
    return number
