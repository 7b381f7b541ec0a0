"""Noun phrases for somebody: by name, by kind, by pronoun."""

from tprpapers.worlds.english.annotation import article
from tprpapers.worlds.english.atoms import mask
from tprpapers.worlds.english.building import build
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.lexicon import plural
from tprpapers.worlds.english.parsing import fragment
from tprpapers.worlds.english.story import Referent

PRONOUNS = {
    ("female", "nominative"): "she",
    ("female", "accusative"): "her",
    ("male", "nominative"): "he",
    ("male", "accusative"): "him",
}
POSSESSIVES = {"female": "her", "male": "his"}
PERSON = mask("person")
NAMED = mask("person|org|gpe")


def full_name(known: Referent) -> Node:
    """All of a name."""
    return fragment("simple", known.name, known.type)


def short_name(known: Referent) -> Node:
    """A person's surname, the name of anything else."""
    return fragment("simple", known.name[-1:], known.type)


def titled(known: Referent, title: str) -> Node:
    """A title and a surname."""
    return fragment("simple", (title, known.name[-1]))


def definite(known: Referent, determiner: str = "the") -> Node:
    """`the` and the kind, or `that` and the kind of a single one."""
    if known.count == "a":
        return fragment("simple", (determiner, known.noun))
    return fragment("simple", ("the", plural(known.noun)))


def demonstrative(known: Referent) -> Node:
    """`that lawyer`."""
    return definite(known, "that")


def _kind(known: Referent) -> tuple[str, ...]:
    """The kind with what is said before it: `young lawyer`."""
    return (*(trait for trait in sorted(known.traits) if " " not in trait), known.noun)


def indefinite(known: Referent) -> Node:
    """`a`, a number or nothing, and the kind with what is said of it."""
    words = _kind(known)
    if known.count == "a":
        return fragment("simple", (article(words[0]), *words))
    count = (known.count,) if known.count else ()
    return fragment("simple", (*count, plural(known.noun)))


def pronoun(known: Referent, case: str) -> Node:
    """He, him, she, her or it."""
    return fragment("simple", (PRONOUNS.get((known.gender, case), "it"),))


def with_kind(known: Referent) -> Node:
    """`Ford, a carmaker in Kent,`."""
    base = (word for trait in known.traits if " " in trait for word in trait.split())
    words = _kind(known)
    kind = fragment("description", (article(words[0]), *words, *base))
    return build("np.kind", {"*": full_name(known), "appos": build("aside.kind", {"*": kind})})


def with_name(known: Referent) -> Node:
    """`the carmaker, Ford,`."""
    name = fragment("name", known.name, known.type)
    return build("np.identity", {"*": definite(known), "appos": build("aside.name", {"*": name})})


def owned(known: Referent, owner: tuple[str, ...]) -> Node:
    """`Ford 's chairman`, `her brother`."""
    return fragment("simple", (*owner, known.noun))


def pair(one: Node, other: Node) -> Node:
    """Two joined by `and`."""
    return build("np.coordinated", {"*": one, "conj": build("second.np", {"*": other})})


def is_single(types: int) -> bool:
    """True if only persons, only organizations or only places can stand there."""
    return (types & NAMED).bit_count() == 1
