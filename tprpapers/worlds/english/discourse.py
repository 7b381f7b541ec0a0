"""Reading: the story that sentences tell.

- `a lawyer`, `three hotels` and goods at large are new; `the lawyer` is the latest of that kind.
- A name means who bears it (a surname or a full name) and is of its type; if nobody, someone new.
- `the carmaker, Ford,` gives the carmaker a name; `Ford, a carmaker,` and `Mayor Kim` a kind.
- A deed told twice is one event, of which the later sentence tells more.
- `The sale happened in Paris` tells where what was told as selling happened.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tprpapers.worlds.english.annotation import Analysis, Filler, Predication, analyze
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.lexicon import lexicon
from tprpapers.worlds.english.meaning import Mention, mentions
from tprpapers.worlds.english.resolution import GENDERS, find, resolve, subject_place
from tprpapers.worlds.english.story import HAPPENINGS, TENSES, Actors, Event, Referent, Story

INTRODUCING_SHAPES = ("indefinite", "bare")  # what these mean was not there before
Who = Mapping[int, Actors]


def find_filler(predication: Predication, role: str) -> Filler | None:
    return next((filler for filler in predication.fillers if filler.role == role), None)


def _words(analysis: Analysis, filler: Filler | None) -> tuple[str, ...]:
    start, end = filler.span if filler else (0, 0)
    return tuple(entry.form for entry in analysis.entries[start:end])


def event(analysis: Analysis, place: int, who: Who, below: bool = False) -> Event:
    """The event that a predicate tells; below another predicate, `had hired` is as past as `hired`."""
    predication = analysis.predications[place]
    s, o, r = (
        who.get(f.head, ()) if (f := find_antecedent(predication, role)) else () for role in "SOR"
    )
    complement, where = find_filler(predication, "C"), find_filler(predication, "ARGM-LOC")
    times = (f for f in predication.fillers if f.role == "ARGM-TMP" and isinstance(f.phrase, Node))
    tense = TENSES[predication.tense]
    return Event(
        predication.entry.lexeme,
        "past" if below and tense == "earlier" else tense,
        find_filler(predication, "ARGM-NEG") is not None,
        s,
        o,
        r,
        event(analysis, complement.head, who, True) if complement else None,
        _words(analysis, find_filler(predication, "P")),
        who[where.head][0] if where else None,
        _words(analysis, next(times, None)),
    )


def find_antecedent(predication: Predication, role: str) -> Filler | None:
    """The phrase that plays a role; for a relative pronoun its antecedent."""
    fillers = (f for f in predication.fillers if f.role == role and isinstance(f.phrase, Node))
    return next(fillers, None)


def events(analysis: Analysis, who: Who) -> Iterator[Event]:
    """The events that a sentence says to be so, the main clause first; all but what it
    subordinates.
    """
    root = analysis.heads.index(0)
    below = {f.head for p in analysis.predications.values() for f in p.fillers if f.role == "C"}
    places = sorted(analysis.predications, key=lambda place: (place != root, place))
    for place in places:
        verb = lexicon().verbs.get(analysis.predications[place].entry.lexeme)
        if place not in below and verb and verb.frame not in ("naming", "renaming"):
            yield event(analysis, place, who)


def identities(analysis: Analysis, who: Who) -> Iterator[tuple[int, Mention, bool]]:
    """Whom a sentence gives a name or a kind, what it says, and whether the name is a new one."""
    for predication in analysis.predications.values():
        verb = lexicon().verbs.get(predication.entry.lexeme)
        role_of_actor, role_of_label = ("O", "R") if verb else ("ARG1", "ARG2")
        if verb and verb.frame not in ("naming", "renaming"):
            continue
        actor_filler, label_filler = (
            find_filler(predication, role_of_actor),
            find_filler(predication, role_of_label),
        )
        if actor_filler and label_filler and isinstance(label_filler.phrase, Node):
            renamed = verb is not None and verb.frame == "renaming"
            for actor in who.get(actor_filler.head, ()):
                yield actor, mentions(label_filler.phrase)[0], renamed


def merge_events(event: Event, repetition: Event) -> Event | None:
    """One event told twice, or None for two: the same deed, and nothing in which they differ."""
    if (event.lexeme, event.tense, event.negative) != (
        repetition.lexeme,
        repetition.tense,
        repetition.negative,
    ):
        return None
    fields = ("s", "o", "r", "c", "price", "place", "time")
    values = {field: (getattr(event, field), getattr(repetition, field)) for field in fields}
    if any(a not in EMPTY and b not in EMPTY and a != b for a, b in values.values()):
        return None
    return replace(event, **{field: b if a in EMPTY else a for field, (a, b) in values.items()})


EMPTY = ((), None)  # what is not told


@dataclass
class DiscourseReader:
    """A story as far as it was read; `subjects` are those of the main clauses, the latest last."""

    referents: list[Referent] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    subjects: list[Actors] = field(default_factory=list)

    @property
    def story(self) -> Story:
        return Story(tuple(self.referents), tuple(self.events))

    def read(self, tree: Node) -> None:
        """Take in one sentence more."""
        analysis = analyze(tree)
        who = resolve(analysis, self.subjects, self.referents, self._settle)
        for actor, mention, renamed in identities(analysis, who):
            self._learn(actor, mention, renamed)
        for event in events(analysis, who):
            self._note(event)
        self.subjects.append(who.get(subject_place(analysis), ()))

    def _settle(self, mention: Mention, owner: int | None) -> int:
        who = None if mention.shape in INTRODUCING_SHAPES else find(mention, owner, self.referents)
        if who is None:
            who = len(self.referents)
            self.referents.append(Referent(mention.type, count=mention.count, owner=owner))
        self._learn(who, mention)
        return who

    def _learn(self, who: int, mention: Mention, renamed: bool = False) -> None:
        referent = self.referents[who]
        longer = len(mention.name) > len(referent.name) or renamed
        self.referents[who] = replace(
            referent,
            noun=referent.noun or mention.noun,
            name=mention.name if longer else referent.name,
            gender=referent.gender or GENDERS.get(mention.gender, ""),
            traits=referent.traits | mention.traits,
            former=referent.name if renamed else referent.former,
        )

    def _note(self, event: Event) -> None:
        if event.verb.frame in HAPPENINGS:
            return self._place(event)
        for i, earlier in enumerate(self.events):
            if merged := merge_events(earlier, event):
                self.events[i] = merged
                return None
        return self.events.append(event)

    def _place(self, happening: Event) -> None:
        """Note where and when an event that was told before happened."""
        nouns = [self.referents[who].noun for who in happening.s]
        for i, event in enumerate(self.events):
            if event.verb.noun in nouns:
                place = event.place if event.place is not None else happening.place
                self.events[i] = replace(event, place=place, time=event.time or happening.time)
                return


def read(trees: Iterable[Node]) -> Story:
    """The story that sentences tell."""
    reader = DiscourseReader()
    for tree in trees:
        reader.read(tree)
    return reader.story
