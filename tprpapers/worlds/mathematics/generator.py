"""DeepMind's generator of the Mathematics Dataset on today's libraries, each draw reproducible.

The package `mathematics_dataset` 1.0.1 was written for the sympy and numpy of 2019 and draws from
global generators. Its few outdated lines are replaced in memory while it is imported, and every
draw seeds all generators from (seed, split, module, index); afterwards they are as they were.
This file imports neither torch nor pandas: worker processes start quickly.
"""

import importlib
import importlib.util
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from types import ModuleType

import numpy as np

from tprprobe.data.dataset import hash_byte
from tprprobe.data.vocabularies.characters import LIMITS
from tprprobe.errors import check_extra

AREA = "arithmetic__"  # the modules that have our own splits small and small-test
LEVELS = {"train-easy": 0, "train-medium": 1, "train-hard": 2}
Bounds = tuple[float, float]  # of the entropy that a question may have
SMALL: dict[Bounds, Bounds] = {(3, 10): (0.5, 2.5), (4, 16): (0.5, 3.0)}  # training → small

# What the library says → what it has to say: today's names, sets in a fixed order, a gcd of
# integers (sympy's took half of the time), and shares of entropy that are exactly 0 where they
# have to be (a Dirichlet draw with 1e-9 is not, once in a million, and an assertion fails).
CORRECTIONS = {
    "sample.number": {"sympy.gcd(value, coprime_to)": "math.gcd(value, coprime_to)"},
    "sample.arithmetic": {
        "np.maximum(1e-9, count_split))": "np.maximum(1e-9, count_split)) * np.sign(count_split)",
    },
    "sample.polynomials": {
        "from sympy.solvers.diophantine import": "from sympy.solvers.diophantine.diophantine import",
        "np.object": "object",
        "coeffs.itemset(index, value)": "coeffs[index] = value",
        "expanded_coefficients.itemset(power, coeffs)": "expanded_coefficients[power] = coeffs",
        "zip(indices, entropies)": "zip(sorted(indices), entropies)",
        "np.maximum(1e-9, counts - 1))": "np.maximum(1e-9, counts - 1)) * (counts > 1)",
    },
    "sample.linear_system": {
        "np.maximum(1e-9, counts - 1))": "np.maximum(1e-9, counts - 1)) * (counts > 1)",
    },
    "util.composition": {
        "random.choice(list(allowed))": "random.choice(sorted(allowed))",
        "entities = set(context.child_entities)": "entities = dict.fromkeys(context.child_entities)",
        "entities.add(maybe_entity)": "entities[maybe_entity] = None",
    },
    "modules.numbers": {
        "randint(remainder_range_lower, remainder_range_upper)": (
            "randint(int(remainder_range_lower), int(remainder_range_upper))"
        ),
    },
}


def _import_corrected(name: str, corrections: Mapping[str, str]) -> None:
    spec = importlib.util.find_spec(f"mathematics_dataset.{name}")
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    source = spec.loader.get_source(spec.name) or ""
    for published, corrected in corrections.items():
        if published not in source:
            raise ImportError(
                f"{spec.name} has no line {published!r}; install mathematics_dataset 1.0.1"
            )
        source = source.replace(published, corrected)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    exec(compile(source, spec.loader.path, "exec"), module.__dict__)
    parent, _, child = spec.name.rpartition(".")
    setattr(sys.modules[parent], child, module)


@cache
def _library() -> ModuleType:
    check_extra("mathematics_dataset", "mathematics", "the Mathematics Dataset")
    for name, corrections in CORRECTIONS.items():
        _import_corrected(name, corrections)
    return importlib.import_module("mathematics_dataset.modules.modules")


def _entropy(split: str) -> Callable[[Bounds], Bounds]:
    """The range of entropies that a split draws from, within the training set's."""
    if (level := LEVELS.get(split)) is None:
        return SMALL.__getitem__

    def third(bounds: Bounds) -> Bounds:
        low, width = bounds[0], bounds[1] - bounds[0]
        return low + level / 3 * width, low + (level + 1) / 3 * width

    return third


@cache
def samplers(split: str) -> dict[str, Callable]:
    """The function that draws a problem, for every module of a split, named `area__module`."""
    library = _library()
    if split in ("interpolate", "extrapolate"):
        areas = library.test() if split == "interpolate" else library.test_extra()
    elif split in LEVELS:
        areas = library.train(_entropy(split))
    else:
        areas = {"arithmetic": library.arithmetic.train(_entropy(split))}
    return {f"{area}__{name}": draw for area, fns in areas.items() for name, draw in fns.items()}


@contextmanager
def _restored() -> Iterator[Callable[[str], None]]:
    """A block's function that seeds all generators of the library; their states are restored afterwards."""
    sympy_random = importlib.import_module("sympy.core.random")
    generators = (random, sympy_random.rng, sympy_random._assumptions_rng)
    states = [generator.getstate() for generator in generators]
    state = np.random.get_state()  # noqa: NPY002 (the library draws from numpy's global generator)

    def seed_all(key: str) -> None:
        digest = blake2b(key.encode(), digest_size=16).digest()
        for generator in generators:
            generator.seed(int.from_bytes(digest, "little"))
        np.random.seed(np.frombuffer(digest, "<u4"))  # noqa: NPY002

    try:
        yield seed_all
    finally:
        for generator, saved in zip(generators, states, strict=True):
            generator.setstate(saved)
        np.random.set_state(state)  # noqa: NPY002


def is_test(question: str) -> bool:
    """True if a question belongs to the half that only `small-test` asks."""
    return hash_byte(question) % 2 == 1


def _draw(module: str, split: str) -> tuple[str, str]:
    draw = samplers(split)[module]
    halves = {False, True}
    if split == "small-test":
        halves = {True}
    elif split == "small" or (split in LEVELS and module.startswith(AREA)):
        halves = {False}
    while True:
        problem = draw()
        question, answer = str(problem.question), str(problem.answer)
        fits = len(question) <= LIMITS["question"] and len(answer) <= LIMITS["answer"]
        if fits and is_test(question) in halves:
            return question, answer


def samples(requests: Iterable[tuple[str, str, int]], seed: int) -> list[tuple[str, str]]:
    """The question and answer of every requested (module, split, index).

    Each is a pure function of these and the seed; it is drawn again while the question or the
    answer is too long, or the question of the half that the split leaves out (`is_test`).
    """
    pairs = []
    with _restored() as seed_all:
        for module, split, index in requests:
            seed_all(f"{seed}/{split}/{module}/{index}")
            pairs.append(_draw(module, split))
    return pairs
