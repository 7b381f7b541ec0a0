"""References of a document to somebody: introduced in a style, then by name, kind or pronoun."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tprpapers.worlds.english.building import plain
from tprpapers.worlds.english.cast import Cast
from tprpapers.worlds.english.chance import Chance
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.lexicon import lexicon
from tprpapers.worlds.english.meaning import mentions
from tprpapers.worlds.english.parsing import fragment
from tprpapers.worlds.english.phrases import (
    PERSON,
    POSSESSIVES,
    definite,
    demonstrative,
    full_name,
    indefinite,
    is_single,
    owned,
    pair,
    pronoun,
    short_name,
    titled,
    with_kind,
    with_name,
)
from tprpapers.worlds.english.resolution import antecedent
from tprpapers.worlds.english.story import Actors, Event, Referent

MINOR = {"name": 0.4, "both": 0.3, "title": 0.3}  # styles of those who are not taking part


@dataclass
class Referrer:
    """Refers so that a reader knows who is meant.

    A style is `kind` (a lawyer), `name`, `both` (Ford, a carmaker,) or `title` (Mayor Kim); `known`
    holds what readers know already: `kind`, `name` (all of it) and `surname`.
    """

    chance: Chance
    cast: Cast
    pronouns: float  # how often a pronoun is used where it can be
    styles: dict[int, str] = field(default_factory=dict)
    knowledge: dict[int, frozenset[str]] = field(default_factory=dict)
    subjects: tuple[Actors, ...] = ()
    subject: Actors = ()  # of the sentence that is being told
    apposed: frozenset[int] = frozenset()  # who is to be named at the next occasion
    renamed: frozenset[int] = frozenset()  # whose former name is out of use

    def refer(self, actors: Actors, case: str, types: int, below: bool) -> Node:
        if case == "nominative" and not below:
            self.subject = actors
        if len(actors) == 2:
            return pair(*(self.simple(who, types) for who in actors))
        who = actors[0]
        if case == "oblique":
            return self._with_more(who, types) or plain(self.simple(who, types))
        is_subject = below and actors == self.subject  # repeating its name would mean somebody else
        if self._can_be_pronoun(who, case, below) and (
            is_subject or self.chance.happens(self.pronouns)
        ):
            return plain(pronoun(self.now(who), case))
        return self._with_more(who, types) or plain(self.simple(who, types))

    def now(self, who: int) -> Referent:
        """Somebody by the name that is in use at this point."""
        referent = self.cast.referents[who]
        former = referent.former if who not in self.renamed else ()
        return replace(referent, name=former) if former else referent

    def simple(self, who: int, types: int) -> Node:
        referent = self.now(who)
        if referent.owner is not None:
            self.learn(who, "kind")
            return owned(referent, self._owner(referent.owner))
        if who not in self.knowledge:
            return self._introduced(who, referent, types)
        options: list[Callable[[Referent], Node]] = []
        if "surname" in self.knowledge[who] and is_single(types):
            options.append(short_name)
        if "kind" in self.knowledge[who]:
            options += [definite, demonstrative if self.chance.happens(0.3) else definite]
        return self.chance.pick(options or [full_name])(referent)

    def place(self, who: int) -> Node:
        self.learn(who, "name", "surname")
        return fragment("place", ("in", *self.now(who).name))

    def dative(self, event: Event) -> bool:
        del event
        return self.chance.happens(0.5)

    def end(self) -> None:
        """Ends a sentence: its subject is now the latest."""
        self.subjects, self.subject = (*self.subjects, self.subject), ()

    @property
    def state(self) -> tuple[dict[int, frozenset[str]], tuple[Actors, ...]]:
        """The state that telling a sentence changes, kept to return to if the sentence is dropped."""
        return dict(self.knowledge), self.subjects

    @state.setter
    def state(self, before: tuple[dict[int, frozenset[str]], tuple[Actors, ...]]) -> None:
        self.knowledge, self.subjects = dict(before[0]), before[1]
        self.subject = ()

    def style(self, who: int) -> str:
        """The style in which somebody is introduced: participants as planned, others by chance."""
        referent = self.now(who)
        if not referent.name:
            return "kind"
        if who not in self.styles:
            style = self.chance.weighted(MINOR)
            is_named = style != "title" or referent.noun in lexicon().titles.values()
            self.styles[who] = style if is_named else "name"
        return self.styles[who]

    def _owner(self, who: int) -> tuple[str, ...]:
        """The words for an owner who is known already: a pronoun, a name or a kind."""
        referent = self.now(who)
        if self._can_be_pronoun(who, "nominative", True) and self.chance.happens(self.pronouns):
            return (POSSESSIVES.get(referent.gender, "its"),)
        if "surname" in self.knowledge[who]:
            return referent.name[-1], "'s"
        return "the", referent.noun, "'s"

    def _can_be_pronoun(self, who: int, case: str, below: bool) -> bool:
        if who not in self.knowledge:
            return False
        mention = mentions(pronoun(self.now(who), case))[0]
        earlier_subjects = (
            (*self.subjects, self.subject) if below and self.subject else self.subjects
        )
        return antecedent(mention, earlier_subjects, self._as_known) == who

    def _as_known(self, who: int) -> Referent:
        """Somebody as a reader knows them: the gender of a person comes with the first name."""
        referent = self.now(who)
        return referent if "name" in self.knowledge.get(who, ()) else replace(referent, gender="")

    def _with_more(self, who: int, types: int) -> Node | None:
        """A name with the kind or a kind with the name, where readers lack the other."""
        referent = self.now(who)
        knowledge, style = self.knowledge.get(who, frozenset()), self.style(who)
        if who in self.apposed and knowledge == {"kind"}:
            self.learn(who, "kind", "name", "surname")
            return with_name(referent)
        bare = style == "name" and not referent.type & PERSON and not is_single(types)
        if (style == "both" and not knowledge) or (bare and "kind" not in knowledge):
            self.learn(who, "kind", "name", "surname")
            return with_kind(referent)
        return None

    def _introduced(self, who: int, referent: Referent, types: int) -> Node:
        style = self.style(who)
        if style == "title":
            self.learn(who, "kind", "surname")
            title = next(t for t, kind in lexicon().titles.items() if kind == referent.noun)
            return titled(referent, title)
        if style == "kind" or not (referent.type & PERSON or is_single(types)):
            self.learn(who, "kind")
            return indefinite(referent)
        self.learn(who, "name", "surname")
        return full_name(referent)

    def learn(self, who: int, *facts: str) -> None:
        """Notes what readers know of somebody from now on."""
        self.knowledge[who] = self.knowledge.get(who, frozenset()) | set(facts)
