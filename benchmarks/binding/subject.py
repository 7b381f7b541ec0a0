"""Subjects: vectors whose binding is known, the split that withholds pairs, and edits with their answers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import nn

from benchmarks.binding.schemes import SCHEMES
from benchmarks.binding.structure import Array, Pair, Structure, Swaps, Symbols

WITHHELD, TESTED = 0.08, 0.25  # shares of pairs and of sequences
EDITS = {"train": 600, "seen": 120, "withheld": 120}
KEY = "key"  # the role of what is no filler
Run = Callable[[Sequence[Symbols]], Array]
Reader = Callable[[Array, Sequence[Symbols]], list[Symbols]]


@dataclass(frozen=True)
class World:
    """Sequences and a model of them.

    run    the vectors of sequences, without noise: what the model does after an edit of its input
    states the vectors that methods see, [sequence, d]
    read   which symbols are read from vectors, of sequences of these lengths, in their order; None if
           the nearest vector of the model decides
    twin   the same of a twin that learned nothing; None if there is none
    """

    sequences: tuple[Symbols, ...]
    run: Run
    states: Array
    read: Reader | None = None
    twin: Run | None = None


@dataclass(frozen=True)
class Subject:
    """A source of worlds.

    needs    the option that gives the folder of what it reads
    binding  True if fillers are bound to the asked roles, False if not, None if nobody knows
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
    reads: bool = True
    shares: bool = False
    ordered: bool = True
    needs: str = ""

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
    """The twin's case, with the same sequences, split and edits; None without a twin."""
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
    train_pairs = {p for i in rows[0] for p in structure.pairs[i]} - withheld
    for kind, n in EDITS.items():
        base = rows[0] if kind == "train" else rows[1]
        edit_pairs = withheld if kind == "withheld" else train_pairs
        case.swaps[kind] = _draw_swaps(case, base, edit_pairs, train_pairs, n, rng)
    return case


def _withhold(structure: Structure, rng: np.random.Generator) -> set[Pair]:
    """Pairs that no fit sees, of fillers and roles that it sees otherwise."""
    counts = Counter(pair for pairs in structure.pairs for pair in pairs)
    by_filler, by_role = (Counter(pair[i] for pair in counts) for i in (0, 1))
    usual = sorted(p for p in counts if by_role[p[1]] > 2 and by_filler[p[0]] > 1)
    withheld_ids = rng.permutation(len(usual))[: max(1, round(WITHHELD * len(counts)))]
    return {usual[i] for i in withheld_ids}


def _draw_swaps(
    case: Case,
    base: Array,
    edit_pairs: set[Pair],
    train_pairs: set[Pair],
    n: int,
    rng: np.random.Generator,
) -> Swaps:
    """Up to n edits of ``base`` that bring in one of ``new`` and else seen pairs only."""
    structure, world, draws = case.structure, case.world, list[tuple[int, Symbols, int, int]]()
    among = set(base.tolist()) if base is case.train else range(len(structure.pairs))
    donors: dict[Pair, list[int]] = {}
    for i, pairs in enumerate(structure.pairs):
        for pair in pairs:
            if pair in edit_pairs and i in among:
                donors.setdefault(pair, []).append(i)
    for _ in range(30 * n if len(base) else 0):
        if len(draws) == n:
            break
        row = int(rng.choice(base))
        place, sequence = int(rng.integers(len(structure.sequences[row]))), structure.sequences[row]
        comes = sorted(pair for pair in donors if pair[1] == structure.pairs[row][place][1])
        if not comes:
            continue
        pair = comes[int(rng.integers(len(comes)))]
        after = (*sequence[:place], pair[0], *sequence[place + 1 :])
        pairs = list(zip(after, structure.scheme(after), strict=True))
        alike = (i for i in donors[pair] if len(structure.sequences[i]) == len(sequence))
        rows = [i for i in alike if i != row]
        fits = pairs.pop(place) == pair and train_pairs.issuperset(pairs)
        if fits and pair[1] != KEY and after != sequence and rows:
            draws.append((row, after, place, rows[int(rng.integers(len(rows)))]))
    rows, places, donor_rows = (np.array([swap[k] for swap in draws], int) for k in (0, 2, 3))
    before, after = structure.rows(rows), structure.of([swap[1] for swap in draws])
    targets = states = world.states[rows]
    if draws:  # the noise of a vector stays
        targets = world.run(after.sequences) + states - world.run(before.sequences)
    return Swaps(states, before, after, places, world.states[donor_rows], targets)


def read_edits(case: Case, edited: Array, swaps: Swaps) -> list[Symbols]:
    """The symbols that edited vectors say: by the model's decoder, else the nearest vectors of the model, the
    edited place first and then every other.
    """
    before, world = swaps.before.sequences, case.world
    if world.read is not None:
        return world.read(edited, before)
    fillers = sorted({filler for filler, _ in case.structure.known})
    readings = list(before)
    for turn in range(max(map(len, before), default=0)):
        candidates = list[Symbols]()
        edit_ids = [i for i, sequence in enumerate(before) if turn < len(sequence)]
        for i in edit_ids:
            place = int(swaps.places[i])
            index = (place, *(k for k in range(len(before[i])) if k != place))[turn]
            candidates += [(*readings[i][:index], f, *readings[i][index + 1 :]) for f in fillers]
        vectors = world.run(candidates).reshape(len(edit_ids), len(fillers), -1)
        distances = np.sum((vectors - edited[edit_ids][:, None]) ** 2, 2)
        for row, (i, best) in enumerate(zip(edit_ids, distances.argmin(1), strict=True)):
            readings[i] = candidates[row * len(fillers) + best]
    return readings


def by_length(sequences: Sequence[Symbols], make: Callable[[list[Symbols]], Array]) -> Array:
    """The vectors of sequences, which are made for those of one length together."""
    lengths = np.array([len(s) for s in sequences])
    rows_by_length = [np.flatnonzero(lengths == n) for n in np.unique(lengths)]
    vectors = np.concatenate(
        [make([sequences[i] for i in rows.tolist()]) for rows in rows_by_length]
    )
    return vectors[np.argsort(np.concatenate(rows_by_length))]


def permute(module: nn.Module, seed: int) -> nn.Module:
    """The module with the weights of every matrix and vector in another order."""
    generator = torch.Generator().manual_seed(seed)
    for weight in module.parameters():
        order = torch.randperm(weight.numel(), generator=generator)
        weight.data = weight.data.flatten()[order].reshape(weight.shape)
    return module
