"""Labels read off a phrase: words in order, heads, relations, frames and entities."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tprprobe.data.english.grammar import Item, Node
from tprprobe.data.english.lexicon import VOWELS, Entry
from tprprobe.data.english.sentences import Argument, Entity, Frame, Sentence, Span, Word

CLOSE = Entry(",", ",", "close")  # a comma that vanishes before another comma or a stop

CONSONANTAL = ("university", "union")  # a vowel in writing only


@dataclass(slots=True)
class Filler:
    """A phrase that plays a role of a predicate; `role` is the one before any passive."""

    role: str
    label: str
    span: Span
    phrase: Node | Entry
    head: int


@dataclass(slots=True)
class Predication:
    """A predicate where it stands, with what fills its roles."""

    entry: Entry
    span: Span
    tense: int = 0
    fillers: list[Filler] = field(default_factory=list)


@dataclass(slots=True)
class _Placed:
    """A part of a phrase after its words were placed: `open` are the roles not yet filled."""

    phrase: Node | Entry
    span: Span
    head: int
    open: list[tuple[int, str]]


Parts = list[tuple[Item, _Placed]]


@dataclass(slots=True)
class Analysis:
    """A sentence taken apart; predications by the word of the predicate."""

    entries: list[Entry] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    predications: dict[int, Predication] = field(default_factory=dict)
    entities: list[Entity] = field(default_factory=list)

    def sentence(self) -> Sentence:
        """The labels as plain data."""
        words = zip(surface(self.entries), self.entries, self.heads, self.relations, strict=True)
        return Sentence(
            tuple(Word(form, entry.tag, head, rel) for form, entry, head, rel in words),
            tuple(_frame(self.predications[i]) for i in sorted(self.predications)),
            tuple(self.entities),
        )


def _frame(predication: Predication) -> Frame:
    found = sorted(Argument(filler.span, filler.label) for filler in predication.fillers)
    return Frame(predication.span, predication.entry.roleset, tuple(found))


def article(following: str) -> str:
    """`a` or `an`, by the word after it."""
    return "an" if following[0].lower() in VOWELS and following not in CONSONANTAL else "a"


def surface(entries: list[Entry]) -> list[str]:
    """The words as they are written: `an` before vowels, a capital at the start."""
    forms = [entry.form for entry in entries]
    for i, form in enumerate(forms[:-1]):
        if form == "a":
            forms[i] = article(forms[i + 1])
    forms[0] = forms[0][0].upper() + forms[0][1:]
    return forms


def _leaves(phrase: Node | Entry) -> Iterator[Entry]:
    if isinstance(phrase, Entry):
        yield phrase
    else:
        for _, child in phrase.parts:
            yield from _leaves(child)


def _silent(leaves: list[Entry]) -> Iterator[bool]:
    """Which words vanish: closing commas after another one, or with a stop behind them."""
    for i, leaf in enumerate(leaves):
        if leaf is not CLOSE:
            yield False
        else:
            following = next(other for other in leaves[i:] if other is not CLOSE)
            yield leaves[i - 1] is CLOSE or following.form == "."


class _Annotator:
    """Walks a phrase from left to right and writes an analysis."""

    def __init__(self, tree: Node) -> None:
        self.analysis = Analysis()
        self.silent = _silent(list(_leaves(tree)))

    def place(self, phrase: Node | Entry) -> _Placed | None:
        """Place the words of a phrase and link them; None for a comma that vanishes."""
        if isinstance(phrase, Entry):
            return None if next(self.silent) else self._place_word(phrase)
        start = len(self.analysis.entries)
        placed = [(item, self.place(child)) for item, child in phrase.parts]
        parts = [(item, part) for item, part in placed if part]
        whole = _Placed(phrase, (start, len(self.analysis.entries)), self._attach(parts), [])
        self._note(phrase, whole)
        self._give_roles(phrase, whole, parts)
        return whole

    def _place_word(self, entry: Entry) -> _Placed:
        analysis, here = self.analysis, len(self.analysis.entries)
        analysis.entries.append(entry)
        analysis.heads.append(0)
        analysis.relations.append("root")
        span = (here, here + 1)
        if entry.roleset:
            analysis.predications[here] = Predication(entry, span)
        return _Placed(entry, span, here, [])

    def _attach(self, parts: Parts) -> int:
        """The head of the parts, with the others made its dependents."""
        head = next(part.head for item, part in parts if item.relation == "*")
        for item, part in parts:
            if item.relation != "*":
                self.analysis.heads[part.head] = head + 1
                self.analysis.relations[part.head] = item.relation
        return head

    def _note(self, phrase: Node, whole: _Placed) -> None:
        """What kind of phrase it is may say the type of an entity, or more of a predicate."""
        if phrase.rule.entity:
            self.analysis.entities.append(Entity(whole.span, phrase.rule.entity))
        elif phrase.rule.symbol == "verb":
            self.analysis.predications[whole.head].span = whole.span
        elif phrase.rule.symbol == "vg":
            self.analysis.predications[whole.head].tense = phrase.features["tense"]

    def _give_roles(self, phrase: Node, whole: _Placed, parts: Parts) -> None:
        """Fill the roles that the parts play here; the others stay open for the mother."""
        predicate = next((part.head for item, part in parts if item.predicate), whole.head)
        if phrase.rule.gap:
            whole.open.append((whole.head, phrase.rule.gap))
        for item, part in parts:
            if item.role:
                self._fill([(predicate, item.role)], part)
            if item.filled:
                key = item.filled
                self._fill(part.open, next(p for i, p in parts if key in (i.role, i.relation)))
            else:
                whole.open += part.open
        for item, part in parts:
            if item.fills:
                self._fill(whole.open, part)
                if not _relative(part):  # the antecedent fills them too
                    whole.open = []

    def _fill(self, roles: list[tuple[int, str]], part: _Placed) -> None:
        for place, role in roles:
            predication = self.analysis.predications[place]
            label = ("R-" if _relative(part) else "") + predication.entry.roles.get(role, role)
            filler = Filler(role, label, part.span, part.phrase, part.head)
            predication.fillers.append(filler)


def _relative(part: _Placed) -> bool:
    return isinstance(part.phrase, Entry) and part.phrase.tag in ("WP", "WDT")


def analyze(tree: Node) -> Analysis:
    """A sentence taken apart into words, heads, predications and entities."""
    annotator = _Annotator(tree)
    annotator.place(tree)
    return annotator.analysis
