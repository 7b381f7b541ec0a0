"""Generated examples of a split: drawn until there are enough different ones, disjoint from the other splits."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from tprpapers.worlds.symbolsets import SymbolPair, SymbolSet
from tprprobe.data.dataset import Request
from tprprobe.errors import InputError, unknown

SIZES = {"train": 20_000, "dev": 2_000, "test": 2_000}
MAX_DRAWS = 20  # times the size of a split
C = TypeVar("C")

Draw = Callable[[np.random.Generator, bool], SymbolPair]  # whether it is of the systematic test


def read_counts(settings: type[C], text: str) -> C:
    """The settings of a world, as ``pairs=4,size=10``: whole numbers."""
    names = [field.name for field in fields(settings)]  # pyright: ignore[reportArgumentType]
    values: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in names:
            raise unknown("setting", name, names)
        if not value.isdecimal():
            raise InputError(f"{value!r} for {name}: give a whole number, such as {name}=4")
        values[name] = int(value)
    return settings(**values)


@dataclass(frozen=True)
class World:
    """How a world draws an example, and its symbols."""

    draw: Draw
    symbols: tuple[str, ...]


def draw_split(request: Request, world: World) -> SymbolSet:
    """The examples of a split, or the first n; by default all of ``test``.

    ``train`` and ``dev`` are of the same kind, ``test`` has only combinations that they lack. No source is in two splits.
    """
    split = request.split or "test"
    if split not in SIZES:
        raise unknown("split", split, SIZES)
    rng, pairs = np.random.default_rng(request.seed), dict[str, SymbolPair]()
    if split == "test":
        _draw_more(pairs, world, np.random.default_rng([request.seed, 1]), SIZES["test"], True)
    else:
        _draw_more(pairs, world, rng, SIZES["train"] + SIZES["dev"], False)
    examples = list(pairs.values())
    examples = examples[: SIZES["train"]] if split == "train" else examples[-SIZES[split] :]
    rows = request.first_rows(len(examples))
    return SymbolSet(request.spec, split, request.seed, rows, tuple(examples), world.symbols)


def _draw_more(
    pairs: dict[str, SymbolPair], world: World, rng: np.random.Generator, n: int, is_test: bool
) -> None:
    for _ in range(MAX_DRAWS * n):
        example = world.draw(rng, is_test)
        pairs.setdefault(example.source, example)
        if len(pairs) == n:
            return
    raise InputError(f"fewer than {n:,} different examples can be drawn: give larger settings")


def choose(rng: np.random.Generator, options: tuple[str, ...], n: int) -> list[str]:
    """So many different ones, in random order."""
    return [options[i] for i in rng.permutation(len(options))[:n]]


def number_symbols(letter: str, n: int) -> tuple[str, ...]:
    return tuple(f"{letter}{i}" for i in range(n))
