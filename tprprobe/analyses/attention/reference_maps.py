"""Attention maps that need no model: what a head has to beat."""

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.attention.gold_maps import Marks

Maps = Float[np.ndarray, "head query key"]
LONGEST = 32
OFFSETS = [offset for offset in range(-LONGEST, LONGEST + 1) if offset]


def make_baselines(marks: Marks) -> Maps:
    """The maps of one question without a model: uniform, nearest, and one an offset in OFFSETS.

    nearest is the relation's guess (of '/': to the nearest one on the left). A query whose key does not exist attends uniformly.
    """
    size = len(marks)
    maps = np.zeros((2 + len(OFFSETS), size, size))
    maps[1] = marks.relation.guess(marks.operator, marks.number)
    for row, offset in enumerate(OFFSETS, start=2):
        maps[row] = np.eye(size, k=offset)
    maps[maps.sum(-1) == 0] = 1.0
    return maps / maps.sum(-1, keepdims=True)
