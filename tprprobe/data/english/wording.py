"""Wording: events put into clauses by the rules of the grammar.

Whom a clause speaks of it asks of the teller; the rest is decided by the event, the role that is
left to the subject, and the manner.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from tprprobe.data.english.features import ANY, mask
from tprprobe.data.english.grammar import CLOSE, Item, Node, join, rules
from tprprobe.data.english.lexicon import Entry, lexicon
from tprprobe.data.english.parsing import fragment
from tprprobe.data.english.story import Actors, Event

Parts = Mapping[str, Node | Entry | None]

MODALS = {("future", False): "will", ("future", True): "would"}
MODALS |= {("possible", False): "may", ("possible", True): "might"}


@dataclass(frozen=True, slots=True)
class Manner:
    """What can be worded in two ways."""

    that: bool = True  # said that …
    later: bool = False  # later sold …
    perfect: bool = False  # has sold …, where nothing says when
    shifted: bool = False  # below a verb of the past: had sold, would sell
    below: bool = False  # below the main clause


PLAINLY = Manner()
BELOW = Manner(below=True)
ROLES = ("S", "O", "R")


class Teller(Protocol):
    """Who knows how to refer to somebody at this point of a text."""

    def refer(self, actors: Actors, case: str, types: int, below: bool) -> Node:
        """A noun phrase for a place where these types can stand, maybe below the main clause."""
        ...

    def simple(self, who: int, types: int) -> Node:
        """The same without commas."""
        ...

    def place(self, who: int) -> Node:
        """A phrase for a place where something happens."""
        ...

    def dative(self, told: Event) -> bool:
        """Whether a gift is told before who gets it."""
        ...


def build(name: str, parts: Parts) -> Node:
    """The phrase that a rule makes of the parts given by role or relation; words come by themselves."""
    rule = rules()[name]
    found = [(item, child) for item in rule.items if (child := _part(item, parts))]
    assert len(found) >= rule.needed, f"{name} needs more than {' · '.join(parts)}"
    node = join(rule, found)
    assert node, f"{name} does not allow {' · '.join(str(child) for _, child in found)}"
    return node


def _part(item: Item, parts: Parts) -> Node | Entry | None:
    given = parts.get(item.key)
    if item.word:
        return item.word if given or not item.optional else None
    fits = isinstance(given, Entry) or (given is not None and given.rule.symbol == item.symbol)
    return given if fits else None


@cache
def word(symbol: str, lexeme: str, tag: str = "") -> Entry:
    """A form of a word."""
    found = (e for e in lexicon().classes[symbol] if e.lexeme == lexeme and tag in ("", e.tag))
    return next(found)


def plain(simple: Node) -> Node:
    """A noun phrase of nothing more."""
    return build("np.plain", {"*": simple})


def is_plural(phrase: Node) -> bool:
    return phrase.features.get("number", ANY) == mask("plural")


@cache
def verb_group(
    lexeme: str, tense: str, voice: str, negative: bool, plural: bool, manner: Manner
) -> Node:
    """A verb with its auxiliaries: `had not been sold`, `later sold`."""
    if tense == "past" and manner.shifted:
        tense = "earlier"
    elif tense == "past" and manner.perfect and not negative:
        tense = "perfect"
    name, tag = _group(tense, voice, negative, manner.later)
    particle = word("lexical", lexeme).features["particle"]
    shape = next(s for s in ("none", "over", "up", "down") if mask(s) == particle)
    verb = build(
        f"verb.{shape.replace('none', 'plain')}", {"*": word("lexical", lexeme, tag(plural))}
    )
    parts: dict[str, Node | Entry | None] = {"*": verb, "ARGM-NEG": CLOSE if negative else None}
    if tense in ("future", "possible"):
        parts["ARGM-MOD"] = word("modal", MODALS[tense, manner.shifted])
    parts["aux:pass"] = word("be", "were" if plural else "was")
    if tense == "present":
        parts["aux:pass"] = word("is", "are" if plural else "is")
    parts["aux"] = word("do", "do" if plural else "does")
    if tense == "perfect":
        parts["aux"] = word("have", "have" if plural else "has")
    return build(f"vg.{name}", parts)


def _group(
    tense: str, voice: str, negative: bool, later: bool
) -> tuple[str, Callable[[bool], str]]:
    """The rule of a verb group, and the tag of its verb for singular and plural."""
    if voice == "passive":
        past = "later.was" if later else "was"
        names = {"past": past, "earlier": "had.been", "perfect": "has.been", "present": "is"}
        return names.get(tense, "will.be"), lambda plural: "VBN"
    if tense == "past" and not negative:
        return "later" if later else "past", lambda plural: "VBD"
    if tense in ("earlier", "perfect"):
        return "pluperfect" if tense == "earlier" else "perfect", lambda plural: "VBN"
    if tense == "present" and not negative:
        return "present", lambda plural: "VBP" if plural else "VBZ"
    names = {"past": "did", "present": "does", "base": "base"}
    return names.get(tense, "modal"), lambda plural: "VB"


STRUCTURES = {"happening": "intransitive", "donation": "dative"}
STRUCTURES |= {"habitual": "transitive", "reaction": "transitive"}
WRAPPERS = {"agent": "agent.by", "goal": "goal.to"}


def _structure(told: Event, gap: str, teller: Teller, manner: Manner) -> str:
    """The argument structure in which an event is told."""
    frame = told.verb.frame
    if frame == "ditransitive":
        return "dative" if gap == "O" or (gap == "S" and teller.dative(told)) else "double"
    if frame == "clausal":
        return "clausal" if _needs_that(told, manner) else "clausal.bare"
    return STRUCTURES.get(frame, frame)


def _needs_that(told: Event, manner: Manner) -> bool:
    """`that` may be missing right after the verb, before a clause with no other one in it."""
    return manner.that or bool(told.time or told.place is not None or (told.c and told.c.c))


def verb_phrase(
    told: Event, gap: str, teller: Teller, manner: Manner = PLAINLY, plural: bool = False
) -> Node:
    """All of a clause but its subject, which plays the role `gap`: passive, unless that is S."""
    voice = "active" if gap == "S" else "passive"
    rule = rules()[f"vp.{_structure(told, gap, teller, manner)}{'.passive' * (gap != 'S')}"]
    if told.time:
        manner = replace(manner, perfect=False)
    group = verb_group(told.lexeme, told.tense, voice, told.negative, plural, manner)
    parts = {"*": group, **_adjuncts(told, teller)}
    for item in rule.items:
        if item.role in ROLES and (actors := getattr(told, item.role.lower())):
            types = told.slot(item.role.lower())
            weak = item.symbol != "agent" and (item.role != "O" or rule.items[1] is item)
            case = "accusative" if weak else "oblique"  # not: was sold by it, gave Kim it
            phrase = teller.refer(actors, case, types, manner.below)
            wrapper = WRAPPERS.get(item.symbol)
            parts[item.role] = build(wrapper, {"*": phrase}) if wrapper else phrase
        elif item.role == "C" and told.c:
            parts["C"] = _complement(told, told.c, teller, manner)
    return build(rule.full_name, parts)


def _complement(told: Event, below: Event, teller: Teller, manner: Manner) -> Node:
    if told.verb.frame == "clausal":
        name = "that" if _needs_that(told, manner) else "bare"
        shifted = told.tense != "present"
        content = clause(below, "S", teller, Manner(manner.that, shifted=shifted, below=True))
        return build(f"complement.{name}", {"*": content})
    content = verb_phrase(below, "S", teller, Manner(below=True))
    return build("infinitive.to", {"*": content})


def _adjuncts(told: Event, teller: Teller) -> Parts:
    symbol = "span" if told.time and told.time[0] in ("last", "next") else "time"
    return {
        "ARGM-LOC": teller.place(told.place) if told.place is not None else None,
        "ARGM-TMP": fragment(symbol, told.time) if told.time else None,
        "P": fragment("price", told.price) if told.price else None,
    }


def clause(
    told: Event,
    gap: str,
    teller: Teller,
    manner: Manner = PLAINLY,
    subject: Node | None = None,
    then: tuple[Event, str] | None = None,
) -> Node:
    """A clause whose subject plays the role `gap`; `then` is another event told of it."""
    types = told.slot(gap.lower()) & (then[0].slot(then[1].lower()) if then else ANY)
    if not subject:
        subject = teller.refer(getattr(told, gap.lower()), "nominative", types, manner.below)
    plural = is_plural(subject)
    phrase = verb_phrase(told, gap, teller, manner, plural)
    predicate = build("predicate.single", {"*": phrase})
    if then:
        other = verb_phrase(*then, teller, replace(manner, later=False), plural)
        predicate = build("predicate.coordinated", {"*": phrase, "conj": other})
    voice, relation = ("active", "nsubj") if gap == "S" else ("passive", "nsubj:pass")
    return build(f"clause.{voice}", {relation: subject, "*": predicate})


def relative(told: Event, topic: Node, gap: str, teller: Teller, free: bool) -> Node:
    """A relative clause on a phrase that plays the role `gap`, S or O; active in both cases."""
    asked = {"case": mask("nominative" if gap == "S" else "accusative")}
    asked |= {"type": topic.features["type"], "binding": mask("free" if free else "restrictive")}
    pronoun = next(
        entry
        for entry in lexicon().classes["relativizer"]
        if all(entry.features[name] & value for name, value in asked.items())
    )
    if gap == "S":
        phrase = verb_phrase(told, gap, teller, BELOW, is_plural(topic))
        return build("relative.subject", {"nsubj": pronoun, "*": phrase})
    subject = teller.simple(told.s[0], told.slot("s"))
    group = verb_group(told.lexeme, told.tense, "active", False, is_plural(subject), PLAINLY)
    goal = teller.refer(told.r, "accusative", told.slot("r"), True) if told.r else None
    parts = {"O": pronoun, "S": subject, "*": group, **_adjuncts(told, teller)}
    parts["R"] = build("goal.to", {"*": goal}) if goal else None
    return build(f"relative.object{'.dative' * bool(goal)}", parts)


def related(topic: Node, told: Event, gap: str, teller: Teller, free: bool) -> Node:
    """A noun phrase with a relative clause, free between commas or restrictive."""
    parts = {"*": topic, "acl:relcl": relative(told, topic, gap, teller, free)}
    return build("np.relative" if free else "np.restricted", parts)


def sentence(content: Node, front: Node | None = None) -> Node:
    """A clause as a sentence, with a time in front of it if there is one."""
    if front:
        return build("sentence.fronted", {"ARGM-TMP": front, "*": content})
    return build("sentence.plain", {"*": content})
