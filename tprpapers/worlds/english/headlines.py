"""The one summary of a story, and whether a sentence is true of it.

The summary is one sentence about the first event of the story:

1. Its subject is the topic: the participant who did or suffered another event of the document. If
   there is none, it is the one who acts, or else the one to whom it is done. The verb is passive if
   the topic does not act.
2. The first event that the topic did or suffered before becomes a relative clause. The first later
   one becomes a second verb phrase, but not after a statement, where it would seem to be part of it.
3. The summary has everything that the document says about these events: who, to whom, at what
   price, where, when.
4. Persons have their full names, organizations and places their latest ones. The kind follows the
   name if names of several types are possible. Without a name, it is `a` and the kind, or a number.
5. A recipient comes before the gift if it is a person, else after it with `to`.
6. A pronoun refers to the topic in lower clauses.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tprpapers.worlds.english.atoms import ANY
from tprpapers.worlds.english.building import plain
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.parsing import fragment
from tprpapers.worlds.english.phrases import (
    PERSON,
    full_name,
    indefinite,
    is_single,
    pair,
    pronoun,
    with_kind,
)
from tprpapers.worlds.english.story import SIMPLE, Actors, Event, Referent, Story
from tprpapers.worlds.english.verbgroups import PLAINLY
from tprpapers.worlds.english.wording import clause, related, sentence


@dataclass(frozen=True, slots=True)
class Gist:
    """The content of a summary: the main event, its topic and role, and the topic's other deeds."""

    main: Event
    topic: int
    gap: str
    earlier: Event | None
    later: Event | None


def gist(story: Story) -> Gist:
    """The content of a story's summary."""
    main = story.events[0]
    roles = possible_topics(main)
    deeds = list(_deeds(story))
    participants = (
        (who, role) for event in deeds for who, role in roles if event.role_of(who) in ("s", "o")
    )
    topic, gap = next(participants, roles[0])
    topic_events = [event for event in deeds if event.role_of(topic) in ("s", "o")]
    earlier = next((event for event in topic_events if event.tense == "earlier"), None)
    after = main.verb.frame != "clausal"  # it would seem to be a part of what is said
    later = next((event for event in topic_events if after and event.tense != "earlier"), None)
    return Gist(main, topic, gap.upper(), earlier, later)


def possible_topics(main: Event) -> list[tuple[int, str]]:
    """The referents that could be the subject of an event, each with its role: not recipients with
    `to`.
    """
    roles = "sor" if main.verb.frame == "ditransitive" else "so"
    return [(actors[0], role) for role in roles if len(actors := getattr(main, role)) == 1]


def _deeds(story: Story) -> Iterator[Event]:
    for event in story.events[1:]:
        real = event.tense in ("past", "earlier", "future") and not event.negative
        if real and event.verb.frame in SIMPLE:
            yield event


@dataclass
class _Summarizer:
    """Refers to everybody as the policy demands."""

    referents: tuple[Referent, ...]
    topic: int
    has_subject: bool = False  # whether the subject is already there

    def refer(self, actors: Actors, case: str, types: int, below: bool) -> Node:
        if actors == (self.topic,) and below and self.has_subject:
            return plain(pronoun(self.referents[self.topic], case))
        if len(actors) == 2:
            return pair(*(self.simple(who, types) for who in actors))
        referent = self.referents[actors[0]]
        if not referent.name or referent.type & PERSON or is_single(types):
            return plain(self.simple(actors[0], types))
        return with_kind(replace(referent, traits=frozenset()))

    def simple(self, who: int, types: int) -> Node:
        del types
        referent = self.referents[who]
        return (
            full_name(referent)
            if referent.name
            else indefinite(replace(referent, traits=frozenset()))
        )

    def place(self, who: int) -> Node:
        return fragment("place", ("in", *self.referents[who].name))

    def dative(self, event: Event) -> bool:
        return not any(self.referents[who].type & PERSON for who in event.r)


def summarize(story: Story) -> Node:
    """The summary of a story."""
    content = gist(story)
    teller = _Summarizer(story.referents, content.topic)
    types = content.main.slot(content.gap.lower())
    if content.earlier:
        gap = content.earlier.role_of(content.topic)
        earlier = replace(content.earlier, tense="past")
        is_named = bool(story.referents[content.topic].name)
        subject = related(
            teller.simple(content.topic, types), earlier, gap.upper(), teller, is_named
        )
    else:
        types &= content.later.slot(content.later.role_of(content.topic)) if content.later else ANY
        subject = teller.refer((content.topic,), "nominative", types, False)
    teller.has_subject = True
    continuation = (
        (content.later, content.later.role_of(content.topic).upper()) if content.later else None
    )
    return sentence(clause(content.main, content.gap, teller, PLAINLY, subject, continuation))
