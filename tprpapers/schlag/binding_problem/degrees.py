"""Polynomial degrees in the input that attention reaches, layer by layer, computed exactly."""

import numpy as np
import pandas as pd
from jaxtyping import Shaped

TOKENS, WIDTH, LAYERS = 3, 4, 4


def measure_degrees(layers: int = LAYERS, seed: int = 0) -> pd.DataFrame:
    """The polynomial degree in the input of every layer's states, attention weights held fixed.

    Columns: attention (standard, tp), layer (0 is the input), degree. TP-attention doubles it, to
    2^layer, standard attention leaves it at 1. Exact: along a line x + t y of integers of any size,
    t = 0, 1, …, the degree is the highest order of differences that do not all vanish.
    Source: schlag Sec. 2.1.
    """
    rng = np.random.default_rng(seed)
    start, step = rng.integers(-3, 4, (2, TOKENS, WIDTH)).astype(object)
    maps = rng.integers(1, 3, (layers, 3, WIDTH, WIDTH)).astype(object)  # V, R and O
    biases = rng.integers(1, 3, (layers, 2, WIDTH)).astype(object)  # of v and r
    attention = rng.integers(1, 3, (layers, TOKENS, TOKENS)).astype(object)
    rows = []
    for kind in ("standard", "tp"):
        points = np.array([start + t * step for t in range(2**layers + 2)])
        rows.append({"attention": kind, "layer": 0, "degree": _degree(points)})
        for layer, (value, role, output) in enumerate(maps):
            bound = attention[layer] @ (points @ value + biases[layer, 0])
            if kind == "tp":
                bound = bound * (points @ role + biases[layer, 1])
            points = points + bound @ output
            rows.append({"attention": kind, "layer": layer + 1, "degree": _degree(points)})
    return pd.DataFrame(rows)


def _degree(points: Shaped[np.ndarray, "point token d_model"]) -> int:
    orders = [order for order in range(len(points)) if np.diff(points, order, axis=0).any()]
    return max(orders)
