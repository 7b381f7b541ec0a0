"""Labels read off a phrase: words in order, heads, relations, frames and entities."""

from dataclasses import dataclass, field

from tprpapers.worlds.english.grammar import CLOSE, Item, Node
from tprpapers.worlds.english.lexicon import VOWELS, LexicalEntry
from tprpapers.worlds.english.sentences import Argument, Entity, Frame, Sentence, Span, Word

VERBAL = ("verb", "vg")  # phrases of a verb and its particle, its auxiliaries
CONSONANTAL = ("university", "union")  # a vowel in writing only


@dataclass(slots=True)
class Filler:
    """A phrase that plays a role of a predicate; `role` is the one before any passive."""

    role: str
    label: str
    span: Span
    phrase: Node | LexicalEntry
    head: int


@dataclass(slots=True)
class Predication:
    """A predicate where it stands, with what fills its roles."""

    entry: LexicalEntry
    span: Span
    tense: int = 0
    fillers: list[Filler] = field(default_factory=list)


Roles = list[tuple[int, str]]  # of predicates, that are not filled yet
PlacedPhrase = tuple[
    Item, Node | LexicalEntry, int, int, int, Roles
]  # a part: start, end, head, open roles


@dataclass(slots=True)
class Analysis:
    """A sentence taken apart; predications by the word of the predicate."""

    entries: list[LexicalEntry] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    predications: dict[int, Predication] = field(default_factory=dict)
    entities: list[Entity] = field(default_factory=list)

    def drop_last(self) -> None:
        """Take back the last word: a comma at the end of phrases."""
        for words in (self.entries, self.heads, self.relations):
            words.pop()
        for predication in self.predications.values():
            for filler in predication.fillers:
                filler.span = filler.span[0], min(filler.span[1], len(self.entries))

    def sentence(self) -> Sentence:
        """The labels as plain data."""
        words = zip(surface(self.entries), self.entries, self.heads, self.relations, strict=True)
        return Sentence(
            tuple(Word(form, entry.tag, head, rel) for form, entry, head, rel in words),
            tuple(_frame(self.predications[i]) for i in sorted(self.predications)),
            tuple(self.entities),
        )


def _frame(predication: Predication) -> Frame:
    arguments = sorted(Argument(filler.span, filler.label) for filler in predication.fillers)
    return Frame(predication.span, predication.entry.roleset, tuple(arguments))


def article(following: str) -> str:
    """`a` or `an`, by the word after it."""
    return "an" if following[0].lower() in VOWELS and following not in CONSONANTAL else "a"


def surface(entries: list[LexicalEntry]) -> list[str]:
    """The words as they are written: `an` before vowels, a capital at the start."""
    forms = [entry.form for entry in entries]
    for i, form in enumerate(forms[:-1]):
        if form == "a":
            forms[i] = article(forms[i + 1])
    forms[0] = forms[0][0].upper() + forms[0][1:]
    return forms


class _Annotator:
    """Walks a phrase from left to right and writes an analysis."""

    def __init__(self) -> None:
        self.analysis = Analysis()

    def place(self, phrase: Node) -> tuple[int, Roles]:
        """Place the words of a phrase and link them: the word at its head, and its open roles."""
        rule, analysis = phrase.rule, self.analysis
        start, head = len(analysis.entries), 0
        phrases: list[PlacedPhrase] = []
        open_roles: Roles = []
        for item, child in phrase.children:
            begin = len(analysis.entries)
            place, roles = self.place(child) if isinstance(child, Node) else self._place_word(child)
            if place < 0:
                continue
            if item.relation == "*":
                head = place
            open_roles += roles
            phrases.append((item, child, begin, len(analysis.entries), place, roles))
        for item, _, _, _, place, _ in phrases:
            if place != head:
                analysis.heads[place], analysis.relations[place] = head + 1, item.relation
        if rule.entity or rule.symbol in VERBAL:
            self._note(phrase, (start, len(analysis.entries)), head)
        return head, self._give_roles(phrase, head, phrases) if rule.has_roles else open_roles

    def _place_word(self, entry: LexicalEntry) -> tuple[int, Roles]:
        """The place of a word; -1 for a comma after a comma, and a stop removes one."""
        analysis = self.analysis
        previous = analysis.entries[-1] if analysis.entries else None
        if previous is CLOSE and entry is CLOSE:
            return -1, []
        if previous is CLOSE and entry.form == ".":
            analysis.drop_last()
        index = len(analysis.entries)
        analysis.entries.append(entry)
        analysis.heads.append(0)
        analysis.relations.append("root")
        if entry.roleset:
            analysis.predications[index] = Predication(entry, (index, index + 1))
        return index, []

    def _note(self, phrase: Node, span: Span, head: int) -> None:
        """Notes the type of an entity, or more of a predicate, from the kind of the phrase."""
        if phrase.rule.entity:
            self.analysis.entities.append(Entity(span, phrase.rule.entity))
        elif phrase.rule.symbol == "verb":
            self.analysis.predications[head].span = span
        elif phrase.rule.symbol == "vg":
            self.analysis.predications[head].tense = phrase.features["tense"]

    def _give_roles(self, phrase: Node, head: int, phrases: list[PlacedPhrase]) -> Roles:
        """Fill the roles that the parts play here; the others stay open for the mother."""
        predicate = next((place for item, _, _, _, place, _ in phrases if item.predicate), head)
        open_roles = [(head, phrase.rule.gap)] if phrase.rule.gap else []
        for placed_phrase in phrases:
            item, roles = placed_phrase[0], placed_phrase[5]
            if item.role:
                self._fill([(predicate, item.role)], placed_phrase)
            if roles and item.filled:
                self._fill(
                    roles, next(p for p in phrases if item.filled in (p[0].key, p[0].relation))
                )
            else:
                open_roles += roles
        for placed_phrase in phrases:
            if placed_phrase[0].fills:
                self._fill(open_roles, placed_phrase)
                if not _is_relative(placed_phrase[1]):  # the antecedent fills them too
                    return []
        return open_roles

    def _fill(self, roles: Roles, placed_phrase: PlacedPhrase) -> None:
        _, phrase, start, end, head, _ = placed_phrase
        for place, role in roles:
            predication = self.analysis.predications[place]
            label = predication.entry.roles.get(role, role)
            label = f"R-{label}" if _is_relative(phrase) else label
            predication.fillers.append(Filler(role, label, (start, end), phrase, head))


def _is_relative(phrase: Node | LexicalEntry) -> bool:
    return isinstance(phrase, LexicalEntry) and phrase.tag in ("WP", "WDT")


def analyze(tree: Node) -> Analysis:
    """A sentence taken apart into words, heads, predications and entities."""
    annotator = _Annotator()
    annotator.place(tree)
    return annotator.analysis
