"""Agreement of clusters with a field of their tokens, given other fields, beside permutations within strata."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Int, Shaped

from tprprobe.analyses.naming.word_names import Tables, measure_gain
from tprprobe.statistics import permutations_within

PERMUTATIONS = 50
Strata = Shaped[np.ndarray, " token"]
Classes = Int[np.ndarray, "table token"]


def agreement(
    labels: Int[np.ndarray, "token clustering"],
    described: pd.DataFrame,
    field: str,
    nulls: Mapping[str, Strata],
    conditions: Sequence[str] = (),
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> pd.DataFrame:
    """One row per clustering and null: field, measure, value, null_mean, p_value; none for a field of one value.

    The AMI with a field, given other fields, is Σ_s n_s (I_s − E I_s) / Σ_s n_s (mean(H)_s − E I_s), s the combinations of
    their values: what only follows from them, e.g. that digits of one place are denominators more often, counts
    for nothing. Only tokens count of which all these fields say something. A null, e.g. `question`, permutes
    the field's values among the tokens of the same stratum and combination; p is one-sided.
    """
    is_known = described[[field, *conditions]].notna().all(axis=1).to_numpy()
    values, stratum = described.loc[is_known, field], np.zeros(is_known.sum(), int)
    if values.nunique() < 2:
        return pd.DataFrame()
    if conditions:
        conditioned = described.loc[is_known]
        stratum = conditioned.groupby(list(conditions), observed=True).ngroup().to_numpy()
    null_strata = [pd.factorize(strata[is_known])[0] for strata in nulls.values()]
    crossed = [strata * (stratum.max() + 1) + stratum for strata in null_strata]
    classes = _permute(values, crossed, permutations, seed)
    tokens_of_strata = [np.flatnonzero(stratum == number) for number in np.unique(stratum)]
    measure = f"ami given {', '.join(conditions)}" if conditions else "ami"
    rows = []
    for clustering, column in enumerate(labels[is_known].T):
        tables = (count_tables(column[ids], classes[:, ids]) for ids in tokens_of_strata)
        gains, rooms = zip(*map(measure_gain, tables), strict=True)
        if (possible := sum(rooms)) <= 0:
            continue
        value, *null_gains = np.sum(gains, 0) / possible
        for null, chance in zip(nulls, np.split(np.array(null_gains), len(nulls)), strict=True):
            p = (1 + int((chance >= value).sum())) / (1 + len(chance))  # one-sided
            numbers = {"value": value, "null": null, "null_mean": chance.mean(), "p_value": p}
            rows.append({"clustering": clustering, "field": field, "measure": measure, **numbers})
    return pd.DataFrame(rows)


def count_tables(labels: Int[np.ndarray, " token"], classes: Classes) -> Tables:
    """The tables of one clustering with many classifications; none has an empty cluster or class."""
    clusters, labels = np.unique(labels, return_inverse=True)
    names, width = np.unique(classes[0]), int(classes[0].max()) + 1
    offsets, size = labels * width, len(clusters) * width
    counts = [np.bincount(offsets + row, minlength=size) for row in classes]
    return np.array(counts, float).reshape(-1, len(clusters), width)[:, :, names]


def _permute(values: pd.Series, nulls: Sequence[Strata], n: int, seed: int) -> Classes:
    """The values as numbers from 0, and after them n permutations of them for every null."""
    rng = np.random.default_rng(seed)
    classes = pd.factorize(values)[0].astype(np.int16)
    strata = [pd.factorize(null)[0] for null in nulls]
    orders = (order for stratum_ids in strata for order in permutations_within(stratum_ids, n, rng))
    return np.stack([classes, *(classes[order] for order in orders)])
