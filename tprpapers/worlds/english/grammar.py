"""The rules of grammar.txt, and how phrases are put together by them.

A phrase is a `Node`; `join` makes one of the phrases under it, if their features agree. Whoever
words a thought and whoever parses a sentence makes every phrase with it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from tprpapers.worlds.english.atoms import ANY, Features, mask
from tprpapers.worlds.english.lexicon import LexicalEntry

RULE = re.compile(r"(\w+)\.([\w.]+)(?:<(\w)>)?(?:\[(.*?)\])? ?([A-Z]*)\s+=\s+(.*)")
ITEM = re.compile(r"([*\w:]+)(!?)(?:/([\w-]+))?(>\*)?(?:<([\w*]))?=([^\s\[?]+)(?:\[(.*?)\])?(\?)?")
CLOSE = LexicalEntry(",", ",", "close")  # a comma that vanishes before another comma or a stop


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """A place in a rule. `fills`: its phrase fills the open roles of the head; `filled`: by whom."""

    relation: str
    predicate: bool
    role: str
    fills: bool
    filled: str
    symbol: str
    demands: tuple[tuple[str, int, str], ...]  # feature, and a mask or the name of a variable
    optional: bool
    key: str  # what tells the item from the others of its rule: the role, else the relation
    word: LexicalEntry | None  # the one word that can stand there


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A rule for a phrase; `open_types`: the variables for types that it leaves to its mother;
    `has_roles`: whether anything plays a role in it or is to play one; `needed`: how many parts.
    """

    symbol: str
    name: str
    gap: str
    sets: tuple[tuple[str, int, str], ...]
    entity: str
    items: tuple[Item, ...]
    open_types: frozenset[str]
    has_roles: bool
    n_required: int

    @property
    def full_name(self) -> str:
        return f"{self.symbol}.{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A phrase: its rule and, for every item that is there, the phrase or word in its place."""

    rule: Rule
    children: tuple[tuple[Item, "Node | LexicalEntry"], ...]
    features: Features

    def part(self, key: str) -> "Node | LexicalEntry | None":
        """The phrase or word in the place of that role or relation."""
        return next((child for item, child in self.children if item.key == key), None)

    def __str__(self) -> str:
        return " ".join(str(child) for _, child in self.children)


Child = tuple[Item, Node | LexicalEntry]


def join(rule: Rule, children: Sequence[Child]) -> Node | None:
    """The phrase that a rule makes of its parts, or None where their features disagree.

    A name that could be of several types (`rivals`) only fits where its neighbors leave it one.
    """
    bound: dict[str, int] = {}  # what all that share a variable agree on
    slots: dict[str, int] = {}  # the same, but for names
    rivals: dict[str, int] = {}  # and what else all of those names could be
    head = children[0][1]
    for item, child in children:
        if item.relation == "*":
            head = child
        features = child.features
        for name, atoms, variable in item.demands:
            value = features.get(name, ANY)
            rival_types = features.get("rivals") if name == "type" else None
            if not variable:
                if not value & atoms or (rival_types and rival_types & atoms):
                    return None
                continue
            if rival_types is None:
                slots[variable] = slots.get(variable, ANY) & value
            else:
                rivals[variable] = rivals.get(variable, ANY) & rival_types
            bound[variable] = value = bound.get(variable, ANY) & value
            if not value:
                return None
    if not rivals and not rule.sets:
        return Node(rule, tuple(children), head.features)
    result = dict(head.features)
    for variable, shared_rivals in rivals.items():
        shared_rivals &= slots.get(variable, ANY)
        if variable in rule.open_types:
            result["rivals"] = shared_rivals
        elif shared_rivals:
            return None
    for name, atoms, variable in rule.sets:
        result[name] = bound.get(variable, ANY) if variable else atoms
    return Node(rule, tuple(children), result)


def _pairs(text: str | None) -> tuple[tuple[str, int, str], ...]:
    pairs = (pair.split(":") for pair in (text or "").split())
    return tuple((n, 0, v) if v.isupper() else (n, mask(v), "") for n, v in pairs)


def _item(match: re.Match[str]) -> Item:
    relation, predicate, role, fills, filled, symbol, demands, optional = match.groups()
    identity = (relation, bool(predicate), role or "", bool(fills), filled or "", symbol)
    return Item(*identity, _pairs(demands), bool(optional), role or relation, literal(symbol))


def _open_types(sets: Sequence[tuple[str, int, str]], items: Sequence[Item]) -> frozenset[str]:
    head = next(item for item in items if item.relation == "*")
    exported = {name: variable for name, _, variable in (*head.demands, *sets)}
    return frozenset(filter(None, [exported.get("type")]))


def _rule(line: str) -> Rule:
    match = RULE.fullmatch(line)
    assert match, line
    symbol, name, gap, sets, entity, right = match.groups()
    items = tuple(map(_item, ITEM.finditer(right)))
    assert len(items) == len(re.sub(r"\[.*?\]", "", right).split()), line
    assignments = _pairs(sets)
    roles = bool(gap) or any(item.role or item.fills or item.filled for item in items)
    n_required = sum(not item.optional for item in items)
    open_types = _open_types(assignments, items)
    return Rule(symbol, name, gap or "", assignments, entity, items, open_types, roles, n_required)


def _lines() -> Iterator[str]:
    macros: dict[str, str] = {}
    for line in (files("tprpapers.worlds.english") / "grammar.txt").read_text("utf-8").splitlines():
        if line.startswith("@"):
            name, _, content = line.partition(" = ")
            macros[name] = content
        elif line and not line.startswith("#"):
            yield re.sub(r"@\w+", lambda match: macros[match[0]], line)


@cache
def rules() -> Mapping[str, Rule]:
    """The rules by full name."""
    return {rule.full_name: rule for rule in map(_rule, _lines())}


@cache
def rules_of(symbol: str) -> tuple[Rule, ...]:
    """The rules that make a phrase of this kind."""
    rules_by_symbol: defaultdict[str, list[Rule]] = defaultdict(list)
    for rule in rules().values():
        rules_by_symbol[rule.symbol].append(rule)
    return tuple(rules_by_symbol[symbol])


@cache
def literal(symbol: str) -> LexicalEntry | None:
    """The word of a symbol like `the_DT` or of `close`, or None for other symbols."""
    if symbol == "close":
        return CLOSE
    form, _, tag = symbol.rpartition("_")
    return LexicalEntry(form, tag, form) if form else None
