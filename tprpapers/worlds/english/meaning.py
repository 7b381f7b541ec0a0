"""Mentions: what a phrase says of its referent: name, kind and number."""

from dataclasses import dataclass, replace

from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.lexicon import LexicalEntry


@dataclass(frozen=True, slots=True)
class Mention:
    """The content of a noun phrase. A name with a kind is introduced by it, a kind with a name
    found.
    """

    shape: str  # name, definite, indefinite, pronoun, owned or bare
    type: int
    noun: str = ""
    name: tuple[str, ...] = ()
    gender: int = 0
    count: str = "a"
    traits: frozenset[str] = frozenset()
    owner: "Mention | None" = None


def _entry(phrase: Node, key: str) -> LexicalEntry:
    word = phrase.part(key)
    assert isinstance(word, LexicalEntry)
    return word


def _node(phrase: Node, key: str) -> Node:
    child = phrase.part(key)
    assert isinstance(child, Node)
    return child


def name_of(phrase: Node) -> tuple[str, ...]:
    """The words of a name."""
    return tuple(word.form for _, word in phrase.children if isinstance(word, LexicalEntry))


def traits_of(phrase: Node) -> frozenset[str]:
    """The modifiers of the noun: `young`, `at Ford`."""
    modifiers = (child for item, child in phrase.children if item.relation in ("amod", "nmod"))
    return frozenset(" ".join(_forms(child)) for child in modifiers)


def _forms(phrase: Node | LexicalEntry) -> tuple[str, ...]:
    if isinstance(phrase, LexicalEntry):
        return (phrase.form,)
    return tuple(form for _, child in phrase.children for form in _forms(child))


def add_description(mention: Mention, description: Node) -> Mention:
    """The mention with the modifiers of `a young lawyer at Ford`."""
    return replace(mention, noun=_entry(description, "*").lexeme, traits=traits_of(description))


def _name(name: Node) -> Mention:
    head = name.part("*")
    gender = head.features.get("gender", 0) if head else 0
    return Mention("name", name.features["type"], name=name_of(name), gender=gender)


def _noun(phrase: Node, shape: str, count: str = "a") -> Mention:
    word = _entry(phrase, "*")
    return Mention(shape, word.features["type"], word.lexeme, count=count, traits=traits_of(phrase))


def _owner(phrase: Node) -> Mention:
    if phrase.rule.name == "name":
        return _name(_node(phrase, "*"))
    if phrase.rule.name == "noun":
        return _noun(phrase, "definite")
    return _pronoun(_entry(phrase, "*"))


def _pronoun(word: LexicalEntry) -> Mention:
    return Mention("pronoun", word.features["type"], gender=word.features["gender"])


def _simple(phrase: Node) -> Mention:
    match phrase.rule.name:
        case "pronoun":
            return _pronoun(_entry(phrase, "*"))
        case "name":
            return _name(_node(phrase, "*"))
        case "titled":
            return replace(_name(_node(phrase, "*")), noun=_entry(phrase, "compound").lexeme)
        case "counted":
            return _noun(phrase, "indefinite", _entry(_node(phrase, "nummod"), "*").form)
        case "demonstrative":
            return _noun(phrase, "definite")
        case "bare":
            return _noun(phrase, "bare", "")
        case "owned":
            return replace(_noun(phrase, "owned"), owner=_owner(_node(phrase, "nmod:poss")))
        case shape:
            return _noun(phrase, shape)


def mentions(phrase: Node) -> tuple[Mention, ...]:
    """The mentions of a phrase: one, or two where it joins them."""
    match phrase.rule.symbol, phrase.rule.name:
        case ["simple", _]:
            return (_simple(phrase),)
        case ["name", _]:
            return (_name(phrase),)
        case ["description", _]:
            return (_noun(phrase, "indefinite"),)
        case ["np", "coordinated"]:
            return *mentions(_node(phrase, "*")), *mentions(_node(phrase, "conj"))
        case ["np", "kind"]:
            kind = _node(_node(phrase, "appos"), "*")
            return (add_description(_simple(_node(phrase, "*")), kind),)
        case ["np", "identity"]:
            mention, name = _simple(_node(phrase, "*")), _name(_node(_node(phrase, "appos"), "*"))
            return (replace(mention, name=name.name, gender=name.gender),)
        case _:
            return mentions(_node(phrase, "*"))
