"""Captions of a scene: ways to word it, each telling some of its facts and nothing else."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tprpapers.worlds.english.sentences import Sentence
from tprpapers.worlds.scenes.nouns import (
    COUNTS,
    KINDS,
    PERSON,
    PLACES,
    POSTURES,
    VERBS,
    SceneVerb,
)
from tprpapers.worlds.scenes.scene import Group, Scene
from tprpapers.worlds.scenes.trees import Phrase, label

OMITTED = {"color": 0.3, "size": 0.3, "manner": 0.3, "place": 0.35, "other": 0.15}
DEFINITE = 0.15  # how often the other group has `the`
TRIES = 200

Wording = Callable[[Scene, np.random.Generator], Phrase | None]


def describe(scene: Scene, rng: np.random.Generator, captions: int = 5) -> tuple[Sentence, ...]:
    """``captions`` different captions of a scene, or fewer if it does not have so many."""
    sentences: dict[tuple[str, ...], Sentence] = {}
    for _ in range(TRIES):
        wording = WORDINGS[int(rng.integers(len(WORDINGS)))]
        if phrase := wording(_omit_facts(scene, rng), rng):
            sentence = label(phrase)
            sentences.setdefault(sentence.forms, sentence)
        if len(sentences) == captions:
            break
    return tuple(sentences.values())


def _omit_facts(scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene without some of its facts; a fact that is not told is an empty text."""
    is_told = {name: rng.random() >= chance for name, chance in OMITTED.items()}
    main, second = _plain(scene.main, rng), scene.second and _plain(scene.second, rng)
    if not is_told["other"] and scene.action in POSTURES:
        second = None
    manner = scene.manner if is_told["manner"] else ""
    place = scene.place if is_told["place"] else ""
    return replace(scene, main=main, second=second, manner=manner, place=place)


def _plain(group: Group, rng: np.random.Generator) -> Group:
    color = group.color if rng.random() >= OMITTED["color"] else ""
    return replace(group, color=color, size=group.size if rng.random() >= OMITTED["size"] else "")


def noun(group: Group, article: str = "a") -> Phrase:
    """`two small black dogs`; persons have hats of a color: `two small boys with black hats`."""
    kind = KINDS[group.kind]
    phrase = Phrase(group.kind, "NN") if group.count == 1 else Phrase(kind.plural, "NNS")
    has_hat = group.hats and kind.category == PERSON
    if group.color and has_hat:
        phrase = phrase.behind("nmod", prepositional("with", hat(group)))
    for adjective in filter(None, ("" if has_hat else group.color, group.size)):
        phrase = phrase.before("amod", Phrase(adjective, "JJ"))
    if group.count == 1 or article == "the":
        return phrase.before("det", Phrase(article, "DT"))
    word = COUNTS[group.count - 1]
    if word == "several":
        return phrase.before("amod", Phrase(word, "JJ"))
    return phrase.before("nummod", Phrase(word, "CD"))


def hat(group: Group) -> Phrase:
    """`a black hat`, or `black hats` of several persons."""
    color = Phrase(group.color, "JJ")
    if group.count > 1:
        return Phrase("hats", "NNS").before("amod", color)
    return Phrase("hat", "NN").before("amod", color).before("det", Phrase("a", "DT"))


def prepositional(preposition: str, phrase: Phrase) -> Phrase:
    """`under a table`: the preposition depends on the noun."""
    return phrase.before("case", Phrase(preposition, "IN"))


def place(scene: Scene) -> list[Phrase]:
    """`in the park`, if it is told."""
    if not scene.place:
        return []
    preposition, article = PLACES[scene.place]
    name = Phrase(scene.place, "NN").before("det", Phrase(article, "DT"))
    return [prepositional(preposition, name)]


def other(scene: Scene, rng: np.random.Generator) -> Phrase | None:
    """`a table` or `the table`."""
    article = "the" if rng.random() < DEFINITE else "a"
    return scene.second and noun(scene.second, article)


def verbal(scene: Scene, rng: np.random.Generator, form: str, tag: str, with_place=True) -> Phrase:
    """`sitting quietly under a table in the park`."""
    phrase, second = Phrase(form, tag), other(scene, rng)
    if second and not scene.relation:
        phrase = phrase.behind("obj", second)
    if scene.manner and (scene.manner != "together" or scene.main.count > 1):
        phrase = phrase.behind("advmod", Phrase(scene.manner, "RB"))
    if second and scene.relation:
        phrase = phrase.behind("obl", prepositional(scene.relation, second))
    return phrase.behind("obl", *(place(scene) if with_place else []))


def is_or_are(group: Group) -> Phrase:
    return Phrase("is", "VBZ") if group.count == 1 else Phrase("are", "VBP")


def participle(scene: Scene, rng: np.random.Generator) -> Phrase:
    """`a dog sitting under a table`."""
    return noun(scene.main).behind("acl", verbal(scene, rng, scene.action, "VBG"))


def progressive(scene: Scene, rng: np.random.Generator, with_place: bool = True) -> Phrase:
    """`a dog is sitting under a table`."""
    verb = verbal(scene, rng, scene.action, "VBG", with_place)
    return verb.before("aux", is_or_are(scene.main)).before("nsubj", noun(scene.main))


def present(scene: Scene, rng: np.random.Generator) -> Phrase:
    """`a dog sits under a table`."""
    forms: SceneVerb = (POSTURES | VERBS)[scene.action]
    is_single = scene.main.count == 1
    verb = verbal(
        scene, rng, forms.third if is_single else forms.base, "VBZ" if is_single else "VBP"
    )
    return verb.before("nsubj", noun(scene.main))


def relative(scene: Scene, rng: np.random.Generator) -> Phrase:
    """`a dog that is sitting under a table`."""
    clause = verbal(scene, rng, scene.action, "VBG").before("aux", is_or_are(scene.main))
    return noun(scene.main).behind("acl:relcl", clause.before("nsubj", Phrase("that", "WDT")))


def existential(scene: Scene, rng: np.random.Generator) -> Phrase:
    """`there is a dog under a table in the park`."""
    verb = is_or_are(scene.main).before("expl", Phrase("there", "EX"))
    subject, second = noun(scene.main), other(scene, rng)
    if second and scene.relation:
        subject = subject.behind("nmod", prepositional(scene.relation, second))
    elif second:
        subject = subject.behind("acl", Phrase(scene.action, "VBG").behind("obj", second))
    return verb.behind("nsubj", subject).behind("obl", *place(scene))


def fragment(scene: Scene, rng: np.random.Generator) -> Phrase | None:
    """`a dog under a table in the park`."""
    second = other(scene, rng)
    if not (second and scene.relation):
        return None
    near = prepositional(scene.relation, second)
    return noun(scene.main).behind("nmod", near, *place(scene))


def fronted(scene: Scene, rng: np.random.Generator) -> Phrase | None:
    """`in the park a dog is sitting under a table`."""
    where = place(scene)
    return progressive(scene, rng, with_place=False).before("obl", *where) if where else None


def converse(scene: Scene, rng: np.random.Generator) -> Phrase | None:
    """`a table with a dog under it`."""
    if not (scene.second and scene.relation):
        return None
    pronoun = Phrase("it" if scene.second.count == 1 else "them", "PRP")
    main = noun(scene.main).behind("nmod", prepositional(scene.relation, pronoun))
    return noun(scene.second).behind("nmod", prepositional("with", main), *place(scene))


def coordinated(scene: Scene, rng: np.random.Generator) -> Phrase | None:
    """`a dog and a table in the park`."""
    second = other(scene, rng)
    if not second:
        return None
    phrase = noun(scene.main).behind("conj", second.before("cc", Phrase("and", "CC")))
    return phrase.behind("nmod", *place(scene))


WORDINGS: tuple[Wording, ...] = (
    participle,
    participle,  # the commonest way in COCO
    progressive,
    present,
    relative,
    existential,
    fragment,
    fronted,
    converse,
    coordinated,
)
