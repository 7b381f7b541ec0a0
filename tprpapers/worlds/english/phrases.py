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
NAMED_TYPES = mask("person|org|gpe")


def full_name(referent: Referent) -> Node:
    """All of a name."""
    return fragment("simple", referent.name, referent.type)


def short_name(referent: Referent) -> Node:
    """A person's surname, the name of anything else."""
    return fragment("simple", referent.name[-1:], referent.type)


def titled(referent: Referent, title: str) -> Node:
    """A title and a surname."""
    return fragment("simple", (title, referent.name[-1]))


def definite(referent: Referent, determiner: str = "the") -> Node:
    """`the` and the kind, or `that` and the kind of a single one."""
    if referent.count == "a":
        return fragment("simple", (determiner, referent.noun))
    return fragment("simple", ("the", plural(referent.noun)))


def demonstrative(referent: Referent) -> Node:
    """`that lawyer`."""
    return definite(referent, "that")


def _kind(referent: Referent) -> tuple[str, ...]:
    """The kind with what is said before it: `young lawyer`."""
    return (*(trait for trait in sorted(referent.traits) if " " not in trait), referent.noun)


def indefinite(referent: Referent) -> Node:
    """`a`, a number or nothing, and the kind with what is said of it."""
    words = _kind(referent)
    if referent.count == "a":
        return fragment("simple", (article(words[0]), *words))
    count = (referent.count,) if referent.count else ()
    return fragment("simple", (*count, plural(referent.noun)))


def pronoun(referent: Referent, case: str) -> Node:
    """He, him, she, her or it."""
    return fragment("simple", (PRONOUNS.get((referent.gender, case), "it"),))


def with_kind(referent: Referent) -> Node:
    """`Ford, a carmaker in Kent,`."""
    base = (word for trait in referent.traits if " " in trait for word in trait.split())
    words = _kind(referent)
    kind = fragment("description", (article(words[0]), *words, *base))
    return build("np.kind", {"*": full_name(referent), "appos": build("aside.kind", {"*": kind})})


def with_name(referent: Referent) -> Node:
    """`the carmaker, Ford,`."""
    name = fragment("name", referent.name, referent.type)
    return build(
        "np.identity", {"*": definite(referent), "appos": build("aside.name", {"*": name})}
    )


def owned(referent: Referent, owner: tuple[str, ...]) -> Node:
    """`Ford 's chairman`, `her brother`."""
    return fragment("simple", (*owner, referent.noun))


def pair(first_phrase: Node, second_phrase: Node) -> Node:
    """Two joined by `and`."""
    return build(
        "np.coordinated", {"*": first_phrase, "conj": build("second.np", {"*": second_phrase})}
    )


def is_single(types: int) -> bool:
    """True if only persons, only organizations or only places can stand there."""
    return (types & NAMED_TYPES).bit_count() == 1
