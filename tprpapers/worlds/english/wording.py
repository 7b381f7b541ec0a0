"""Wording: events put into clauses by the rules of the grammar.

Whom a clause speaks of it asks of the teller; the rest is decided by the event, the role that is
left to the subject, and the manner.
"""

from dataclasses import replace
from typing import Protocol, runtime_checkable

from tprpapers.worlds.english.atoms import ANY, mask
from tprpapers.worlds.english.building import Children, build, is_plural
from tprpapers.worlds.english.grammar import Node, rules
from tprpapers.worlds.english.lexicon import lexicon
from tprpapers.worlds.english.parsing import fragment
from tprpapers.worlds.english.story import Actors, Event
from tprpapers.worlds.english.verbgroups import BELOW, PLAINLY, Manner, verb_group

ROLES = ("S", "O", "R")


@runtime_checkable
class Teller(Protocol):
    """The protocol of whoever refers to somebody at this point of a text."""

    def refer(self, actors: Actors, case: str, types: int, below: bool) -> Node:
        """A noun phrase for a place where these types can stand, maybe below the main clause."""
        ...

    def simple(self, who: int, types: int) -> Node:
        """A noun phrase as of `refer`, without commas."""
        ...

    def place(self, who: int) -> Node:
        """A phrase for a place where something happens."""
        ...

    def dative(self, event: Event) -> bool:
        """True if a gift is told before its recipient."""
        ...


STRUCTURES = {"happening": "intransitive", "donation": "dative"}
STRUCTURES |= {"habitual": "transitive", "reaction": "transitive"}
WRAPPERS = {"agent": "agent.by", "goal": "goal.to"}


def _structure(event: Event, gap: str, teller: Teller, manner: Manner) -> str:
    """The argument structure in which an event is told."""
    frame = event.verb.frame
    if frame == "ditransitive":
        return "dative" if gap == "O" or (gap == "S" and teller.dative(event)) else "double"
    if frame == "clausal":
        return "clausal" if _needs_that(event, manner) else "clausal.bare"
    return STRUCTURES.get(frame, frame)


def _needs_that(event: Event, manner: Manner) -> bool:
    """`that` may be missing right after the verb, before a clause with no other one in it."""
    return manner.that or bool(event.time or event.place is not None or (event.c and event.c.c))


def verb_phrase(
    event: Event, gap: str, teller: Teller, manner: Manner = PLAINLY, plural: bool = False
) -> Node:
    """All of a clause but its subject, which plays the role `gap`: passive, unless that is S."""
    voice = "active" if gap == "S" else "passive"
    rule = rules()[f"vp.{_structure(event, gap, teller, manner)}{'.passive' * (gap != 'S')}"]
    if event.time:
        manner = replace(manner, perfect=False)
    group = verb_group(event.lexeme, event.tense, voice, event.negative, plural, manner)
    children = {"*": group, **_adjuncts(event, teller)}
    for item in rule.items:
        if item.role in ROLES and (actors := getattr(event, item.role.lower())):
            types = event.slot(item.role.lower())
            heavy = item.symbol == "agent" or (
                item.role == "O" and (event.r or event.verb.particle)
            )
            case = "oblique" if heavy else "accusative"  # not: by it, gave Kim it, took over it
            phrase = teller.refer(actors, case, types, manner.below)
            wrapper = WRAPPERS.get(item.symbol)
            children[item.role] = build(wrapper, {"*": phrase}) if wrapper else phrase
        elif item.role == "C" and event.c:
            children["C"] = _complement(event, event.c, teller, manner)
    return build(rule.full_name, children)


def _complement(event: Event, below: Event, teller: Teller, manner: Manner) -> Node:
    if event.verb.frame == "clausal":
        name = "that" if _needs_that(event, manner) else "bare"
        shifted = event.tense != "present"
        content = clause(below, "S", teller, Manner(manner.that, shifted=shifted, below=True))
        return build(f"complement.{name}", {"*": content})
    content = verb_phrase(below, "S", teller, Manner(below=True))
    return build("infinitive.to", {"*": content})


def _adjuncts(event: Event, teller: Teller) -> Children:
    symbol = "span" if event.time and event.time[0] in ("last", "next") else "time"
    return {
        "ARGM-LOC": teller.place(event.place) if event.place is not None else None,
        "ARGM-TMP": fragment(symbol, event.time) if event.time else None,
        "P": fragment("price", event.price) if event.price else None,
    }


def clause(
    event: Event,
    gap: str,
    teller: Teller,
    manner: Manner = PLAINLY,
    subject: Node | None = None,
    continuation: tuple[Event, str] | None = None,
) -> Node:
    """A clause whose subject plays the role `gap`; `then` is another event told of it."""
    types = event.slot(gap.lower()) & (
        continuation[0].slot(continuation[1].lower()) if continuation else ANY
    )
    if not subject:
        subject = teller.refer(getattr(event, gap.lower()), "nominative", types, manner.below)
    plural = is_plural(subject)
    phrase = verb_phrase(event, gap, teller, manner, plural)
    predicate = build("predicate.single", {"*": phrase})
    if continuation:
        second_phrase = verb_phrase(*continuation, teller, replace(manner, later=False), plural)
        joined = build("other.vp", {"*": second_phrase})
        predicate = build("predicate.coordinated", {"*": phrase, "conj": joined})
    voice, relation = ("active", "nsubj") if gap == "S" else ("passive", "nsubj:pass")
    return build(f"clause.{voice}", {relation: subject, "*": predicate})


def relative(event: Event, topic: Node, gap: str, teller: Teller, free: bool) -> Node:
    """A relative clause on a phrase that plays the role `gap`, S or O; active in both cases."""
    demands = {"case": mask("nominative" if gap == "S" else "accusative")}
    demands |= {"type": topic.features["type"], "binding": mask("free" if free else "restrictive")}
    pronoun = next(
        entry
        for entry in lexicon().classes["relativizer"]
        if all(entry.features[name] & value for name, value in demands.items())
    )
    if gap == "S":
        phrase = verb_phrase(event, gap, teller, BELOW, is_plural(topic))
        return build("relative.subject", {"nsubj": pronoun, "*": phrase})
    subject = teller.simple(event.s[0], event.slot("s"))
    group = verb_group(event.lexeme, event.tense, "active", False, is_plural(subject), PLAINLY)
    goal = teller.refer(event.r, "accusative", event.slot("r"), True) if event.r else None
    children = {"O": pronoun, "S": subject, "*": group, **_adjuncts(event, teller)}
    children["R"] = build("goal.to", {"*": goal}) if goal else None
    return build(f"relative.object{'.dative' * bool(goal)}", children)


def related(topic: Node, event: Event, gap: str, teller: Teller, free: bool) -> Node:
    """A noun phrase with a relative clause, free between commas or restrictive."""
    relative_clause = relative(event, topic, gap, teller, free)
    if free:
        aside = build("aside.relative", {"*": relative_clause})
        return build("np.relative", {"*": topic, "acl:relcl": aside})
    return build("np.restricted", {"*": topic, "acl:relcl": relative_clause})


def sentence(content: Node, front: Node | None = None) -> Node:
    """A clause as a sentence, with a time in front of it if there is one."""
    if front:
        return build("sentence.fronted", {"ARGM-TMP": front, "*": content})
    return build("sentence.plain", {"*": content})
