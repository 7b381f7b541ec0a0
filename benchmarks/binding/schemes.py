"""Schemes of roles: functions of a sequence that give a role to every symbol."""

import zlib
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from benchmarks.binding.structure import Scheme, Symbols
from tprprobe.analyses.decomposition.role_schemes import join_smallest


def left(sequence: Symbols) -> list[str]:
    """The place from the left."""
    return [str(i) for i in range(len(sequence))]


@lru_cache(100_000)
def tree(sequence: Symbols) -> list[str]:
    """The path from the root of the tree of McCoy et al. 2019: the smallest symbol joins the one after it."""
    return [path.replace("0", "L").replace("1", "R") for path in join_smallest(sequence)]


SCHEMES: Mapping[str, Scheme] = {
    "bag": lambda s: ["any"] * len(s),
    "left": left,
    "right": lambda s: left(s)[::-1],
    "left*right": lambda s: [f"{i}*{len(s) - 1 - i}" for i in range(len(s))],
    "tree": tree,
    "offset": lambda s: [f"{i - (len(s) - 1) // 2:+d}" for i in range(len(s))],  # from the middle
    "after key": lambda s: [f"of {s[i - 1]}" if i % 2 else "key" for i in range(len(s))],
}
CANDIDATES = ("bag", "left", "right", "offset", "left*right", "tree")  # of a named scheme


def shuffled(scheme: Scheme, seed: int) -> Scheme:
    """The control: the same roles, permuted within every sequence."""

    def permuted(sequence: Symbols) -> list[str]:
        roles = scheme(sequence)
        mark = zlib.crc32(" ".join(sequence).encode())
        return [roles[i] for i in np.random.default_rng((seed, mark)).permutation(len(roles))]

    return permuted
