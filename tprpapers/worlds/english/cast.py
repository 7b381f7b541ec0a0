"""The cast of a report: names and kinds drawn so that nobody is taken for another."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from tprpapers.worlds.english.atoms import mask
from tprpapers.worlds.english.chance import Chance
from tprpapers.worlds.english.lexicon import forms, lexicon
from tprpapers.worlds.english.story import Referent

TYPES = ("person", "org", "gpe", "building", "work", "asset", "honor", "people", "goods")
NAMED_TYPES = ("person", "org", "gpe")
GROUPS = {"person": "last", "org": "company"}
PLURALS, TRAITS = 0.12, 0.3  # how often there are several things, and one is said to be new
BASES = 0.4  # how often it is known where somebody works, and said if the kind is


@cache
def types_in(types: int) -> tuple[str, ...]:
    """The types of a mask."""
    return tuple(kind for kind in TYPES if types & mask(kind))


@cache
def name_pool(group: str, size: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first names of a list: those that could also name something else, and the others."""
    entries = [e for e in lexicon().classes[group] if e.form in lexicon().names[group][:size]]
    ambiguous = [e.form for e in entries if e.features.get("rivals")]
    return tuple(ambiguous), tuple(e.form for e in entries if not e.features.get("rivals"))


@dataclass
class Cast:
    """The referents of one report.

    ``careful`` (since version 2) tells no original original, no king by whom that place's king was escorted,
    and not "on Monday, it has been sold"; all draws are the same.
    """

    chance: Chance
    names: int  # how many of each list are in use
    ambiguity: float  # how often a name is one that could name something else
    careful: bool
    referents: list[Referent] = field(default_factory=list)
    exhausted: bool = False  # whether somebody could be taken for another
    used_words: set[tuple[str, str]] = field(default_factory=set)

    def add(self, kind: str) -> int:
        """The number of someone or something new of a type."""
        group = self.chance.pick(("country", "city")) if kind == "gpe" else kind
        noun = self._unused("noun", lexicon().kinds[group])
        referent = Referent(mask(kind), noun, count="" if kind == "people" else "a")
        if kind in NAMED_TYPES:
            referent = self._with_name(kind, GROUPS.get(kind, group), noun)
        elif kind != "people" and self.chance.happens(PLURALS):
            referent = replace(referent, count=self.chance.pick(forms("number")))
        if referent.count == "a" and kind in lexicon().adjectives and self.chance.happens(TRAITS):
            trait = self._pick_but(lexicon().adjectives[kind], noun)
            referent = replace(referent, traits=referent.traits | {trait})
        return self.append(referent)

    def append(self, referent: Referent) -> int:
        self.referents.append(referent)
        return len(self.referents) - 1

    def reserve(self, noun: str) -> None:
        """Keep a noun from being the kind of anybody."""
        self.used_words.add(("noun", noun))

    def add_site(self) -> int:
        """Somewhere where things happen: a place, seldom a continent."""
        if self.chance.happens(0.1):
            name = self._unused("name", lexicon().names["continent"])
            return self.append(Referent(mask("loc"), name=(name,)))
        name = self._name(self.chance.pick(("country", "city", "city")))
        return self.append(Referent(mask("gpe"), name=(name,)))

    def rename(self, who: int) -> None:
        """Give somebody a former name, too."""
        group = GROUPS[types_in(self.referents[who].type)[0]]
        self.referents[who] = replace(self.referents[who], former=(self._name(group),))

    def add_goods(self, nouns: tuple[str, ...]) -> int:
        """Some of the goods at large."""
        return self.append(Referent(mask("goods"), self._unused("noun", nouns), count=""))

    def add_relation(self, owner: int, neighbors: Sequence[int] = ()) -> int:
        """Somebody who belongs to somebody: a brother, a chairman; not what somebody beside is."""
        kind = types_in(self.referents[owner].type)[0]
        nouns = (
            self.referents[who].noun for who in neighbors if self.referents[who].owner == owner
        )
        noun = self._pick_but(lexicon().relations[kind], next(nouns, ""))
        return self.append(Referent(mask("person"), noun, owner=owner))

    def _pick_but(self, words: Sequence[str], excluded: str) -> str:
        """A word of a list; instead of the other one the next."""
        word = self.chance.pick(words)
        return (
            words[(words.index(word) + 1) % len(words)]
            if self.careful and word == excluded
            else word
        )

    def _name(self, group: str) -> str:
        """A name of a list, unused in this report."""
        ambiguous, unambiguous = name_pool(group, self.names)
        preferred = ambiguous if self.chance.happens(self.ambiguity) else unambiguous
        return self._unused("name", preferred or ambiguous or unambiguous)

    def _with_name(self, kind: str, group: str, noun: str) -> Referent:
        name = self._name(group)
        if kind != "person":
            seat = self._base("in", "city") if kind == "org" else frozenset()
            return Referent(mask(kind), noun, (name,), "neuter", traits=seat)
        gender = self.chance.pick(("female", "male"))
        first_name = self._unused("name", lexicon().names[gender][: self.names])
        office = noun in lexicon().titles.values()
        base = frozenset() if office else self._base("at", "company")
        return Referent(mask(kind), noun, (first_name, name), gender, traits=base)

    def _base(self, preposition: str, group: str) -> frozenset[str]:
        """The place where somebody works or sits, if anything is said of it."""
        if not self.chance.happens(BASES):
            return frozenset()
        return frozenset([f"{preposition} {self._name(group)}"])

    def _unused(self, kind: str, words: tuple[str, ...]) -> str:
        for _ in range(20):  # hardly ever is so much of a list in use
            word = self.chance.pick(words)
            if (kind, word) not in self.used_words:
                self.used_words.add((kind, word))
                return word
        self.exhausted = True
        return words[0]
