"""Schemes of roles: functions of a sequence that give a role to every symbol."""

import zlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from benchmarks.binding.structure import Scheme, Symbols


def bag(sequence: Symbols) -> list[str]:
    """One role for all."""
    return ["any"] * len(sequence)


def left(sequence: Symbols) -> list[str]:
    """The place from the left."""
    return [str(i) for i in range(len(sequence))]


def right(sequence: Symbols) -> list[str]:
    """The place from the right."""
    return left(sequence)[::-1]


def both(sequence: Symbols) -> list[str]:
    """The places from the left and from the right."""
    return [f"{i}*{j}" for i, j in zip(left(sequence), right(sequence), strict=True)]


def offset(sequence: Symbols) -> list[str]:
    """The distance from the middle of a sequence of odd length (of an even one from left of the middle)."""
    return [f"{i - (len(sequence) - 1) // 2:+d}" for i in range(len(sequence))]


@lru_cache(100_000)
def _paths(sequence: Symbols) -> tuple[str, ...]:
    nodes = [(symbol, [i]) for i, symbol in enumerate(sequence)]
    paths = [""] * len(sequence)
    while len(nodes) > 1:
        at = min(range(len(nodes) - 1), key=lambda i: nodes[i][0])
        (_, lower), (symbol, upper) = nodes[at : at + 2]
        for side, leaves in (("L", lower), ("R", upper)):
            for i in leaves:
                paths[i] = side + paths[i]
        nodes[at : at + 2] = [(symbol, lower + upper)]
    return tuple(paths)


def tree(sequence: Symbols) -> list[str]:
    """The path from the root of the tree of McCoy et al. 2019: the smallest symbol joins the one after it."""
    return list(_paths(sequence))


def after_key(sequence: Symbols) -> list[str]:
    """Roles of alternating keys and values: the role of a value is its key; a key has none."""
    return [f"of {sequence[i - 1]}" if i % 2 else "key" for i in range(len(sequence))]


SCHEMES: Mapping[str, Scheme] = {
    "bag": bag,
    "left": left,
    "right": right,
    "left*right": both,
    "tree": tree,
    "offset": offset,
    "after key": after_key,
}
CANDIDATES = ("bag", "left", "right", "offset", "left*right", "tree")  # of a named scheme


def shuffled(scheme: Scheme, seed: int) -> Scheme:
    """The control: the same roles, permuted within every sequence."""

    def permuted(sequence: Symbols) -> list[str]:
        roles = scheme(sequence)
        mark = zlib.crc32(" ".join(sequence).encode())
        return [roles[i] for i in np.random.default_rng((seed, mark)).permutation(len(roles))]

    return permuted
