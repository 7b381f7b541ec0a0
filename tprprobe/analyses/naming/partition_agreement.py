"""Agreement of two partitions of tokens, from the table that counts tokens by both.

n_kc tokens are in cluster k and class c.
    homogeneity   1 − H(C|K)/H(C)           completeness  1 − H(K|C)/H(K)
    v_measure     their harmonic mean       purity        Σ_k max_c n_kc / n
    macro_purity  mean_k max_c n_kc / n_k   ami           (I − E I) / (mean(H) − E I)
    ari           (R − E R) / (max R − E R), R counting pairs of tokens that are together in both
All but ami and ari grow with the number of clusters: they mean something beside permutations of the classes.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped
from sklearn.metrics.cluster import expected_mutual_information

from tprprobe.statistics import divide, exceedance, permutations_within

PERMUTATIONS = 50
Labels = Int[np.ndarray, "token clustering"]
Strata = Shaped[np.ndarray, " token"]
Classes = Int[np.ndarray, "table token"]
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


def agreement(
    labels: Labels,
    described: pd.DataFrame,
    nulls: Mapping[str, Strata],
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per (clustering, field, measure, null): value, null_mean, p_value.

    Only tokens count of which a field says something. A null, e.g. `question`, permutes the field's
    values among the tokens of the same stratum; p is one-sided, of no more agreement than that.
    """
    rows = []
    for field in described:
        known = described[field].notna().to_numpy()
        values = described[field][known]
        if values.nunique() > 1:
            strata = [each[known] for each in nulls.values()]
            classes = _permute(values, strata, permutations, seed)
            for clustering, column in enumerate(labels[known].T):
                found = measure(count_tables(column, classes))
                rows += _compare({"clustering": clustering, "field": field}, found, [*nulls])
    return pd.DataFrame(rows)


def conditional_agreement(
    labels: Labels,
    described: pd.DataFrame,
    field: str,
    given: Sequence[str],
    nulls: Mapping[str, Strata],
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> pd.DataFrame:
    """Rows as :func:`agreement`, for the AMI given other fields: Σ_s n_s (I_s − E I_s) / Σ_s n_s
    (H̄_s − E I_s).

    s are the combinations of values of the given fields; all nulls permute within these. What only
    follows from them, e.g. that digits of one place are denominators more often, counts for nothing.
    """
    known = np.logical_and.reduce([described[name].notna() for name in (field, *given)])
    if not known.any():
        return pd.DataFrame()
    stratum = described.loc[known].groupby(list(given), observed=True).ngroup().to_numpy()
    crossed = [
        pd.factorize(each[known])[0] * (stratum.max() + 1) + stratum for each in nulls.values()
    ]
    classes = _permute(described.loc[known, field], crossed, permutations, seed)
    inside = [np.flatnonzero(stratum == each) for each in np.unique(stratum)]
    rows = []
    for clustering, column in enumerate(labels[known].T):
        parts = [_gains(count_tables(column[each], classes[:, each])) for each in inside]
        gained, possible = np.sum([part[0] for part in parts], 0), sum(part[1] for part in parts)
        if possible > 0:
            values = {f"ami given {', '.join(given)}": gained / possible}
            rows += _compare({"clustering": clustering, "field": field}, values, [*nulls])
    return pd.DataFrame(rows)


def _gains(tables: Tables) -> tuple[Float[np.ndarray, " table"], float]:
    """The gain n (I − E I) and its room n (H̄ − E I) of every table."""
    n = tables[0].sum()
    information, chance, h_clusters, h_classes = informations(tables)
    return n * (information - chance), n * ((h_clusters + h_classes) / 2 - chance)


def _permute(values: pd.Series, nulls: list[Strata], n: int, seed: int) -> Classes:
    """The values as numbers from 0, and after them n permutations of them for every null."""
    rng = np.random.default_rng(seed)
    classes = pd.factorize(values)[0].astype(np.int16)
    strata = [pd.factorize(null)[0] for null in nulls]
    orders = (order for each in strata for order in permutations_within(each, n, rng))
    return np.stack([classes, *(classes[order] for order in orders)])


def _compare(
    keys: dict[str, object], values: dict[str, Float[np.ndarray, " table"]], nulls: list[str]
) -> Iterator[dict[str, object]]:
    """Rows of the first table's measures, against the tables of every null."""
    for name, value in values.items():
        for null, permuted in zip(nulls, np.split(value[1:], len(nulls)), strict=True):
            p = float(exceedance(value[:1], permuted[:, None])[0])
            found = {"value": value[0], "null": null, "null_mean": permuted.mean(), "p_value": p}
            yield {**keys, "measure": name, **found}
