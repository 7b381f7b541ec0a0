"""Calculations in words and their programs: ``take n3 from n7 then multiply it by n2`` → ``subtract n7 n3 multiply it n2``.

A program is a sequence of tuples: a relation and its two arguments, which are numbers or ``it``, the result of the tuple before.
``add a to b`` and ``take a from b`` name the second argument first, ``multiply a by b`` and ``divide a by b`` do not. In ``train`` and
``dev`` numbers of the second half are never multiplied or divided; in ``test`` no others are, and every text does.

Source: after the programs of MathQA in Chen et al. 2020 (arXiv:1910.02339); the words, the sizes and the split are our own.
"""

from collections.abc import Sequence

import numpy as np

from tprpapers.successors.splits import World, draw_split, number_symbols
from tprpapers.worlds.loader import Loader
from tprpapers.worlds.symbolsets import SymbolPair, SymbolSet
from tprprobe.data.dataset import Request
from tprprobe.errors import InputError

NUMBERS = number_symbols("n", 12)
RESULT, NEXT, N_CLAUSES = "it", "then", 3
VERBS = {"add": ("add", "to"), "take": ("subtract", "from")} | {
    verb: (verb, "by") for verb in ("multiply", "divide")
}
CLAUSE = ("verb", "first", "preposition", "second")
REVERSED, PRODUCTS = ("add", "take"), ("multiply", "divide")


def draw_programs(request: Request) -> SymbolSet:
    """The texts and programs of a split.

    Raises: InputError for an unknown split, or settings, which there are none of.
    """
    if request.spec != "programs":
        raise InputError(f"no data {request.spec!r}: programs has no settings")
    relations = [relation for relation, _ in VERBS.values()]
    symbols = dict.fromkeys([*VERBS, *relations, "to", "from", "by", NEXT, RESULT])
    return draw_split(request, World(_draw_program, (*symbols, *NUMBERS)))


def translate(words: Sequence[str]) -> list[list[str]]:
    """The program of a text: for every clause its relation and arguments.

    >>> translate("take n3 from n7 then multiply it by n2".split())
    [['subtract', 'n7', 'n3'], ['multiply', 'it', 'n2']]
    """
    program = []
    for start in range(0, len(words), len(CLAUSE) + 1):
        verb, first, _, second = words[start : start + len(CLAUSE)]
        arguments = [second, first] if verb in REVERSED else [first, second]
        program.append([VERBS[verb][0], *arguments])
    return program


def _draw_program(rng: np.random.Generator, is_test: bool) -> SymbolPair:
    verbs = [list(VERBS)[i] for i in rng.integers(len(VERBS), size=1 + rng.integers(N_CLAUSES))]
    if is_test and not {*verbs} & {*PRODUCTS}:
        verbs[int(rng.integers(len(verbs)))] = PRODUCTS[int(rng.integers(2))]
    clauses = []
    for i, verb in enumerate(verbs):
        first, second = _draw_arguments(rng, verb in PRODUCTS, is_test, has_result=i > 0)
        clauses.append(f"{verb} {first} {VERBS[verb][1]} {second}")
    text = f" {NEXT} ".join(clauses)
    return SymbolPair(text, " ".join(word for part in translate(text.split()) for word in part))


def _draw_arguments(
    rng: np.random.Generator, is_product: bool, is_test: bool, has_result: bool
) -> tuple[str, str]:
    """Two numbers, or one and the result of the clause before, in either order."""
    half = len(NUMBERS) // 2
    least, end = (half * is_test, half + half * is_test) if is_product else (0, len(NUMBERS))
    first, second = (NUMBERS[i] for i in rng.integers(least, end, size=2))
    if not has_result:
        return first, second
    return (RESULT, second) if rng.random() < 0.5 else (first, RESULT)


load = Loader(draw_programs)
