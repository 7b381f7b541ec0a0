"""Truth of a sentence in a story."""

from tprpapers.worlds.english.annotation import analyze
from tprpapers.worlds.english.discourse import EMPTY, events, identities
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.meaning import Mention
from tprpapers.worlds.english.resolution import find, phrases, resolve
from tprpapers.worlds.english.story import HAPPENINGS, Event, Referent, Story

PAST_TENSES = ("past", "earlier")


def is_true_of(referent: Referent, mention: Mention) -> bool:
    """True if all that a mention says of somebody is known."""
    return (
        (not mention.noun or mention.noun == referent.noun)
        and (not mention.name or referent.bears(mention.name))
        and (not mention.noun or mention.shape == "name" or mention.count == referent.count)
        and mention.traits <= referent.traits
    )


def entails(fact: Event, event: Event) -> bool:
    """True if a known event makes the told one true: it is the same, or says more.

    What did not happen on Monday may have happened: of a negated event nothing may be left out.
    """
    tenses = PAST_TENSES if event.tense in PAST_TENSES else (event.tense,)
    if fact.lexeme != event.lexeme or fact.tense not in tenses or fact.negative != event.negative:
        return False
    if event.c and not (fact.c and entails(fact.c, event.c)):
        return False
    actors = all(set(getattr(event, role)) <= set(getattr(fact, role)) for role in "sor")
    details = [
        (getattr(fact, detail), getattr(event, detail)) for detail in ("price", "place", "time")
    ]
    is_implied = actors and all(value in (*EMPTY, stated) for stated, value in details)
    return is_implied and (not event.negative or _has_equal_details(fact, event))


def _has_equal_details(fact: Event, event: Event) -> bool:
    details = ("s", "o", "r", "price", "place", "time")
    return all(getattr(fact, detail) == getattr(event, detail) for detail in details)


def _matches_happening(fact: Event, event: Event, noun: str) -> bool:
    place, time = event.place in (None, fact.place), event.time in ((), fact.time)
    return fact.verb.noun == noun and place and time


def holds(tree: Node, story: Story) -> bool:
    """True if a story makes all that a sentence says true: its referents, and what they did."""

    def settle(mention: Mention, owner: int | None) -> int | None:
        who = find(mention, owner, story.referents)
        return who if who is not None and is_true_of(story.referents[who], mention) else None

    analysis = analyze(tree)
    who = resolve(analysis, (), story.referents, settle)
    if any(filler.head not in who for filler in phrases(analysis)):
        return False
    if not all(
        is_true_of(story.referents[a], mention) for a, mention, _ in identities(analysis, who)
    ):
        return False
    return all(_is_entailed(event, story) for event in events(analysis, who))


def _is_entailed(event: Event, story: Story) -> bool:
    if event.verb.frame in HAPPENINGS:
        nouns = [story.referents[who].noun for who in event.s]
        return any(_matches_happening(fact, event, noun) for fact in story.events for noun in nouns)
    return any(entails(fact, event) for fact in story.events)
