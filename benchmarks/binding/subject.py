"""Subjects: vectors whose binding is known, the split that withholds pairs, and edits with their answers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from benchmarks.binding.schemes import SCHEMES
from benchmarks.binding.structure import Array, Pair, Structure, Swaps, Symbols

WITHHELD, TESTED = 0.08, 0.25  # shares of pairs and of sequences
EDITS = {"train": 600, "seen": 120, "withheld": 120}
Run = Callable[[Sequence[Symbols]], Array]
Read = Callable[[Array, Sequence[Symbols]], list[Symbols]]


@dataclass(frozen=True)
class World:
    """Sequences and a model of them.

    run    the vectors of sequences, without noise: what the model does after an edit of its input
    states the vectors that methods see, [sequence, d]
    read   which symbols are read from vectors, of sequences of these lengths, in their order; None if
           the nearest vector of the model decides
    twin   the same of a twin that learnt nothing; None if there is none
    best   R² of the truth itself, as far as noise lets it
    """

    sequences: tuple[Symbols, ...]
    run: Run
    states: Array
    read: Read | None = None
    twin: Run | None = None
    best: float = float("nan")


@dataclass(frozen=True)
class Subject:
    """A source of worlds.

    binding  True if fillers are bound to the asked roles, False if not, None if nobody knows
    learnt   False for twins: what they bind, no training made
    named    the names that a scheme may be given; empty if it is not asked
    reads    True if symbols can be read from vectors, so that edits can be judged
    ordered  False if they are read in sorted order
    """

    name: str
    family: str
    scheme: str
    make: Callable[[int], World]
    binding: bool | None
    size: str = ""
    named: tuple[str, ...] = ()
    learnt: bool = True
    reads: bool = True
    shares: bool = False
    ordered: bool = True

    def says(self, sequence: Symbols) -> Symbols:
        """What is read from the vector of a sequence, if all is right."""
        return sequence if self.ordered else tuple(sorted(sequence))


@dataclass(frozen=True)
class Case:
    """A world of one seed, split: methods are fitted to ``train`` alone."""

    subject: Subject
    world: World
    structure: Structure
    train: Array
    test: Array
    test_withheld: Array
    swaps: dict[str, Swaps]

    @cached_property
    def mean(self) -> Array:
        """The mean vector of what is fitted to."""
        return self.world.states[self.train].mean(0)

    def part(self, rows: Array) -> tuple[Array, Structure]:
        """The vectors and structure of some rows."""
        return self.world.states[rows], self.structure.rows(rows)


def draw(subject: Subject, seed: int) -> Case:
    """The case of a seed."""
    return divide(subject, subject.make(seed), seed)


def twin_of(case: Case, seed: int) -> Case | None:
    """The same sequences, split and edits in the twin; None if there is none."""
    if (run := case.world.twin) is None:
        return None
    world = replace(case.world, run=run, states=run(case.world.sequences))
    return divide(case.subject, world, seed)


def divide(subject: Subject, world: World, seed: int) -> Case:
    """The case of a world: rows to fit to and to test on, and edits."""
    rng = np.random.default_rng((seed, 7))
    structure = Structure(world.sequences, SCHEMES[subject.scheme], subject.shares)
    withheld = _withhold(structure, rng)
    has = np.array([not withheld.isdisjoint(pairs) for pairs in structure.pairs])
    tested = rng.random(len(has)) < TESTED
    rows = [np.flatnonzero(where) for where in (~tested & ~has, tested & ~has, tested & has)]
    case = Case(subject, world, structure, rows[0], rows[1], rows[2], {})
    seen = {p for i in rows[0] for p in structure.pairs[i]} - withheld
    for kind, n in EDITS.items():
        base = rows[0] if kind == "train" else rows[1]
        new = withheld if kind == "withheld" else seen
        case.swaps[kind] = _draw_swaps(case, base, new, seen, n, rng)
    return case


def _withhold(structure: Structure, rng: np.random.Generator) -> set[Pair]:
    """Pairs that no fit sees, of fillers and roles that it sees otherwise."""
    counts = Counter(pair for of in structure.pairs for pair in of)
    by_filler, by_role = (Counter(pair[i] for pair in counts) for i in (0, 1))
    usual = sorted(p for p in counts if by_role[p[1]] > 2 and by_filler[p[0]] > 1)
    chosen = rng.permutation(len(usual))[: max(1, round(WITHHELD * len(counts)))]
    return {usual[i] for i in chosen}


def _draw_swaps(
    case: Case,
    base: Array,
    new: set[Pair],
    seen: set[Pair],
    n: int,
    rng: np.random.Generator,
) -> Swaps:
    """Up to n edits that bring in one of ``new`` and else seen pairs only."""
    of, world = case.structure, case.world
    donors: dict[Pair, list[int]] = {}
    for i, pairs in enumerate(of.pairs):
        for pair in pairs:
            if pair in new:
                donors.setdefault(pair, []).append(i)
    if case.train is base:
        inside = set(base.tolist())
        donors = {pair: [i for i in rows if i in inside] for pair, rows in donors.items()}
    by_role: dict[str, list[Pair]] = {}
    for pair in sorted(donors):
        by_role.setdefault(pair[1], []).append(pair)
    found: list[tuple[int, Symbols, int, int]] = []
    for _ in range(30 * n if len(base) and donors else 0):
        at = int(rng.choice(base))
        place, sequence = int(rng.integers(len(of.sequences[at]))), of.sequences[at]
        comes = by_role.get(of.pairs[at][place][1], [])
        if not comes:
            continue
        pair = comes[int(rng.integers(len(comes)))]
        after = (*sequence[:place], pair[0], *sequence[place + 1 :])
        pairs = list(zip(after, of.scheme(after), strict=True))
        others = pairs[:place] + pairs[place + 1 :]
        if after == sequence or pairs[place] != pair or not seen.issuperset(others):
            continue
        rows = [i for i in donors[pair] if i != at and len(of.sequences[i]) == len(sequence)]
        if pair[1] == "key" or not rows:
            continue
        found.append((at, after, place, rows[int(rng.integers(len(rows)))]))
        if len(found) == n:
            break
    rows = np.array([each[0] for each in found], int)
    after = of.of([each[1] for each in found])
    noise = world.states[rows] - world.run(of.rows(rows).sequences) if len(rows) else 0
    targets = world.run(after.sequences) + noise if len(rows) else world.states[:0]
    places = np.array([each[2] for each in found], int)
    donated = world.states[np.array([each[3] for each in found], int)]
    return Swaps(world.states[rows], of.rows(rows), after, places, donated, targets)


def read_edits(case: Case, edited: Array, swaps: Swaps) -> list[Symbols]:
    """The symbols that edited vectors say: by the model's decoder, else the nearest vectors of the model, the
    edited place first and then every other.
    """
    before, world = swaps.before.sequences, case.world
    if world.read is not None:
        return world.read(edited, before)
    fillers = sorted({filler for filler, _ in case.structure.known})
    said = list(before)
    order = [
        [int(p), *(i for i in range(len(s)) if i != p)]
        for s, p in zip(before, swaps.places, strict=True)
    ]
    for turn in range(max(map(len, order), default=0)):
        tried: list[Symbols] = []
        owner: list[int] = []
        for i, places in enumerate(order):
            for filler in fillers if turn < len(places) else ():
                tried.append((*said[i][: places[turn]], filler, *said[i][places[turn] + 1 :]))
                owner.append(i)
        apart = np.sum((world.run(tried) - edited[owner]) ** 2, 1)
        best: dict[int, int] = {}
        for k, i in enumerate(owner):
            if i not in best or apart[k] < apart[best[i]]:
                best[i] = k
        said = [tried[best[i]] if i in best else now for i, now in enumerate(said)]
    return said
