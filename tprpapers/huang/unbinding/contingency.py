"""Counts of words by cluster and class, image by image: every measure here is a function of them.

Intervals draw images: the words of one caption are no independent observations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from tprprobe.statistics import Interval, bootstrap, divide

Tables = Float[np.ndarray, "replicate cluster class"]
Measure = Callable[[Tables], Float[np.ndarray, " replicate"]]
REPLICATES = 1000


@dataclass(frozen=True, eq=False)
class Contingency:
    """``sums`` counts the words of every image by cluster and class."""

    sums: Float[np.ndarray, "group cluster class"]
    classes: tuple[str, ...]

    @property
    def table(self) -> Float[np.ndarray, "cluster class"]:
        """The counts of all images together."""
        return self.sums.sum(0)

    def measure(self, measure: Measure, seed: int = 0) -> Interval:
        """A measure of the counts with its interval over images."""
        shape = self.sums.shape
        flat = self.sums.reshape(shape[0], -1)
        return bootstrap(
            flat,
            lambda totals: measure(totals.reshape(-1, *shape[1:])),
            replicates=REPLICATES,
            seed=seed,
        )


def count(
    labels: Int[np.ndarray, " word"],
    classes: "pd.Series[str]",
    groups: "pd.Series[int]",
    names: Sequence[str] | None = None,
) -> Contingency:
    """The counts of words that have a class, of clusters 0 to the largest; ``names`` are all classes."""
    has_class = (classes != "").to_numpy()
    names = tuple(names or sorted(classes[has_class].unique()))
    code = pd.Categorical(classes[has_class], categories=list(names)).codes.astype(int)
    group = np.unique(groups[has_class], return_inverse=True)[1]
    shape = (int(group.max(initial=-1)) + 1, int(labels.max(initial=0)) + 1, len(names))
    is_counted = code >= 0
    cell = (group * shape[1] + labels[has_class]) * shape[2] + code
    sums = np.bincount(cell[is_counted], minlength=int(np.prod(shape))).reshape(shape)
    return Contingency(sums.astype(float), names)


def shares(tables: Tables) -> Tables:
    """The share of each class in every cluster; NaN for an empty cluster."""
    return divide(tables, np.broadcast_to(tables.sum(2, keepdims=True), tables.shape))


def compare(
    minuend: Contingency, subtrahend: Contingency, measure: Measure, seed: int = 0
) -> Interval:
    """of(first) − of(second) on the same images, drawn together; their tables may differ in shape."""
    shapes = [counts.sums.shape for counts in (minuend, subtrahend)]
    flat = [counts.sums.reshape(len(counts.sums), -1) for counts in (minuend, subtrahend)]
    n_terms = flat[0].shape[1]

    def difference(totals: Float[np.ndarray, "replicate term"]) -> np.ndarray:
        blocks = totals[:, :n_terms], totals[:, n_terms:]
        minuend_values, subtrahend_values = (
            measure(block.reshape(-1, *shape[1:]))
            for block, shape in zip(blocks, shapes, strict=True)
        )
        return minuend_values - subtrahend_values

    return bootstrap(np.concatenate(flat, 1), difference, replicates=REPLICATES, seed=seed)
