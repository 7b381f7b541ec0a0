"""SCAN: commands of a phrase-structure grammar and the actions that they mean, all 20,910 of them.

Source: Lake and Baroni 2018 (arXiv:1711.00350), Fig. 6 and 7.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product

import numpy as np

from tprpapers.worlds.loader import Loader
from tprpapers.worlds.symbolsets import SymbolPair, SymbolSet
from tprprobe.data.dataset import ALL, SHARES, Request, split_by_hash
from tprprobe.errors import InputError, unknown

NAME = "scan"
VERBS, SIDES, TURN = ("walk", "look", "run", "jump"), ("left", "right"), "turn"
TIMES = {"": 1, "twice": 2, "thrice": 3}
SPLITS = (*SHARES, ALL)

Meaning = tuple[str, ...]  # the actions of a command


def verb_phrases() -> Iterator[tuple[str, Meaning]]:
    """The 34 phrases without a number: V → D opposite | D around | D | U, and what each means."""
    for verb in VERBS:
        yield verb, (f"I_{verb.upper()}",)
    for verb, side in product((*VERBS, TURN), SIDES):
        turn = (f"I_TURN_{side.upper()}",)
        act = () if verb == TURN else (f"I_{verb.upper()}",)
        yield f"{verb} {side}", turn + act
        yield f"{verb} opposite {side}", 2 * turn + act
        yield f"{verb} around {side}", 4 * (turn + act)


def commands() -> Iterator[tuple[str, Meaning]]:
    """Every command once, and what it means: C → S and S | S after S | S, S → V twice | V thrice | V."""
    repetitions = [
        (f"{phrase} {word}".strip(), times * meaning)
        for phrase, meaning in verb_phrases()
        for word, times in TIMES.items()
    ]
    yield from repetitions
    for (phrase, meaning), (second_phrase, second_meaning) in product(repetitions, repetitions):
        yield f"{phrase} and {second_phrase}", meaning + second_meaning
        yield f"{phrase} after {second_phrase}", second_meaning + meaning


def list_commands(request: Request) -> SymbolSet:
    """The commands of a split, or the first n; by default all of `test`, a tenth. `all` has every one.

    A hash of seed and command decides the split; within it a seed orders the commands.
    Raises: InputError for an unknown split, or more examples than there are.
    """
    if request.spec != NAME:
        raise InputError(f"no data {request.spec!r}: SCAN has no knobs, write {NAME}")
    split = request.split or "test"
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    pairs, symbols = _every()
    if split != ALL:
        pairs = tuple(p for p in pairs if split_by_hash(f"{request.seed}/{p.source}") == split)
    order = np.random.default_rng(request.seed).permutation(len(pairs))
    pairs = tuple(pairs[row] for row in order)
    rows = request.first_rows(len(pairs))
    return SymbolSet(request.spec, split, request.seed, rows, pairs, symbols)


@cache
def _every() -> tuple[tuple[SymbolPair, ...], tuple[str, ...]]:
    """All commands, and the symbols that they and their meanings are made of."""
    pairs = tuple(SymbolPair(command, " ".join(meaning)) for command, meaning in commands())
    words = dict.fromkeys(word for p in pairs for word in f"{p.source} {p.target}".split())
    return pairs, tuple(words)


load = Loader(list_commands)
