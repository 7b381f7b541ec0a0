"""The story of a report, apart from its words: its referents and its events."""

from dataclasses import dataclass

from tprpapers.worlds.english.atoms import mask
from tprpapers.worlds.english.lexicon import Verb, lexicon

TENSES = {mask(t): t for t in ("past", "earlier", "future", "possible", "present", "base")}
HAPPENINGS = ("happening", "occurrence")  # frames of: an event happens, takes place
SIMPLE = ("intransitive", "transitive", "ditransitive", "donation")  # frames of mere deeds

Actors = tuple[int, ...]  # numbers of referents: one, or two joined by `and`


@dataclass(frozen=True, slots=True)
class Referent:
    """Somebody or something; what is not known of it is empty."""

    type: int
    noun: str = ""
    name: tuple[str, ...] = ()
    gender: str = ""
    count: str = "a"  # or a number; empty for goods at large
    traits: frozenset[str] = frozenset()
    owner: int | None = None
    former: tuple[str, ...] = ()  # an earlier name

    def bears(self, name: tuple[str, ...]) -> bool:
        """True if that is the name, the surname or an earlier name."""
        return bool(name) and name in (self.name, self.name[-1:], self.former)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens, does not happen, or is said, planned or ordered to happen."""

    lexeme: str
    tense: str
    negative: bool = False
    s: Actors = ()
    o: Actors = ()
    r: Actors = ()
    c: "Event | None" = None
    price: tuple[str, ...] = ()
    place: int | None = None
    time: tuple[str, ...] = ()

    @property
    def verb(self) -> Verb:
        return lexicon().verbs[self.lexeme]

    def role_of(self, actor: int) -> str:
        """The role that a referent plays alone: s, o or r, or none."""
        return next((role for role in "sor" if getattr(self, role) == (actor,)), "")

    def slot(self, role: str) -> int:
        """The types that can play a role: what the verb asks for, together with what is done next."""
        types = getattr(self.verb, role)
        controlled = {"control": "s", "causative": "o"}.get(self.verb.frame)
        return types & self.c.verb.s if self.c and role == controlled else types


@dataclass(frozen=True, slots=True)
class Story:
    """The referents and events of a report; the first event is the main one."""

    referents: tuple[Referent, ...]
    events: tuple[Event, ...]
