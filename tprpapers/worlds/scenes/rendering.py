"""A scene as the feature vector of its image: its facts mixed by fixed random directions, and noise.

v = max(0, (Σ M_fact) / √8 + noise · ε), with ε and the 2,048 entries of every fact's M_fact drawn from
N(0, 1), M once and for all. Facts are the kind, count, color and size of either group (each of them
has directions of its own), the action, the manner, the relation and the place.
"""

from functools import cache

import numpy as np
from jaxtyping import Float32

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
from tprpapers.worlds.scenes.scene import Scene

WIDTH = 2048
TYPICAL = 8  # facts in a scene
MIXING = 20180601  # seed of M

Fact = tuple[str, str, str]  # of whom, in what respect, how


def facts(scene: Scene) -> list[Fact]:
    """The facts that an image of the scene shows."""
    scene_facts = [
        ("scene", name, getattr(scene, name)) for name in ("action", "manner", "relation", "place")
    ]
    for whose, group in (("main", scene.main), ("other", scene.second)):
        if group:
            scene_facts += [
                (whose, name, str(getattr(group, name)))
                for name in ("kind", "count", "color", "size")
            ]
    return [fact for fact in scene_facts if fact[2]]


def render(scene: Scene, rng: np.random.Generator, noise: float) -> Float32[np.ndarray, " width"]:
    """The feature vector of an image of the scene."""
    directions, rows = _mixing()
    total = directions[[rows[fact] for fact in facts(scene)]].sum(0) / TYPICAL**0.5
    return np.maximum(0, total + noise * rng.standard_normal(WIDTH, np.float32))


@cache
def _mixing() -> tuple[Float32[np.ndarray, "fact width"], dict[Fact, int]]:
    """M and the row of every fact."""
    group = {"kind": KINDS, "count": range(1, len(COUNTS) + 1), "color": COLORS, "size": SIZES}
    scene = {"action": POSTURES | VERBS, "manner": ADVERBS, "relation": PREPOSITIONS}
    factors_by_owner = {"main": group, "other": group, "scene": scene | {"place": PLACES}}
    rows = [
        (whose, name, str(value))
        for whose, factors in factors_by_owner.items()
        for name, values in factors.items()
        for value in values
    ]
    directions = np.random.default_rng(MIXING).standard_normal((len(rows), WIDTH), np.float32)
    return directions, {fact: row for row, fact in enumerate(rows)}
