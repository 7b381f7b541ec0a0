"""Names of clusters: the shortest predicate that explains each.

For a predicate ℓ and a cluster k:

    precision  P(ℓ|k)      recall  P(k|ℓ)      f05  1.25 P R / (0.25 P + R)
    coverage   P(k)        lift    P(ℓ|k) / P(ℓ)      npmi  ln lift / −ln P(ℓ, k)
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from tprprobe.estimators.clusters.predicates import Lattice
from tprprobe.statistics import divide

PRECISION = 0.7  # a name must reach
TIE = 0.01  # in f05: the shorter predicate wins, then the one whose fields come first


def choose_names(
    lattice: Lattice,
    kinds: Int[np.ndarray, " token"],
    labels: Int[np.ndarray, " token"],
    n_clusters: int,
) -> Int[np.ndarray, " cluster"]:
    """The predicate that names every cluster, chosen on tokens of these kinds: the first whose F0.5 ties with the best one's
    of enough precision; −1 for none.
    """
    n_kinds = int(lattice.kinds.max()) + 1
    cells = np.bincount(kinds * n_clusters + labels, minlength=n_kinds * n_clusters)
    counts = cells.reshape(n_kinds, n_clusters).astype(np.float32)
    joint = (lattice.members @ counts).astype(float)
    clustered = counts.sum(0, dtype=float, keepdims=True)
    described = joint.sum(1, keepdims=True)
    measures = measure_names(joint, clustered, described, clustered.sum(1, keepdims=True))
    f05 = np.where(measures["precision"] >= PRECISION, measures["f05"], -1.0)
    best = f05.max(0, initial=-1.0)
    return np.where(best < 0, -1, np.argmax(f05 >= best - TIE, axis=0))


def count_by_group(
    holds: Bool[np.ndarray, "cluster token"],
    labels: Int[np.ndarray, " token"],
    groups: Int[np.ndarray, " token"],
) -> Float[np.ndarray, "count group cluster"]:
    """The tokens of every group in cluster and predicate together, in each alone, and all, of every cluster and its own predicate."""
    n, n_groups = len(holds), int(groups.max()) + 1
    cell, shape = groups * n + labels, (n_groups, n)
    described = np.stack([np.bincount(groups, row, n_groups) for row in holds], 1)
    joint = np.bincount(cell, holds[labels, np.arange(len(labels))], n_groups * n).reshape(shape)
    clustered = np.bincount(cell, minlength=n_groups * n).reshape(shape).astype(float)
    tokens = np.broadcast_to(np.bincount(groups).astype(float)[:, None], shape)
    return np.stack([joint, clustered, described, tokens])


def measure_names(
    *sums: Float[np.ndarray, "_row _column"],
) -> dict[str, Float[np.ndarray, "row column"]]:
    """Precision, recall, F0.5, lift and NPMI of the four counts, summed."""
    joint, clustered, described, tokens = np.broadcast_arrays(*sums)
    precision, recall = divide(joint, clustered), divide(joint, described)
    lift = divide(precision, divide(described, tokens))
    with np.errstate(divide="ignore", invalid="ignore"):  # never together
        npmi = divide(np.log(lift), -np.log(joint / tokens))
    return {
        "precision": precision,
        "recall": recall,
        "f05": divide(1.25 * precision * recall, 0.25 * precision + recall),
        "lift": lift,
        "npmi": npmi,
    }
