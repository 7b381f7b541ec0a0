"""Referents of the noun phrases of a sentence, resolved from left to right.

A pronoun means the latest subject of a main clause that agrees with it; below the main clause, and
for an owner, that of the same sentence comes first.
"""

from collections.abc import Callable, Iterator, Sequence

from tprpapers.worlds.english.annotation import Analysis, Filler
from tprpapers.worlds.english.atoms import mask
from tprpapers.worlds.english.grammar import Node
from tprpapers.worlds.english.meaning import Mention, mentions
from tprpapers.worlds.english.story import Actors, Referent

GENDERS = {mask(gender): gender for gender in ("female", "male", "neuter")}
PERSONS = ("np", "simple", "agent", "goal", "place")  # phrases that mean somebody or something

Settle = Callable[[Mention, int | None], int | None]  # whom a noun or name means, given the owner


def agrees(pronoun: Mention, referent: Referent) -> bool:
    """True if a pronoun can refer to somebody: same type, single, not known to be of another
    gender.
    """
    single = referent.count == "a" and bool(pronoun.type & referent.type)
    return single and referent.gender in ("", GENDERS[pronoun.gender])


def antecedent(
    pronoun: Mention, subjects: Sequence[Actors], referent: Callable[[int], Referent]
) -> int | None:
    """The referent of a pronoun among the subjects before it, of which the latest comes last."""
    single = (subject[0] for subject in reversed(subjects) if len(subject) == 1)
    return next((who for who in single if agrees(pronoun, referent(who))), None)


def find(mention: Mention, owner: int | None, referents: Sequence[Referent]) -> int | None:
    """The referent of a noun or a name; the latest, if there are several."""
    for who in reversed(range(len(referents))):
        referent = referents[who]
        if mention.shape == "name":
            if mention.type & referent.type and referent.bears(mention.name):
                return who
        elif mention.noun == referent.noun and owner == referent.owner:
            return who
    return None


def resolve(
    analysis: Analysis, subjects: Sequence[Actors], referents: Sequence[Referent], settle: Settle
) -> dict[int, Actors]:
    """The referents of phrases, by head word; phrases that cannot be resolved are left out."""
    main, place = _main_heads(analysis), subject_place(analysis)
    actors: dict[int, Actors] = {}

    def pronoun(mention: Mention, below: bool) -> int | None:
        clause_subject = [actors[place]] if below and place in actors else []
        return antecedent(mention, [*subjects, *clause_subject], referents.__getitem__)

    def resolve_mention(mention: Mention, below: bool) -> int | None:
        if mention.shape == "pronoun":
            return pronoun(mention, below)
        owner = resolve_mention(mention.owner, True) if mention.owner else None
        return None if mention.owner and owner is None else settle(mention, owner)

    for filler in sorted(phrases(analysis), key=lambda filler: filler.head):
        if filler.head not in actors:
            assert isinstance(filler.phrase, Node)
            mentioned = [
                resolve_mention(mention, filler.head not in main)
                for mention in mentions(filler.phrase)
            ]
            if None not in mentioned:
                actors[filler.head] = tuple(who for who in mentioned if who is not None)
    return actors


def phrases(analysis: Analysis) -> Iterator[Filler]:
    """The phrases that play a role and have a referent."""
    for predication in analysis.predications.values():
        for filler in predication.fillers:
            if isinstance(filler.phrase, Node) and filler.phrase.rule.symbol in PERSONS:
                yield filler


def _main_heads(analysis: Analysis) -> set[int]:
    """The heads of what plays a part in the main clause itself."""
    root = analysis.heads.index(0)
    links = zip(analysis.heads, analysis.relations, strict=True)
    joined = [i for i, link in enumerate(links) if link == (root + 1, "conj")]
    predications = (analysis.predications.get(i) for i in (root, *joined))
    return {
        filler.head for predication in predications if predication for filler in predication.fillers
    }


def subject_place(analysis: Analysis) -> int:
    """The word at the head of the subject of the main clause."""
    root = analysis.heads.index(0) + 1
    links = enumerate(zip(analysis.heads, analysis.relations, strict=True))
    return next(i for i, (head, rel) in links if head == root and rel in ("nsubj", "nsubj:pass"))
