"""Attention maps that need no model: what a head has to beat."""

import numpy as np

from tprprobe.analyses.attention.counts import Maps
from tprprobe.analyses.attention.gold_maps import Marks

LONGEST = 32
OFFSETS = [offset for offset in range(-LONGEST, LONGEST + 1) if offset]


def make_baselines(marks: Marks) -> Maps:
    """Of one question the maps uniform, nearest, and one an offset in OFFSETS.

    nearest: a '/' attends to the digits of the next number, all others to the nearest '/' on their
    left. A query whose key does not exist attends uniformly.
    """
    size = len(marks)
    maps = np.zeros((2 + len(OFFSETS), size, size))
    maps[1] = _nearest(marks)
    for row, offset in enumerate(OFFSETS, start=2):
        maps[row] = np.eye(size, k=offset)
    maps[maps.sum(-1) == 0] = 1.0
    return maps / maps.sum(-1, keepdims=True)


def _nearest(marks: Marks) -> np.ndarray:
    index, slashes = np.arange(len(marks)), np.flatnonzero(marks.slash)
    digits = np.flatnonzero(marks.number >= 0)
    weights = np.zeros((len(marks), len(marks)))
    for query in index[slashes[0] + 1 :]:
        weights[query, slashes[slashes < query][-1]] = 1
    for slash in slashes:
        following = digits[digits > slash]
        weights[slash] = marks.number == marks.number[following[0]]
    return weights
