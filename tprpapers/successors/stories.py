"""A world of persons, things and places, as bAbI's second task, with a systematic split.

``mary goes hall . mary takes milk . mary goes office . where is milk`` → ``office`` (without the points: every sentence has three words).
In ``train`` and ``dev``, persons of the second half never take anything; in ``test`` only they do, and only things are asked for.
A thing is where the person who took it last is.

Source: after Weston et al. 2015 (arXiv:1502.05698) and the systematic split of Schlag & Schmidhuber 2018 (arXiv:1811.12143), in
which some persons are kept from some tasks; the words and the split here are our own.
"""

from dataclasses import dataclass

import numpy as np

from tprpapers.successors.splits import World, draw_split, read_counts
from tprpapers.worlds.loader import Loader
from tprpapers.worlds.symbolsets import SymbolPair, SymbolSet
from tprprobe.data.dataset import Request
from tprprobe.errors import InputError

PERSONS = ("mary", "john", "anna", "paul", "lena", "omar", "ruth", "ivan")
PLACES = (
    "hall",
    "office",
    "garden",
    "kitchen",
    "attic",
    "cellar",
    "school",
    "park",
    "shop",
    "barn",
)
OBJECTS = ("milk", "apple", "book", "lamp")
VERBS = ("goes", "takes", "where", "is")


@dataclass(frozen=True)
class StorySettings:
    """The ``sentences`` of a story, and how many of its ``persons`` it has at most."""

    sentences: int = 5
    persons: int = 2

    def __post_init__(self) -> None:
        if self.sentences < 2 or not 1 <= self.persons <= len(PERSONS) // 2:
            raise InputError(
                f"sentences={self.sentences}, persons={self.persons}: give 2 or more sentences, and 1 to "
                f"{len(PERSONS) // 2} persons"
            )


def draw_stories(request: Request) -> SymbolSet:
    """The stories of a split. Settings stand behind the name: ``stories:sentences=5,persons=2``.

    Raises: InputError for an unknown split or setting, or more examples than there are.
    """
    settings = read_counts(StorySettings, request.spec.partition(":")[2])

    def draw(rng: np.random.Generator, is_test: bool) -> SymbolPair:
        half = len(PERSONS) // 2
        persons = PERSONS[half:] if is_test else PERSONS
        cast = [persons[i] for i in rng.permutation(len(persons))[: settings.persons]]
        while True:
            story, places, holders = _draw_story(rng, cast, settings, is_test)
            candidates = [item for item, person in holders.items() if person in places]
            if not is_test:
                candidates += list(places)
            if candidates:
                name = candidates[int(rng.integers(len(candidates)))]
                return SymbolPair(f"{story} where is {name}", places[holders.get(name, name)])

    return draw_split(request, World(draw, (*PERSONS, *PLACES, *OBJECTS, *VERBS)))


def _draw_story(
    rng: np.random.Generator, cast: list[str], settings: StorySettings, is_test: bool
) -> tuple[str, dict[str, str], dict[str, str]]:
    """A story, where its persons are, and who has its things."""
    sentences, places, holders = list[str](), dict[str, str](), dict[str, str]()
    for _ in range(settings.sentences):
        person = cast[int(rng.integers(len(cast)))]
        may_take = is_test or person in PERSONS[: len(PERSONS) // 2]
        if may_take and rng.random() < 0.4:
            item = OBJECTS[int(rng.integers(len(OBJECTS)))]
            holders[item] = person
            sentences.append(f"{person} takes {item}")
        else:
            places[person] = PLACES[int(rng.integers(len(PLACES)))]
            sentences.append(f"{person} goes {places[person]}")
    return " ".join(sentences), places, holders


load = Loader(draw_stories)
