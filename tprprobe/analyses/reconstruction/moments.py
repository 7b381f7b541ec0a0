"""Count, mean and scatter of vectors: all that a least-squares fit has to know of its data."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from jaxtyping import Float64, Int

Block = tuple[slice, Float64[np.ndarray, "_row width"]]  # which rows, and their vectors
Labels = Int[np.ndarray, " row"]  # the part that a row belongs to, −1 for none


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and scatter Σ (x − mean)(x − mean)ᵀ of vectors; parts add up to the whole."""

    count: int
    mean: Float64[np.ndarray, " width"]
    scatter: Float64[np.ndarray, "width width"]

    @classmethod
    def of(cls, vectors: Float64[np.ndarray, "row width"]) -> "Moments":
        mean = vectors.mean(0) if len(vectors) else np.zeros(vectors.shape[1])
        centered = vectors - mean
        return cls(len(vectors), mean, centered.T @ centered)

    def __add__(self, other: "Moments") -> "Moments":
        count = self.count + other.count
        if not count:
            return self
        apart = other.mean - self.mean
        scatter = self.scatter + other.scatter
        scatter += np.outer(apart, apart * (self.count * other.count / count))
        return Moments(count, self.mean + apart * (other.count / count), scatter)

    def effective_rank(self, columns: slice) -> float:
        """The participation ratio (Σ λ)² / Σ λ² of the eigenvalues of these columns' scatter."""
        scatter = self.scatter[columns, columns]
        return float(np.trace(scatter) ** 2 / np.square(scatter).sum())


def add_up(parts: Iterable[Moments]) -> Moments:
    """The moments of all parts together; there is one at least."""
    return reduce(operator.add, parts)


def gather(
    blocks: Iterable[Block], partitions: Sequence[Labels], sizes: Sequence[int], width: int
) -> list[list[Moments]]:
    """The moments of every part of every partition of the rows, in one pass over the blocks."""
    none = Moments.of(np.empty((0, width)))
    found = [[none] * size for size in sizes]
    for rows, vectors in blocks:
        for parts, labels in zip(found, partitions, strict=True):
            of_block = labels[rows]
            for label in np.unique(of_block[of_block >= 0]):
                parts[label] = parts[label] + Moments.of(vectors[of_block == label])
    return found


def merge(one: list[list[Moments]], other: list[list[Moments]]) -> list[list[Moments]]:
    """The moments of every part of every partition of the rows of both."""
    return [list(map(operator.add, *parts)) for parts in zip(one, other, strict=True)]
