"""Verb groups: a verb with its auxiliaries, in a tense, a voice and a manner."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tprpapers.worlds.english.atoms import mask
from tprpapers.worlds.english.building import Children, build, word
from tprpapers.worlds.english.grammar import Node

MODALS = {("future", False): "will", ("future", True): "would"}
MODALS |= {("possible", False): "may", ("possible", True): "might"}


@dataclass(frozen=True, slots=True)
class Manner:
    """A choice between two wordings."""

    that: bool = True  # said that …
    later: bool = False  # later sold …
    perfect: bool = False  # has sold …, where nothing says when
    shifted: bool = False  # below a verb of the past: had sold, would sell
    below: bool = False  # below the main clause


VERBS = {"plain": "none", "over": "over", "up": "up", "down": "down"}  # rule: particle
PLAINLY = Manner()
BELOW = Manner(below=True)


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
    entry = word("lexical", lexeme, tag(plural))
    rule = next(name for name in VERBS if mask(VERBS[name]) == entry.features["particle"])
    verb = build(f"verb.{rule}", {"*": entry})
    negation = word("lexical", lexeme) if negative else None  # any word: that it is there counts
    auxiliaries = _auxiliaries(tense, plural, manner.shifted)
    return build(f"vg.{name}", {"*": verb, "ARGM-NEG": negation, **auxiliaries})


def _auxiliaries(tense: str, plural: bool, shifted: bool) -> Children:
    """The auxiliaries that agree with the subject or tell the tense."""
    be = ("is", "are") if tense == "present" else ("was", "were")
    aux = ("has", "have") if tense == "perfect" else ("does", "do")
    return {
        "aux:pass": word("is" if tense == "present" else "be", be[plural]),
        "aux": word("have" if tense == "perfect" else "do", aux[plural]),
        "ARGM-MOD": word("modal", MODALS[tense, shifted]) if (tense, shifted) in MODALS else None,
    }


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
