"""Truth of a sentence in a story."""

from tprpapers.worlds.english.annotation import analyze
from tprpapers.worlds.english.discourse import EMPTY, events, identities
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.meaning import Mention
from tprpapers.worlds.english.resolution import find, phrases, resolve
from tprpapers.worlds.english.story import HAPPENINGS, Event, Referent, Story

DONE = ("past", "earlier")


def is_so(known: Referent, said: Mention) -> bool:
    """True if all that a mention says of somebody is known."""
    return (
        (not said.noun or said.noun == known.noun)
        and (not said.name or known.bears(said.name))
        and (not said.noun or said.shape == "name" or said.count == known.count)
        and said.traits <= known.traits
    )


def entails(known: Event, told: Event) -> bool:
    """True if a known event makes the told one true: it is the same, or says more.

    What did not happen on Monday may have happened: of a negated event nothing may be left out.
    """
    tenses = DONE if told.tense in DONE else (told.tense,)
    if known.lexeme != told.lexeme or known.tense not in tenses or known.negative != told.negative:
        return False
    if told.c and not (known.c and entails(known.c, told.c)):
        return False
    actors = all(set(getattr(told, role)) <= set(getattr(known, role)) for role in "sor")
    around = [(getattr(known, part), getattr(told, part)) for part in ("price", "place", "time")]
    less = actors and all(said in (*EMPTY, fact) for fact, said in around)
    return less and (not told.negative or _as_much(known, told))


def _as_much(known: Event, told: Event) -> bool:
    parts = ("s", "o", "r", "price", "place", "time")
    return all(getattr(known, part) == getattr(told, part) for part in parts)


def _happened(known: Event, told: Event, noun: str) -> bool:
    place, time = told.place in (None, known.place), told.time in ((), known.time)
    return known.verb.noun == noun and place and time


def holds(tree: Node, story: Story) -> bool:
    """True if a story makes all that a sentence says true: its referents, and what they did."""

    def settle(mention: Mention, owner: int | None) -> int | None:
        who = find(mention, owner, story.referents)
        return who if who is not None and is_so(story.referents[who], mention) else None

    analysis = analyze(tree)
    who = resolve(analysis, (), story.referents, settle)
    if any(filler.head not in who for filler in phrases(analysis)):
        return False
    if not all(is_so(story.referents[a], said) for a, said, _ in identities(analysis, who)):
        return False
    return all(_is_told(told, story) for told in events(analysis, who))


def _is_told(told: Event, story: Story) -> bool:
    if told.verb.frame in HAPPENINGS:
        nouns = [story.referents[who].noun for who in told.s]
        return any(_happened(known, told, noun) for known in story.events for noun in nouns)
    return any(entails(known, told) for known in story.events)
