"""Agreement of two partitions of tokens: their adjusted mutual information (AMI), 0 by chance, 1 if they are the same.

n_kc tokens are in cluster k and class c. AMI is (I − E I) / (mean(H) − E I), E I being expected by chance.
"""

import numpy as np
from jaxtyping import Float, Int, Shaped
from scipy.special import entr
from sklearn.metrics.cluster import expected_mutual_information

MAX_LEFT_OUT = 50  # of documents, each left out once for an interval
Tables = Float[np.ndarray, "table cluster class"]


def agree_without_parts(
    labels: Int[np.ndarray, " token"],
    values: Shaped[np.ndarray, " token"],
    documents: Int[np.ndarray, " token"],
) -> Float[np.ndarray, " value_and_part"]:
    """The AMI of clusters and classes, and after it that without every document, or without every one of MAX_LEFT_OUT parts of more."""
    clusters, classes, numbers = (
        np.unique(column, return_inverse=True)[1] for column in (labels, values, documents)
    )
    part_numbers = numbers % MAX_LEFT_OUT
    shape = (int(part_numbers.max()) + 1, int(clusters.max()) + 1, int(classes.max()) + 1)
    cells = np.ravel_multi_index((part_numbers, clusters, classes), shape)
    counts = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape).astype(float)
    tables = [counts.sum(0), *(counts.sum(0) - counts)]
    gains = [measure_gain(table[None, table.any(1)][:, :, table.any(0)]) for table in tables]
    return np.array([gain[0] / room if room > 0 else 0.0 for gain, room in gains])


def measure_gain(tables: Tables) -> tuple[Float[np.ndarray, " table"], float]:
    """The gain n (I − E I) in nats and its room n (mean(H) − E I) of tables of the same margins, as permutations have."""
    table, n = tables[0], float(tables[0].sum())
    h_clusters, h_classes = (float(measure_entropy(table.sum(axis)[None])[0]) for axis in (1, 0))
    information = h_clusters + h_classes - measure_entropy(tables.reshape(len(tables), -1))
    chance = float(expected_mutual_information(table.astype(int), int(n)))
    return n * (information - chance), n * ((h_clusters + h_classes) / 2 - chance)


def measure_entropy(counts: Float[np.ndarray, "table cell"]) -> Float[np.ndarray, " table"]:
    """The entropy of counts in nats; scipy.stats.entropy checks its input longer than it counts."""
    return entr(counts / counts.sum(-1, keepdims=True)).sum(-1)
