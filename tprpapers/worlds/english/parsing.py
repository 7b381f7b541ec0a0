"""Sentences parsed by the grammar: all readings of all spans, each found once."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from tprpapers.worlds.english.annotation import analyze, article
from tprpapers.worlds.english.atoms import ANY
from tprpapers.worlds.english.grammar import (
    CLOSE,
    Child,
    Item,
    Node,
    Rule,
    join,
    literal,
    rules,
    rules_of,
)
from tprpapers.worlds.english.lexicon import LexicalEntry, lexicon
from tprpapers.worlds.english.sentences import Sentence

Words = Mapping[str, Sequence[LexicalEntry]]  # by symbol: what a form can be


def _symbols() -> Iterator[tuple[str, LexicalEntry]]:
    for name, entries in lexicon().classes.items():
        yield from ((name, entry) for entry in entries)
    for symbol in dict.fromkeys(item.symbol for rule in rules().values() for item in rule.items):
        if word := literal(symbol):
            yield symbol, word


@cache
def _dictionary(initial: bool) -> Mapping[str, Words]:
    """The words by form, as it is written inside a sentence or at its start."""
    entries_by_form: defaultdict[str, defaultdict[str, list[LexicalEntry]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for symbol, entry in _symbols():
        form = entry.form[0].upper() + entry.form[1:] if initial else entry.form
        entries_by_form[form][symbol].append(entry)
    return entries_by_form


@cache
def _starts(symbol: str) -> frozenset[str]:
    """The word classes and words that a phrase can start with."""
    if not rules_of(symbol):
        return frozenset([symbol])
    return frozenset().union(*(_starts_of(rule) for rule in rules_of(symbol)))


@cache
def _starts_of(rule: Rule) -> frozenset[str]:
    starts: frozenset[str] = frozenset()
    for item in rule.items:
        starts |= _starts(item.symbol)
        if not item.optional:
            break
    return starts


class _Chart:
    """The readings of one sentence."""

    def __init__(self, forms: Sequence[str]) -> None:
        self.forms = forms
        self.words = [self._readings(i) for i in range(len(forms))]
        self.found: dict[tuple[str, int], list[tuple[int, Node | LexicalEntry]]] = {}

    def _readings(self, i: int) -> Words:
        form = self.forms[i]
        if form.lower() in ("a", "an") and i + 1 < len(self.forms):
            if form.lower() != article(self.forms[i + 1]):
                return {}
            form = form[0]
        return _dictionary(i == 0).get(form, {})

    def phrases(self, symbol: str, start: int) -> list[tuple[int, Node | LexicalEntry]]:
        """All phrases of a kind that start there, with their ends."""
        key = symbol, start
        if key not in self.found:
            self.found[key] = list(self._search(symbol, start))
        return self.found[key]

    def _search(self, symbol: str, start: int) -> Iterator[tuple[int, Node | LexicalEntry]]:
        if symbol == "close":
            yield from self._closes(start)
        elif start < len(self.forms):
            words = self.words[start]
            yield from ((start + 1, entry) for entry in words.get(symbol, ()))
            for rule in rules_of(symbol):
                if not _starts_of(rule).isdisjoint(words):
                    yield from self._extend(rule, 0, start, ())

    def _closes(self, start: int) -> Iterator[tuple[int, LexicalEntry]]:
        if self.forms[start : start + 1] == (",",):
            yield start + 1, CLOSE
        elif self.forms[start : start + 1] == (".",) or self.forms[start - 1] == ",":
            yield start, CLOSE

    def _extend(
        self, rule: Rule, i: int, start: int, children: tuple[Child, ...]
    ) -> Iterator[tuple[int, Node]]:
        """The phrases by a rule whose first i items are done."""
        if i == len(rule.items):
            if node := join(rule, children):
                yield start, node
            return
        item = rule.items[i]
        if item.optional:
            yield from self._extend(rule, i + 1, start, children)
        for end, child in self.phrases(item.symbol, start):
            if _fits(item, child):
                yield from self._extend(rule, i + 1, end, (*children, (item, child)))


def _fits(item: Item, child: Node | LexicalEntry) -> bool:
    """True if a phrase has what the item asks for, whatever stands beside it."""
    features = child.features
    return all(
        variable or features.get(name, ANY) & atoms for name, atoms, variable in item.demands
    )


def parse_tree(words: Sequence[str]) -> Node | None:
    """The one phrase structure of a sentence; None where there is none, or more than one."""
    chart = _Chart(tuple(words))
    trees = [tree for end, tree in chart.phrases("sentence", 0) if end == len(words)]
    return trees[0] if len(trees) == 1 and isinstance(trees[0], Node) else None


@cache
def fragment(symbol: str, words: tuple[str, ...], kind: int = ANY) -> Node:
    """The phrase of a kind and type that these words are, as they stand inside a sentence."""
    chart = _Chart(("", *words))
    phrases = (phrase for end, phrase in chart.phrases(symbol, 1) if end == len(words) + 1)
    return next(p for p in phrases if isinstance(p, Node) and p.features.get("type", ANY) & kind)


def parse(words: Sequence[str]) -> Sentence | None:
    """The labels of a sentence of the language, None for any other words."""
    tree = parse_tree(words)
    return analyze(tree).sentence() if tree else None
