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

NEW = ("indefinite", "bare")  # what these mean was not there before
Who = Mapping[int, Actors]


def _said(predication: Predication, role: str) -> Filler | None:
    return next((filler for filler in predication.fillers if filler.role == role), None)


def _words(analysis: Analysis, filler: Filler | None) -> tuple[str, ...]:
    start, end = filler.span if filler else (0, 0)
    return tuple(entry.form for entry in analysis.entries[start:end])


def event(analysis: Analysis, place: int, who: Who, below: bool = False) -> Event:
    """The event that a predicate tells; below another predicate, `had hired` is as past as `hired`."""
    told = analysis.predications[place]
    s, o, r = (who.get(f.head, ()) if (f := _meant(told, role)) else () for role in "SOR")
    complement, where = _said(told, "C"), _said(told, "ARGM-LOC")
    times = (f for f in told.fillers if f.role == "ARGM-TMP" and isinstance(f.phrase, Node))
    tense = TENSES[told.tense]
    return Event(
        told.entry.lexeme,
        "past" if below and tense == "earlier" else tense,
        _said(told, "ARGM-NEG") is not None,
        s,
        o,
        r,
        event(analysis, complement.head, who, True) if complement else None,
        _words(analysis, _said(told, "P")),
        who[where.head][0] if where else None,
        _words(analysis, next(times, None)),
    )


def _meant(predication: Predication, role: str) -> Filler | None:
    """The phrase that plays a role; for a relative pronoun its antecedent."""
    found = (f for f in predication.fillers if f.role == role and isinstance(f.phrase, Node))
    return next(found, None)


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
    for told in analysis.predications.values():
        verb = lexicon().verbs.get(told.entry.lexeme)
        whom, what = ("O", "R") if verb else ("ARG1", "ARG2")
        if verb and verb.frame not in ("naming", "renaming"):
            continue
        meant, said = _said(told, whom), _said(told, what)
        if meant and said and isinstance(said.phrase, Node):
            renamed = verb is not None and verb.frame == "renaming"
            for actor in who.get(meant.head, ()):
                yield actor, mentions(said.phrase)[0], renamed


def merged(one: Event, other: Event) -> Event | None:
    """One event told twice, or None for two: the same deed, and nothing in which they differ."""
    if (one.lexeme, one.tense, one.negative) != (other.lexeme, other.tense, other.negative):
        return None
    parts = ("s", "o", "r", "c", "price", "place", "time")
    told = {part: (getattr(one, part), getattr(other, part)) for part in parts}
    if any(a not in EMPTY and b not in EMPTY and a != b for a, b in told.values()):
        return None
    return replace(one, **{part: b if a in EMPTY else a for part, (a, b) in told.items()})


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
        for actor, said, renamed in identities(analysis, who):
            self._learn(actor, said, renamed)
        for told in events(analysis, who):
            self._note(told)
        self.subjects.append(who.get(subject_place(analysis), ()))

    def _settle(self, mention: Mention, owner: int | None) -> int:
        who = None if mention.shape in NEW else find(mention, owner, self.referents)
        if who is None:
            who = len(self.referents)
            self.referents.append(Referent(mention.type, count=mention.count, owner=owner))
        self._learn(who, mention)
        return who

    def _learn(self, who: int, said: Mention, renamed: bool = False) -> None:
        known = self.referents[who]
        longer = len(said.name) > len(known.name) or renamed
        self.referents[who] = replace(
            known,
            noun=known.noun or said.noun,
            name=said.name if longer else known.name,
            gender=known.gender or GENDERS.get(said.gender, ""),
            traits=known.traits | said.traits,
            former=known.name if renamed else known.former,
        )

    def _note(self, told: Event) -> None:
        if told.verb.frame in HAPPENINGS:
            return self._place(told)
        for i, known in enumerate(self.events):
            if whole := merged(known, told):
                self.events[i] = whole
                return None
        return self.events.append(told)

    def _place(self, happening: Event) -> None:
        """Note where and when an event that was told before happened."""
        nouns = [self.referents[who].noun for who in happening.s]
        for i, known in enumerate(self.events):
            if known.verb.noun in nouns:
                place = known.place if known.place is not None else happening.place
                self.events[i] = replace(known, place=place, time=known.time or happening.time)
                return


def read(trees: Iterable[Node]) -> Story:
    """The story that sentences tell."""
    reader = DiscourseReader()
    for tree in trees:
        reader.read(tree)
    return reader.story
