"""The words: every form with its tag, its features and, for predicates, its roleset."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tprpapers.worlds.english.atoms import Features, features, mask
from tprprobe.files.settings import read_toml

NAMES = {"last": "person", "company": "org", "country": "gpe", "city": "gpe", "continent": "loc"}
GPE = ("country", "city")  # nouns and names that are of type gpe
ROLES = {"S": "ARG0", "O": "ARG1", "R": "ARG2", "P": "ARG3", "C": "ARG1"}
CAUSATIVE = {"O": "ARG1", "C": "ARG2"}  # whom one urges, and what to do
TELLING = ("clausal", "control", "causative")  # frames of what is said, not done
VOWELS = "aeiou"


@dataclass(frozen=True, slots=True, eq=False)
class LexicalEntry:
    """One form of one word in one class; `lexeme` names the word, the form apart."""

    form: str
    tag: str
    lexeme: str
    features: Features = field(default_factory=dict)
    roleset: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.form


@dataclass(frozen=True, slots=True)
class Verb:
    """The types that a verb selects, as masks, and the noun for its event."""

    lexeme: str
    frame: str
    particle: str
    s: int
    o: int
    r: int
    noun: str
    comes: bool  # or else it happens and takes place
    priced: bool
    goods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words by class; verbs by lexeme; the plain lists of names and kinds."""

    classes: Mapping[str, tuple[LexicalEntry, ...]]
    verbs: Mapping[str, Verb]
    names: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, tuple[str, ...]]
    relations: Mapping[str, tuple[str, ...]]
    adjectives: Mapping[str, tuple[str, ...]]
    titles: Mapping[str, str]


def plural(noun: str) -> str:
    """The plural of a noun, or the third person of a verb."""
    if noun.endswith("y") and noun[-2] not in VOWELS:
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "sh", "ch", "x", "z")) else "s")


def past(verb: str) -> str:
    """The regular past of a verb."""
    if verb.endswith("y") and verb[-2] not in VOWELS:
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


def _lists(table: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(words.split()) for name, words in table.items()}


def _by_word(lists: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """The types of each word: those of all lists that have it."""
    types: defaultdict[str, int] = defaultdict(int)
    for kind, words in lists.items():
        for word in words:
            types[word] |= mask("gpe" if kind in GPE else kind)
    return types


def _name_entries(names: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, LexicalEntry]]:
    types: defaultdict[str, int] = defaultdict(int)
    for group, kind in NAMES.items():
        for form in names[group]:
            types[form] |= mask(kind)
    for gender in ("female", "male"):
        for form in names[gender]:
            yield "first", LexicalEntry(form, "NNP", form, features(gender=gender, type="person"))
    for group, kind in NAMES.items():
        for form in names[group]:
            rivals = types[form] & ~mask(kind)
            yield group, LexicalEntry(form, "NNP", form, {"type": mask(kind), "rivals": rivals})


def _noun_entries(
    nouns: Mapping[str, tuple[str, ...]], name: str
) -> Iterator[tuple[str, LexicalEntry]]:
    for lemma, types in _by_word(nouns).items():
        for form, tag, number in ((lemma, "NN", "singular"), (plural(lemma), "NNS", "plural")):
            yield name, LexicalEntry(form, tag, lemma, {"type": types, "number": mask(number)})


def _relation_entries(
    relations: Mapping[str, tuple[str, ...]],
) -> Iterator[tuple[str, LexicalEntry]]:
    for lemma, owners in _by_word(relations).items():
        entry_features = features(type="person", number="singular") | {"owner": owners}
        yield "relation", LexicalEntry(lemma, "NN", lemma, entry_features)


def _closed_entries(closed: Mapping[str, Any]) -> Iterator[tuple[str, LexicalEntry]]:
    for name, content in closed.items():
        if isinstance(content, dict):
            for form in content["forms"].split():
                yield name, LexicalEntry(form, content["tag"], form)
            continue
        for row in content:
            form, tag = row["form"], row["tag"]
            entry_features = features(**{k: v for k, v in row.items() if k not in ("form", "tag")})
            roleset = "be.01" if name == "copula" else ""
            yield name, LexicalEntry(form, tag, form, entry_features, roleset)


def _verb_forms(lemma: str, row: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, int]]]:
    did = row.get("past", past(lemma))
    yield lemma, "VB", features(form="vb")
    if did != lemma:  # or else nobody could tell `they beat` of today from that of yesterday
        yield lemma, "VBP", features(form="vbp", number="plural")
    yield plural(lemma), "VBZ", features(form="vbz", number="singular")
    yield did, "VBD", features(form="vbd")
    yield row.get("participle", did), "VBN", features(form="vbn")


def _selected(row: Mapping[str, Any]) -> dict[str, str]:
    """The types of subject, object and recipient that a verb asks for."""
    goods = {"o": "goods"} if "goods" in row else {}
    return goods | {slot: row[slot] for slot in "sor" if slot in row}


def _verb_entries(
    group: str, lemma: str, row: Mapping[str, Any]
) -> Iterator[tuple[str, LexicalEntry]]:
    frame = "transitive" if group in ("habitual", "reaction") else group
    entry_features = features(frame=frame, particle=row.get("particle", "none"))
    entry_features |= {slot: mask(kinds) for slot, kinds in _selected(row).items()}
    roles = ROLES | (CAUSATIVE if group == "causative" else {}) | row.get("roles", {})
    roleset = row.get("roleset", f"{lemma}.01")
    for form, tag, inflection in _verb_forms(lemma, row):
        yield (
            "lexical",
            LexicalEntry(
                form, tag, f"{group}:{lemma}", entry_features | inflection, roleset, roles
            ),
        )


def _verb(group: str, lemma: str, row: Mapping[str, Any]) -> Verb:
    s, o, r = (mask(kinds) if (kinds := _selected(row).get(slot)) else 0 for slot in "sor")
    comes, priced = row.get("comes", group in TELLING), row.get("priced", False)
    goods = tuple(row.get("goods", "").split())
    particle = row.get("particle", "")
    return Verb(
        f"{group}:{lemma}", group, particle, s, o, r, row.get("noun", ""), comes, priced, goods
    )


def _entries(table: Mapping[str, Any], nouns: dict[str, tuple[str, ...]]) -> Iterator[tuple]:
    yield from _name_entries(_lists(table["names"]))
    yield from _noun_entries(nouns, "noun")
    yield from _relation_entries(_lists(table["relations"]))
    yield from _closed_entries(table["closed"])
    for title, kind in table["titles"].items():
        yield "title", LexicalEntry(title, "NNP", kind)
    for adjective in dict.fromkeys(" ".join(table["adjectives"].values()).split()):
        yield "adjective", LexicalEntry(adjective, "JJ", adjective)
    for group, rows in table["verbs"].items():
        for lemma, row in rows.items():
            yield from _verb_entries(group, lemma, row)


@cache
def lexicon() -> Lexicon:
    """The lexicon of lexicon.toml."""
    table = read_toml(Path(__file__).with_name("lexicon.toml"))
    kinds = _lists(table["nouns"])
    rows = [(group, *row) for group, rows in table["verbs"].items() for row in rows.items()]
    verbs = {verb.lexeme: verb for verb in (_verb(*row) for row in rows)}
    event_nouns = tuple(dict.fromkeys(verb.noun for verb in verbs.values() if verb.noun))
    goods = tuple(dict.fromkeys(noun for verb in verbs.values() for noun in verb.goods))
    classes = defaultdict(list)
    for name, entry in _entries(table, kinds | {"event": event_nouns, "goods": goods}):
        classes[name].append(entry)
    return Lexicon(
        {name: tuple(entries) for name, entries in classes.items()},
        verbs,
        _lists(table["names"]),
        kinds,
        _lists(table["relations"]),
        _lists(table["adjectives"]),
        table["titles"],
    )


@cache
def forms(symbol: str) -> tuple[str, ...]:
    """The forms of a word class."""
    return tuple(entry.form for entry in lexicon().classes[symbol])
