"""Planted vectors: sums of bindings of a known scheme and rank, and nulls that bind nothing to places."""

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.binding.schemes import SCHEMES
from benchmarks.binding.structure import Array, Structure, Symbols
from benchmarks.binding.subject import Run, Subject, World

FILLERS, WIDTH, SEQUENCES, NOISE = "abcdefgh", 32, 1000, 0.05
RANKS = (4, 3)  # of fillers and roles
Inner = Callable[[np.random.Generator, Sequence[str]], Run]


def draw_sequences(
    rng: np.random.Generator,
    fillers: Sequence[str] = FILLERS,
    lengths: Sequence[int] = (3, 4, 5, 6),
    n: int = SEQUENCES,
    zipf: bool = False,
) -> tuple[Symbols, ...]:
    """Different sequences; with ``zipf`` the k-th filler is drawn in proportion to 1/k."""
    weight = 1 / np.arange(1, len(fillers) + 1) if zipf else np.ones(len(fillers))
    sequences: dict[Symbols, None] = {}
    while len(sequences) < n:
        indices = rng.choice(len(fillers), int(rng.choice(lengths)), p=weight / weight.sum())
        sequences.setdefault(tuple(str(fillers[i]) for i in indices))
    return tuple(sequences)


def add_noise(clean: Array, rng: np.random.Generator, share: float, uneven: bool) -> Array:
    """Vectors with noise of this share of the variance; uneven: most of it in few directions."""
    scale = np.ones(clean.shape[1]) if not uneven else 2.0 ** -np.arange(clean.shape[1])
    noise = rng.normal(size=clean.shape) * scale
    noise = noise @ np.linalg.qr(rng.normal(size=(clean.shape[1],) * 2))[0]
    return clean + noise * np.sqrt(share / (1 - share) * clean.var(0).sum() / noise.var(0).sum())


def bind(
    rng: np.random.Generator,
    fillers: Sequence[str],
    scheme: str = "left",
    width: int = WIDTH,
    ranks: tuple[int, int] = RANKS,
    shares: bool = False,
) -> Run:
    """e = Σ W (f ⊗ r), or its mean: a planted TPR. Roles are drawn as they are met, by their names."""
    fs = dict(zip(fillers, rng.normal(size=(len(fillers), ranks[0])), strict=True))
    readout, seed = rng.normal(size=(*ranks, width)), int(rng.integers(2**31))

    def vector(pair: tuple[str, str]) -> Array:
        mark = zlib.crc32(pair[1].encode())
        role = np.random.default_rng((seed, mark)).normal(size=ranks[1])
        return np.einsum("j,k,jkd->d", fs[pair[0]], role, readout)

    vectors: dict[tuple[str, str], Array] = {}

    def run(sequences: Sequence[Symbols]) -> Array:
        structure = Structure(tuple(sequences), SCHEMES[scheme], shares)
        for pair in structure.known:
            if pair not in vectors:
                vectors[pair] = vector(pair)
        table = np.stack([vectors[pair] for pair in structure.known])
        return structure.count(structure.known) @ table

    return run


def _sum_of(table: dict[str, Array], keys: Callable[[Symbols], list[str]]) -> Run:
    return lambda sequences: np.stack([sum(table[k] for k in keys(s)) for s in sequences])


def _table(rng: np.random.Generator, names: Sequence[str]) -> dict[str, Array]:
    return dict(zip(names, rng.normal(size=(len(names), WIDTH)), strict=True))


def bag_of(rng: np.random.Generator, fillers: Sequence[str]) -> Run:
    """e = Σ a_f."""
    return _sum_of(_table(rng, fillers), list)


def additive(rng: np.random.Generator, fillers: Sequence[str]) -> Run:
    """e = Σ a_f + c_r: places are filled, whatever fills them."""
    table = _table(rng, [*fillers, *map(str, range(6))])
    return _sum_of(table, lambda s: [*s, *map(str, range(len(s)))])


def length_of(rng: np.random.Generator, fillers: Sequence[str]) -> Run:
    """e depends on the length alone."""
    table = _table(rng, list(map(str, range(7))))
    return _sum_of(table, lambda s: [str(len(s))])


def hashed(rng: np.random.Generator, fillers: Sequence[str]) -> Run:
    """e is a random vector by sequence."""
    seed = int(rng.integers(2**31))

    def run(sequences: Sequence[Symbols]) -> Array:
        marks = [zlib.crc32(" ".join(s).encode()) for s in sequences]
        return np.stack([np.random.default_rng((seed, m)).normal(size=WIDTH) for m in marks])

    return run


def neighbors(rng: np.random.Generator, fillers: Sequence[str]) -> Run:
    """e = Σ a_f + u(f, next f), where u has mean 0 over either: neighbors, and nothing of places."""
    u = rng.normal(size=(len(fillers), len(fillers), WIDTH))
    u = u - u.mean(0) - u.mean(1, keepdims=True) + u.mean((0, 1))
    pairs = [a + b for a in fillers for b in fillers]
    table = _table(rng, fillers) | dict(zip(pairs, u.reshape(-1, WIDTH), strict=True))
    return _sum_of(table, lambda s: [*s, *(a + b for a, b in pairwise(s))])


def make(
    inner: Inner,
    seed: int,
    fillers: Sequence[str] = FILLERS,
    lengths: Sequence[int] = (3, 4, 5, 6),
    zipf: bool = False,
    uneven: bool = False,
    noise: float = NOISE,
) -> World:
    """The world of a seed: sequences, their vectors, and noise."""
    rng = np.random.default_rng((seed, 1))
    run = inner(rng, fillers)
    sequences = draw_sequences(rng, fillers, lengths, zipf=zipf)
    states = add_noise(run(sequences), rng, noise, uneven)
    return World(sequences, run, states)


def _planted(name: str, scheme: str, shares: bool = False, **options: Any) -> Subject:
    make_world = partial(make, partial(bind, scheme=scheme, shares=shares), **options)
    size = f"{len(FILLERS)} fillers, {SEQUENCES:,} × {WIDTH}, rank {RANKS[0]}×{RANKS[1]}"
    return Subject(
        f"planted {name}", "planted", scheme, make_world, True, size, (scheme,), True, shares
    )


def _null(name: str, inner: Inner, *schemes: str) -> Subject:
    size, accepted = f"{len(FILLERS)} fillers, {SEQUENCES:,} × {WIDTH}", ("bag", "no structure", *schemes)  # fmt: skip
    make_world = partial(make, inner)
    return Subject(f"null {name}", "null", "left", make_world, False, size, accepted, reads=False)


SUBJECTS = (
    _planted("left", "left"),
    _planted("right", "right"),
    _planted("both", "left*right"),
    _planted("tree", "tree", lengths=(3, 4, 5)),
    _planted("offset", "offset", lengths=(3, 5)),
    _planted("Zipfian fillers", "left", zipf=True),
    _planted("uneven noise", "left", uneven=True, noise=0.2),
    _planted("pooled mean", "left", shares=True),
    _null("bag", bag_of),
    _null("additive", additive),
    _null("hash", hashed),
    _null("length", length_of),
    _null("neighbors", neighbors, "before", "after", "wickel"),
)
VALIDATION_RUN = partial(bind, scheme="left*right", width=40, ranks=(5, 4))
SETTINGS: dict[str, Any] = {"fillers": "abcdefghij", "lengths": (2, 3, 4, 5), "noise": 0.1}
VALIDATION = Subject("validation", "validation", "left*right", partial(make, VALIDATION_RUN, **SETTINGS), True)  # fmt: skip
