"""The binding problem of stacked attention, shown exactly.

Two attention layers of one head, without bias, norm or feed-forward layer: a and c attend to one
cell each, then e attends to both. Does the state of e tell a → b, c → d from a → d, c → b?
Everything is integers (times powers of ½) in float64, so that sums have no rounding and "equal" is
bit for bit.
Source: schlag Sec. 6.2, Eqs. 9–11 (Eq. 11 leaves out the upper layer's role, Eq. 4 demands it).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float64

Vector = Float64[np.ndarray, "d_model"]
Matrix = Float64[np.ndarray, "d_model d_model"]

WIDTH, LARGEST = 6, 5  # of the exact networks: of their states, of their integers
FIRST_BINDING, SECOND_BINDING = {"a": "b", "c": "d"}, {"a": "d", "c": "b"}  # who attends to whom
HALVES, UNEQUAL = (0.5, 0.5), (0.75, 0.25)
CELLS = "abcde"


@dataclass(frozen=True, eq=False)
class UpperHead:
    """A head of the upper layer: V', O' and the weights with which e attends to a and to c."""

    value: Matrix
    output: Matrix
    weights: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Network:
    """Two attention layers; with roles of ones it is the standard one, which binds nothing."""

    cells: Mapping[str, Vector]  # z of a, b, c, d and e
    roles: Mapping[str, Vector]  # r of a, c and e
    value: Matrix  # V and O of the lower layer
    output: Matrix
    upper: tuple[UpperHead, ...]
    feed_forward: Float64[np.ndarray, "d_ff d_model"] | None = None  # F between the layers

    def represent(self, attended: Mapping[str, str]) -> Vector:
        """z_e + Σ_heads O'[V'(w_a z'_a + w_c z'_c) ⊙ r_e], with z'_a = z_a + O(V z_b ⊙ r_a) if a → b."""
        below = {
            cell: self._between(
                self.cells[cell]
                + self.output @ (self.value @ self.cells[source] * self.roles[cell])
            )
            for cell, source in attended.items()
        }
        state = self.cells["e"]
        for head in self.upper:
            mixed = head.weights[0] * below["a"] + head.weights[1] * below["c"]
            state = state + head.output @ (head.value @ mixed * self.roles["e"])
        return state

    def difference(self) -> Vector:
        """Σ_heads O'[(V'O[V(z_b − z_d) ⊙ (w_a r_a − w_c r_c)]) ⊙ r_e]: by how much the states differ.

        It holds where nothing stands between the layers.
        """
        moved = self.value @ (self.cells["b"] - self.cells["d"])
        total = np.zeros_like(moved)
        for head in self.upper:
            scaled = head.weights[0] * self.roles["a"] - head.weights[1] * self.roles["c"]
            total += head.output @ (head.value @ self.output @ (moved * scaled) * self.roles["e"])
        return total

    def _between(self, state: Vector) -> Vector:
        """z + Fᵀ relu(F z) where there is a feed-forward layer between the two."""
        if self.feed_forward is None:
            return state
        return state + self.feed_forward.T @ np.maximum(self.feed_forward @ state, 0)


def draw_network(rng: np.random.Generator, width: int = WIDTH) -> Network:
    """A network of random integers whose cells all have roles of their own; e attends by halves."""

    def integers(*shape: int) -> np.ndarray:
        return rng.integers(-LARGEST, LARGEST, shape, endpoint=True).astype(np.float64)

    matrices = [integers(width, width) for _ in range(4)]
    return Network(
        cells={cell: integers(width) for cell in CELLS},
        roles={cell: integers(width) for cell in "ace"},
        value=matrices[0],
        output=matrices[1],
        upper=(UpperHead(matrices[2], matrices[3], HALVES),),
    )


def _cases(tp: Network) -> Iterator[tuple[str, str, Network]]:
    """Every kind of attention and case, with the network that shows it."""
    (head,), ones = tp.upper, np.ones_like(tp.cells["a"])
    wide = np.concatenate([tp.value, tp.output, head.value, head.output])
    standard = replace(tp, roles=dict.fromkeys("ace", ones))
    printed = replace(tp, roles={**tp.roles, "e": ones})
    on_a = UpperHead(head.value.T, head.output.T, (1.0, 0.0))
    half_seen = replace(tp, value=np.where(np.arange(len(ones))[:, None] % 2, 0.0, tp.value))
    off_support = np.where(np.arange(len(ones)) % 2, tp.roles["c"], tp.roles["a"])
    yield "standard", "equal weights", standard
    yield "standard", "unequal weights", replace(standard, upper=(replace(head, weights=UNEQUAL),))
    yield "standard", "feed-forward between", replace(standard, feed_forward=wide)
    yield "standard", "second head above", replace(standard, upper=(head, on_a))
    yield "tp", "as printed", printed
    yield "tp", "upper layer bound", tp
    yield "tp", "constant roles", replace(tp, roles={**tp.roles, "c": tp.roles["a"]})
    roles = {**tp.roles, "c": off_support}
    yield "tp", "roles equal where V(b − d) ≠ 0", replace(half_seen, roles=roles)
    separated = {**tp.cells, "d": tp.cells["b"] + 3 * (np.arange(len(ones)) == 0)}
    blind = tp.value * (np.arange(len(ones)) > 0)
    yield "tp", "b − d in the kernel of V", replace(tp, cells=separated, value=blind)


def demonstrate(draws: int = 100, seed: int = 0) -> pd.DataFrame:
    """One row per kind of attention and a case, over random integer networks.

    Columns: attention, case, draws, equal (share of draws whose two states are the same bit for
    bit), formula (share whose difference is the closed form, bit for bit; missing where there is
    none), largest_difference.
    """
    rng = np.random.default_rng(seed)
    rows = [
        {"attention": attention, "case": case, **_compare(network)}
        for _ in range(draws)
        for attention, case, network in _cases(draw_network(rng))
    ]
    groups = pd.DataFrame(rows).groupby(["attention", "case"], sort=False)
    return groups.agg(
        draws=("equal", "size"),
        equal=("equal", "mean"),
        formula=("formula", "mean"),
        largest_difference=("largest", "max"),
    ).reset_index()


def _compare(network: Network) -> dict[str, float]:
    difference = network.represent(FIRST_BINDING) - network.represent(SECOND_BINDING)
    exact = float(np.array_equal(difference, network.difference()))
    return {
        "equal": float(not difference.any()),
        "formula": np.nan if network.feed_forward is not None else exact,
        "largest": float(np.abs(difference).max()),
    }
