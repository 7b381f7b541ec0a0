"""Phrases as dependency trees: a word with what depends on it, in order; and their labels."""

from dataclasses import dataclass

from tprpapers.worlds.english.sentences import Sentence, Word

VOWELS = tuple("aeiou")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word with its tag, and its dependents to the left and to the right, by relation."""

    form: str
    xpos: str
    left: tuple[tuple[str, "Phrase"], ...] = ()
    right: tuple[tuple[str, "Phrase"], ...] = ()

    def before(self, relation: str, *phrases: "Phrase") -> "Phrase":
        """The phrase with others of a relation in front of it."""
        added = tuple((relation, each) for each in phrases)
        return Phrase(self.form, self.xpos, added + self.left, self.right)

    def behind(self, relation: str, *phrases: "Phrase") -> "Phrase":
        """The phrase with others of a relation behind it."""
        added = tuple((relation, each) for each in phrases)
        return Phrase(self.form, self.xpos, self.left, self.right + added)


def label(phrase: Phrase) -> Sentence:
    """The words of a phrase with tags, heads and relations; `a` before a vowel is `an`."""
    placed: list[tuple[Phrase, str]] = []
    heads: list[int] = []
    _place(phrase, "root", placed, heads)
    forms = [each.form for each, _ in placed]
    for at, after in enumerate(forms[1:]):
        if forms[at] == "a" and after.startswith(VOWELS):
            forms[at] = "an"
    words = (
        Word(form, each.xpos, head, relation)
        for form, (each, relation), head in zip(forms, placed, heads, strict=True)
    )
    return Sentence(tuple(words), (), ())


def _place(
    phrase: Phrase, relation: str, placed: list[tuple[Phrase, str]], heads: list[int]
) -> int:
    """The number of the phrase's word, from 1, behind the words that are placed; its dependents' head."""
    dependents = [_place(each, name, placed, heads) for name, each in phrase.left]
    placed.append((phrase, relation))
    heads.append(0)
    own = len(placed)
    dependents += [_place(each, name, placed, heads) for name, each in phrase.right]
    for each in dependents:
        heads[each - 1] = own
    return own
