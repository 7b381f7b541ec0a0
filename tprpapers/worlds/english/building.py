"""Building: the phrases that rules make of their parts."""

from collections.abc import Mapping
from functools import cache

from tprpapers.worlds.english.atoms import ANY, mask
from tprpapers.worlds.english.grammar import Node, join, rules
from tprpapers.worlds.english.lexicon import LexicalEntry, lexicon

Parts = Mapping[str, Node | LexicalEntry | None]


def build(name: str, parts: Parts) -> Node:
    """The phrase that a rule makes of the parts given by role or relation; words come by themselves."""
    rule = rules()[name]
    found = []
    for item in rule.items:
        given = parts.get(item.key)
        if item.word:
            given = item.word if given or not item.optional else None
        elif isinstance(given, Node) and given.rule.symbol != item.symbol:
            given = None
        if given:
            found.append((item, given))
    assert len(found) >= rule.needed, f"{name} needs more than {' · '.join(parts)}"
    node = join(rule, found)
    assert node, f"{name} does not allow {' · '.join(str(child) for _, child in found)}"
    return node


@cache
def word(symbol: str, lexeme: str, tag: str = "") -> LexicalEntry:
    """A form of a word."""
    found = (e for e in lexicon().classes[symbol] if e.lexeme == lexeme and tag in ("", e.tag))
    return next(found)


def plain(simple: Node) -> Node:
    """A noun phrase of nothing more."""
    return build("np.plain", {"*": simple})


def is_plural(phrase: Node) -> bool:
    return phrase.features.get("number", ANY) == mask("plural")
