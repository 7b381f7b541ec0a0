"""Argument structures in constructions, and the pairs of them that training never shows."""

from collections.abc import Iterator

from tprpapers.worlds.english.grammar import Node

STRUCTURES = ("intransitive", "transitive", "double", "dative", "clausal", "control", "causative")
CONSTRUCTIONS = (
    "main",
    "passive",
    "subject relative",
    "object relative",
    "coordination",
    "complement",
    "infinitive",
)
HELD_OUT = frozenset(
    {
        ("double", "passive"),
        ("causative", "passive"),
        ("dative", "subject relative"),
        ("dative", "object relative"),
        ("intransitive", "coordination"),
        ("control", "coordination"),
        ("double", "complement"),
        ("intransitive", "infinitive"),
    }
)
SMALL = ("simple", "vg", "place", "time", "span", "price", "name", "description", "label")
OPENERS = {"complement": "complement", "infinitive": "infinitive", "relative": "subject relative"}
OBJECT_RELATIVES = {"object": "transitive", "object.dative": "dative"}


def pairs(phrase: Node, around: str = "main") -> Iterator[tuple[str, str]]:
    """The argument structures of the clauses in a phrase, each with its constructions."""
    symbol, name = phrase.rule.symbol, phrase.rule.name
    around = OPENERS.get(symbol, around)
    if symbol == "predicate" and name == "coordinated":
        around = "coordination"
    if symbol == "relative" and name in OBJECT_RELATIVES:
        yield OBJECT_RELATIVES[name], "object relative"
    structure, _, form = name.partition(".")
    if symbol == "vp" and structure in STRUCTURES:
        yield structure, around
        if form == "passive":
            yield structure, "passive"
    for item, child in phrase.children:
        if item.symbol not in SMALL and isinstance(child, Node):
            yield from pairs(child, around)
