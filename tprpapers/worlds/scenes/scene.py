"""Scenes: the facts that an image shows and its captions tell."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tprpapers.worlds.scenes.nouns import (
    ADVERBS,
    COLORS,
    COUNTS,
    KINDS,
    PLACES,
    POSTURES,
    PREPOSITIONS,
    SIZES,
    VERBS,
)
from tprprobe.data.dataset import split_by_hash

COMPOSITIONAL = "compositional"
SKIPPED = 3  # from one kind's unseen color to the next one's, so that none stands for a class
CHANCES = {"size": 0.5, "manner": 0.3, "other": 0.75}


@dataclass(frozen=True, slots=True)
class Group:
    """One or more of a kind that look alike; `size` may be empty.

    Persons' `color` is that of their hats, or without ``hats`` their own, as in the first version.
    """

    kind: str
    count: int
    color: str
    size: str
    hats: bool = field(default=True, repr=False)  # the repr says the split


@dataclass(frozen=True, slots=True)
class Scene:
    """Somebody, what they do, how ("" if it does not show), to or near what, and where.

    With a verb of VERBS the other group is its object, and `relation` is empty; with one of
    POSTURES it stands in the relation of a preposition.
    """

    main: Group
    action: str
    manner: str
    relation: str
    second: Group | None
    place: str

    @property
    def is_unseen(self) -> bool:
        """True if the main group has a color that no scene of train, dev or test gives its kind."""
        return self.main.color == unseen_color(self.main.kind)


def without_hats(scene: Scene) -> Scene:
    """The scene of the first version: persons are colored themselves."""
    second = scene.second and replace(scene.second, hats=False)
    return replace(scene, main=replace(scene.main, hats=False), second=second)


def unseen_color(kind: str) -> str:
    """The color that things of this kind have as a main group in `compositional` only."""
    return COLORS[list(KINDS).index(kind) * SKIPPED % len(COLORS)]


def split_of(scene: Scene) -> str:
    """The split that a scene belongs to, whatever the seed: no scene is in two."""
    if scene.is_unseen:
        return COMPOSITIONAL
    # the splits of what ships were made when colors were spelled so
    # the names that fields had when the splits were drawn, which the checkpoints were trained on
    text = repr(scene).replace("color=", "colour=").replace("second=", "other=")
    return split_by_hash(text)


def draw(rng: np.random.Generator, split: str) -> Scene:
    """A scene of a split."""
    while split_of(scene := _draw_scene(rng, split == COMPOSITIONAL)) != split:
        pass
    return scene


def _draw_scene(rng: np.random.Generator, unseen: bool) -> Scene:
    main = _group(rng, ("person", "animal"))
    if unseen:
        main = Group(main.kind, main.count, unseen_color(main.kind), main.size)
    kind = KINDS[main.kind]
    manner = _one(rng, ADVERBS) if rng.random() < CHANCES["manner"] else ""
    place = _one(rng, list(PLACES))
    if rng.random() >= CHANCES["other"]:
        return Scene(main, _one(rng, list(POSTURES)), manner, "", None, place)
    if rng.random() < 0.5:
        verb = _one(rng, [name for name, verb in VERBS.items() if kind.category in verb.subjects])
        second = _group(rng, VERBS[verb].objects, but=main.kind)
        return Scene(main, verb, manner, "", second, place)
    second = _group(rng, ("thing", "support"))
    fitting = [
        p for p, categories in PREPOSITIONS.items() if KINDS[second.kind].category in categories
    ]
    return Scene(main, _one(rng, list(POSTURES)), manner, _one(rng, fitting), second, place)


def _group(rng: np.random.Generator, categories: Sequence[str], but: str = "") -> Group:
    kinds = [name for name, kind in KINDS.items() if kind.category in categories and name != but]
    count = int(rng.choice(len(COUNTS), p=[0.55, 0.25, 0.12, 0.08])) + 1
    size = _one(rng, SIZES) if rng.random() < CHANCES["size"] else ""
    return Group(_one(rng, kinds), count, _one(rng, COLORS), size)


def _one(rng: np.random.Generator, values: Sequence[str]) -> str:
    return values[int(rng.integers(len(values)))]
