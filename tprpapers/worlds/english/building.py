"""Building: the phrases that rules make of their parts."""

from collections.abc import Mapping
from functools import cache

from tprpapers.worlds.english.atoms import ANY, mask
from tprpapers.worlds.english.grammar import Node, join, rules
from tprpapers.worlds.english.lexicon import LexicalEntry, lexicon

Children = Mapping[str, Node | LexicalEntry | None]


def build(name: str, children: Children) -> Node:
    """The phrase that a rule makes of the parts given by role or relation; words come by themselves."""
    rule = rules()[name]
    pairs = []
    for item in rule.items:
        child = children.get(item.key)
        if item.word:
            child = item.word if child or not item.optional else None
        elif isinstance(child, Node) and child.rule.symbol != item.symbol:
            child = None
        if child:
            pairs.append((item, child))
    assert len(pairs) >= rule.n_required, f"{name} needs more than {' · '.join(children)}"
    node = join(rule, pairs)
    assert node, f"{name} does not allow {' · '.join(str(child) for _, child in pairs)}"
    return node


@cache
def word(symbol: str, lexeme: str, tag: str = "") -> LexicalEntry:
    """A form of a word."""
    entries = (e for e in lexicon().classes[symbol] if e.lexeme == lexeme and tag in ("", e.tag))
    return next(entries)


def plain(simple: Node) -> Node:
    """A noun phrase of nothing more."""
    return build("np.plain", {"*": simple})


def is_plural(phrase: Node) -> bool:
    return phrase.features.get("number", ANY) == mask("plural")
