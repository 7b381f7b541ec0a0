"""Who can appear in a report: names and kinds drawn so that nobody is taken for another."""

from dataclasses import dataclass, field
from functools import cache

from tprprobe.data.english.chance import Chance
from tprprobe.data.english.features import mask
from tprprobe.data.english.lexicon import forms, lexicon
from tprprobe.data.english.story import Referent

TYPES = ("person", "org", "gpe", "building", "work", "asset", "goods")
NAMED = ("person", "org", "gpe")
GROUPS = {"person": "last", "org": "company", "gpe": "country"}
PLURALS, TRAITS = 0.12, 0.15  # how often there are several things, and something is said of one


@cache
def types_in(types: int) -> tuple[str, ...]:
    """The types of a mask."""
    return tuple(kind for kind in TYPES if types & mask(kind))


@cache
def name_pool(group: str, size: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first names of a list: those that could also name something else, and the others."""
    entries = [e for e in lexicon().classes[group] if e.form in lexicon().names[group][:size]]
    both = [e.form for e in entries if e.features.get("rivals")]
    return tuple(both), tuple(e.form for e in entries if not e.features.get("rivals"))


@dataclass
class Cast:
    """The referents of one report."""

    chance: Chance
    names: int  # how many of each list are in use
    ambiguity: float  # how often a name is one that could name something else
    referents: list[Referent] = field(default_factory=list)
    taken: set[tuple[str, str]] = field(default_factory=set)

    def add(self, kind: str) -> int:
        """The number of someone or something new of a type."""
        noun = self._unused("noun", lexicon().kinds[kind])
        new = Referent(mask(kind), noun, count="" if kind == "goods" else "a")
        if kind in NAMED:
            new = self._with_name(kind, noun)
        elif kind != "goods" and self.chance.happens(PLURALS):
            number = self.chance.pick(forms("number"))
            new = Referent(mask(kind), noun, count=number)
        elif self.chance.happens(TRAITS) and kind in lexicon().adjectives:
            trait = self.chance.pick(lexicon().adjectives[kind])
            new = Referent(mask(kind), noun, traits=frozenset([trait]))
        return self.append(new)

    def append(self, new: Referent) -> int:
        self.referents.append(new)
        return len(self.referents) - 1

    def reserve(self, noun: str) -> None:
        """Keep a noun from being the kind of anybody."""
        self.taken.add(("noun", noun))

    def add_site(self) -> int:
        """Somewhere where things happen: a place, seldom a continent."""
        if self.chance.happens(0.1):
            name = self._unused("loc", lexicon().names["continent"])
            return self.append(Referent(mask("loc"), name=(name,)))
        return self.append(Referent(mask("gpe"), name=(self.new_name("gpe"),)))

    def new_name(self, kind: str) -> str:
        """A name for an organization or a place, or a surname."""
        both, one = name_pool(GROUPS[kind], self.names)
        wanted = both if self.chance.happens(self.ambiguity) else one
        return self._unused(f"{kind} name", wanted or both or one)

    def _with_name(self, kind: str, noun: str) -> Referent:
        name = self.new_name(kind)
        if kind != "person":
            return Referent(mask(kind), noun, (name,), "neuter")
        gender = self.chance.pick(("female", "male"))
        first = self._unused("first", lexicon().names[gender][: self.names])
        return Referent(mask(kind), noun, (first, name), gender)

    def _unused(self, kind: str, words: tuple[str, ...]) -> str:
        word = self.chance.pick([word for word in words if (kind, word) not in self.taken] or words)
        self.taken.add((kind, word))
        return word
