"""Agreement of two partitions of tokens, from the table that counts tokens by both.

n_kc tokens are in cluster k and class c.
    homogeneity   1 − H(C|K)/H(C)           completeness  1 − H(K|C)/H(K)
    v_measure     their harmonic mean       purity        Σ_k max_c n_kc / n
    macro_purity  mean_k max_c n_kc / n_k   ami           (I − E I) / (mean(H) − E I)
    ari           (R − E R) / (max R − E R), R counting pairs of tokens that are together in both
All but ami and ari grow with the number of clusters: they mean something beside permutations only.
"""

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics.cluster import expected_mutual_information

from tprprobe.statistics import divide

Tables = Float[np.ndarray, "table cluster class"]
Values = Float[np.ndarray, " table"]


def count_tables(
    labels: Int[np.ndarray, " token"], classes: Int[np.ndarray, "table token"]
) -> Tables:
    """The tables of one clustering with many classifications; none has an empty cluster or class."""
    clusters, labels = np.unique(labels, return_inverse=True)
    names, width = np.unique(classes[0]), int(classes[0].max()) + 1
    first, size = labels * width, len(clusters) * width
    counts = [np.bincount(first + row, minlength=size) for row in classes]
    return np.array(counts, float).reshape(-1, len(clusters), width)[:, :, names]


def measure(tables: Tables) -> dict[str, Values]:
    """All measures of tables that have the same margins, as those of permutations have."""
    information, chance, h_clusters, h_classes = informations(tables)
    homogeneity, completeness = _share(information, h_classes), _share(information, h_clusters)
    largest, sizes = tables.max(2), tables[0].sum(1)
    return {
        "ami": _share(information - chance, (h_clusters + h_classes) / 2 - chance),
        "ari": _adjusted_rand(tables),
        "v_measure": np.nan_to_num(
            divide(2 * homogeneity * completeness, homogeneity + completeness)
        ),
        "homogeneity": homogeneity,
        "completeness": completeness,
        "purity": largest.sum(1) / sizes.sum(),
        "macro_purity": (largest / sizes).mean(1),
    }


def informations(tables: Tables) -> tuple[Values, float, float, float]:
    """I(K;C) in nats of tables of the same margins, its expectation by chance, H(K) and H(C)."""
    table = tables[0]
    h_clusters, h_classes = (float(_entropy(table.sum(axis))) for axis in (1, 0))
    joint = _entropy(tables.reshape(len(tables), -1))
    chance = expected_mutual_information(table.astype(int), int(table.sum()))
    return h_clusters + h_classes - joint, float(chance), h_clusters, h_classes


def _entropy(counts: Float[np.ndarray, "*table cell"]) -> Float[np.ndarray, "*table"]:
    shares = counts / counts.sum(-1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(-1))


def _share(part: Values, whole: float) -> Values:
    """part / whole, or 1 where the whole is 0."""
    return part / whole if abs(whole) > 1e-12 else np.ones_like(part)


def _adjusted_rand(tables: Tables) -> Values:
    pairs = (tables * (tables - 1) / 2).sum((1, 2))
    clusters, classes, every = (
        float((counts * (counts - 1) / 2).sum())
        for counts in (tables[0].sum(1), tables[0].sum(0), tables[0].sum())
    )
    chance = clusters * classes / every
    return _share(pairs - chance, (clusters + classes) / 2 - chance)
