"""Agreement of clusterings with gold fields, beside what it is when the field's values are permuted."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped

from tprprobe.analyses.naming.partition_agreement import Tables, count_tables, informations, measure
from tprprobe.statistics import exceedance, permutations_within

PERMUTATIONS = 50

Labels = Int[np.ndarray, "token clustering"]
Strata = Shaped[np.ndarray, " token"]
Classes = Int[np.ndarray, "table token"]


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
