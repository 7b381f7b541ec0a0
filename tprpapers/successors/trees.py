"""Parts of binary trees: ``cadr a b c d e f g …`` → ``f l m``.

A source is a function and a tree of four levels, its nodes level by level: the root, its two children, four nodes and eight leaves.
``car`` is the left subtree, ``cdr`` the right one, ``cadr`` the ``car`` of the ``cdr``, and so on; the answer has its nodes level by level.
Letters have two halves. In ``train`` and ``dev`` functions of two steps yield letters of the first half, in ``test`` of the second.

Source: after the tasks of car, cdr and cons of Soulos et al. 2023 (arXiv:2306.00751), of whose paper only the abstract was at hand; words,
sizes and the split here are our own.
"""

import numpy as np

from tprpapers.successors.splits import World, draw_split
from tprpapers.worlds.loader import Loader
from tprpapers.worlds.symbolsets import SymbolPair, SymbolSet
from tprprobe.data.dataset import Request
from tprprobe.errors import InputError

LETTERS = tuple("abcdefghijklmnop")
N_NODES = 15
FUNCTIONS = {"car": "0", "cdr": "1", "caar": "00", "cdar": "01", "cadr": "10", "cddr": "11"}


def list_nodes(path: str) -> list[int]:
    """The nodes of a subtree, level by level; every step of the path goes left (0) or right (1).

    >>> list_nodes("10")
    [5, 11, 12]
    """
    root = int("1" + path, 2)
    depth = N_NODES.bit_length() - len(path)
    return [root * 2**level + i - 1 for level in range(depth) for i in range(2**level)]


def draw_trees(request: Request) -> SymbolSet:
    """The trees of a split.

    Raises: InputError for an unknown split, or settings, which there are none of.
    """
    if request.spec != "trees":
        raise InputError(f"no data {request.spec!r}: trees has no settings")
    return draw_split(request, World(_draw_tree, (*FUNCTIONS, *LETTERS)))


def _draw_tree(rng: np.random.Generator, is_test: bool) -> SymbolPair:
    functions, half = (
        [f for f, path in FUNCTIONS.items() if len(path) == 2 or not is_test],
        len(LETTERS) // 2,
    )
    function = functions[int(rng.integers(len(functions)))]
    letters, nodes = rng.integers(len(LETTERS), size=N_NODES), list_nodes(FUNCTIONS[function])
    if len(FUNCTIONS[function]) == 2:
        letters[nodes] = rng.integers(half, size=len(nodes)) + half * is_test
    names = [LETTERS[i] for i in letters]
    return SymbolPair(" ".join([function, *names]), " ".join(names[node] for node in nodes))


load = Loader(draw_trees)
