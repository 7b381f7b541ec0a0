"""A document for a story: which sentences there are, and in what order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tprpapers.worlds.english.atoms import mask
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.narration import Narrator
from tprpapers.worlds.english.story import Event, Story

Move = Callable[[], Node]
ORG = mask("org")
NOTHING = {"place": None, "time": ()}  # what is not told


def participants(event: Event) -> tuple[int, ...]:
    """The participants of an event, or of what is said or planned in it."""
    actors = (*event.s, *event.o, *event.r, *(participants(event.c) if event.c else ()))
    return tuple(dict.fromkeys(actors))


def _named(events: Sequence[Event], story: Story) -> list[int]:
    """The participants of an event who have names."""
    everybody = dict.fromkeys(who for event in events for who in participants(event))
    return [who for who in everybody if story.referents[who].name]


@dataclass
class Outline:
    """The events that the sentences of a document tell; `spare` sentences are not planned yet."""

    narrator: Narrator
    story: Story
    spare: int
    lead: Event = field(init=False)
    opening: list[Move] = field(default_factory=list)  # in this order
    unordered: list[Move] = field(default_factory=list)  # in any order

    def __post_init__(self) -> None:
        self.lead = self.story.events[0]
        self.spare -= len(self.story.events)
        self._plan_names()
        self._plan_lead()
        self._plan_deeds()

    def spend(self, probability: float) -> bool:
        """Takes one of the spare sentences by chance; False if none is taken."""
        spent = self.spare > 0 and self.narrator.chance.happens(probability)
        self.spare -= spent
        return spent

    @property
    def named(self) -> list[int]:
        """The participants who have names."""
        return _named(self.story.events[:1], self.story)

    def _plan_names(self) -> None:
        """Somebody, and maybe others, are first met by kind alone; their names come later."""
        chance, referrer = self.narrator.chance, self.narrator.referrer
        for i, who in enumerate(chance.shuffled(self.named)):
            style = "kind" if self.spend(0.5 if i else 1) else chance.pick(("name", "both"))
            referrer.styles[who] = style
            if style != "kind" and self.story.referents[who].type == ORG and self.spend(0.3):
                self.narrator.planner.cast.rename(who)
                self.unordered.append(partial(self.narrator.renaming, who))
            if style == "kind" and chance.happens(0.35):
                referrer.apposed |= {who}

        for who in set(_named(self.story.events[1:], self.story)) - set(self.named):
            referrer.styles[who] = chance.pick(("name", "both"))

    def _plan_lead(self) -> None:
        """The lead may hide who acted, where and when; a later sentence tells it."""
        main = self.lead
        told_alone = main.verb.frame in ("transitive", "donation", "ditransitive")
        if told_alone and main.s[0] in self.named and self.spend(0.3):
            self.lead = replace(self.lead, s=())
            bare = replace(main, place=None, time=(), price=())
            self.opening.append(partial(self.narrator.event, bare))
        self._plan_where(main)
        self.opening.insert(0, partial(self.narrator.event, self.lead))

    def _plan_where(self, main: Event) -> None:
        """Another sentence may tell where or when, with the noun for the event."""
        details = [detail for detail, empty in NOTHING.items() if getattr(main, detail) != empty]
        if not (main.verb.noun and details and self.spend(0.7)):
            return
        separate = self.narrator.chance.pick((details, details[:1], details[-1:]))
        self.lead = replace(self.lead, **{detail: NOTHING[detail] for detail in separate})
        emptied = {detail: NOTHING[detail] for detail in NOTHING if detail not in separate}
        self.unordered.append(partial(self.narrator.happening, replace(main, **emptied)))

    def _plan_deeds(self) -> None:
        """Plans the topic's deeds before or after, and the names; one sentence may tell both."""
        narrator, referrer = self.narrator, self.narrator.referrer
        unnamed = [who for who in self.named if referrer.styles[who] == "kind"]
        for deed in self.story.events[1:]:
            whose = [who for who in unnamed if deed.tense == "earlier" and deed.role_of(who)]
            if whose and narrator.chance.happens(0.4):
                unnamed.remove(whose[0])
                referrer.apposed -= {whose[0]}
                self.unordered.append(partial(narrator.identity, whose[0], deed))
            else:
                late = deed.tense == "past" and narrator.chance.happens(0.6)
                self.unordered.append(partial(narrator.event, deed, None, late))
        self.unordered += [
            partial(narrator.identity, w) for w in unnamed if w not in referrer.apposed
        ]


def narrate(narrator: Narrator, story: Story, length: int, max_length: int) -> list[Node] | None:
    """The sentences of a document, or None where the split does not allow one that it needs.

    There are `length` of them, or a few more, where somebody has not been named in passing.
    """
    outline = Outline(narrator, story, length)
    distraction = partial(narrator.distraction, story.events[0], tuple(outline.named))
    lacking = length - len(outline.opening) - len(outline.unordered)
    moves = narrator.chance.shuffled([*outline.unordered, *[distraction] * lacking])
    trees = []
    for move in (*outline.opening, *moves):
        trees.append(narrator.narrate(move))
        if trees[-1] is None:
            return None
    for who in outline.named:
        if "surname" not in narrator.referrer.knowledge[who]:
            trees.append(narrator.narrate(partial(narrator.identity, who)))
    while len(trees) < length:
        trees.append(narrator.narrate(distraction))
    complete = [tree for tree in trees if tree]
    return complete if len(complete) == len(trees) <= max_length else None
