"""The roles that nobody named: the scheme that is found at a site, its rivals, and what controls find."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.linalg import eigh
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.binding_claims import warn
from tprprobe.analyses.decomposition.role_schemes import ALIASES, find_field, is_relative
from tprprobe.analyses.decomposition.role_search import (
    Evidence,
    beats_shuffled,
    bits_by_draw,
    choose_cheapest,
    merge_values,
    search,
    shuffle_roles,
    stability_of,
)
from tprprobe.analyses.decomposition.sequence_units import Units, read_units
from tprprobe.analyses.naming.fields import LABELS
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import TEST_SHARE, leave_out
from tprprobe.files.notebook import as_html
from tprprobe.statistics import bounds, replicate_totals
from tprprobe.store import Store
from tprprobe.store.dask_workers import in_one_thread
from tprprobe.store.reader import takes_paths

NOTHING = "no structure"
PLACES = ("left", "right", "length", "before", "after")
TREE_LENGTH = 12  # of the longest sequence that trees of joined fillers are tried on
MOST_VALUES = 200  # of a field that is tried
MOST_UNITS = 20_000
MOST_DIMENSIONS, VARIANCE = 64, 0.99  # of the vectors, that schemes are compared in
ARITHMETIC_COLUMNS = ("kind", "place", "polarity", "slot", "parent", "number", "tree_depth")


@dataclass(frozen=True, eq=False)
class RoleSearch:
    """The result of a search of role schemes at a site.

    Attributes:
        site: The site.
        found: The cheapest scheme among those whose description is no longer than the shortest one's (95 % interval over
            documents), or by less than 1 %: ``bag`` if fillers have no roles (or roles that are shuffled within sequences do as well), ``no structure`` if nothing explains held-out vectors.
            ``bag+(left)``: a bag of fillers plus a bag of roles; ``(length)``: roles without fillers.
        schemes: One row per scheme that was tried, and per control; see [columns](decomposition.md#columns-of-role-searches).

    Examples:
        >>> search = tp.search_roles(store, "encoder.-1.hidden", fields=["left"], unit="mean")
        >>> sorted(set(search.controls["control"]))
        ['null', 'permuted fields']
    """

    site: str
    found: str
    schemes: pd.DataFrame

    @property
    def curve(self) -> pd.DataFrame:
        """The shortest description of every number of pairs, as far as more pairs make it shorter."""
        of = self.schemes[self.schemes["control"] == ""].sort_values(["pairs", "bits"])
        best = of["bits"].cummin()
        return of[(of["bits"] == best) & (best < best.shift(fill_value=np.inf))].reset_index(
            drop=True
        )

    @property
    def controls(self) -> pd.DataFrame:
        """The rows of the controls."""
        return self.schemes[self.schemes["control"] != ""].reset_index(drop=True)

    def _repr_html_(self) -> str:
        shown = self.curve[["roles", "n_roles", "pairs", "bits", "r2", "r2_low", "r2_high"]]
        return as_html(f"Roles of {self.site}: {self.found}", shown)

    @property
    def lines(self) -> list[str]:
        """What is found, its R², and what to beware of."""
        tried = self.schemes[self.schemes["control"] == ""]
        name = "mean" if self.found == NOTHING else self.found
        row = tried[tried["roles"] == name].iloc[0]
        r2 = f"R² {row['r2']:.3f} [{row['r2_low']:.3f}, {row['r2_high']:.3f}], {row['pairs']} pairs"
        lines = [f"  {each}" for each in warn({self.found: row}, int(row["n"]))]
        return [f"{self.site}: {self.found} ({r2})", *lines]

    def as_dict(self) -> dict[str, Any]:
        """The site, the scheme and the rows, in JSON types.

        Returns:
            The values by name.
        """
        rows = json.loads(self.schemes.to_json(orient="records"))
        return {"site": self.site, "found": self.found, "schemes": rows}


@takes_paths
@in_one_thread
def search_roles(
    store: Store,
    site: str,
    fields: Sequence[str] | None = None,
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    seed: int = 0,
) -> RoleSearch:
    """The scheme of roles that describes a site's vectors in the fewest bits.

    Args:
        store: The store.
        site: A site of vectors; layer -1 is the last.
        fields: What roles may be made of: built-in names or columns. Default: places (left, right, length, before, after),
            trees of short sequences, and the store's labels or gold structure of tokens.
        fillers: As in :func:`decompose`.
        unit: As in :func:`decompose`.
        scope: As in :func:`decompose`.
        seed: Seed of random choices.

    Returns:
        The scheme with all others that were tried, beside controls.

    Raises:
        InputError: No such site or field, too few sequences, or vectors that are all alike.

    Examples:
        >>> tp.search_roles(store, "encoder.-1.hidden", fields=["left"], unit="mean").schemes["control"].unique()[0]
        ''
    """
    units, names = read_searched(store, site, fields, fillers, unit, scope)
    evidence = gather_evidence(units, names, seed)
    if not np.ptp(evidence.vectors, axis=0).any():
        raise InputError(
            f"{store.path}: the vectors of {site} are all alike: roles describe nothing"
        )
    found, table = conclude(evidence, names, seed)
    rng = np.random.default_rng((seed, 2))
    order = rng.permutation(len(units.tokens))
    fields_of_others = {name: codes[order] for name, codes in evidence.fields.items()}
    covariance = np.cov(evidence.vectors.T).reshape(evidence.vectors.shape[1], -1)
    zero, n = np.zeros(len(covariance)), len(evidence.vectors)
    noise = rng.multivariate_normal(zero, covariance, n, method="eigh")
    others = {
        "permuted fields": replace(evidence, fields=fields_of_others),
        "null": replace(evidence, vectors=noise),
    }
    if store.control is not None and units.site in store.control.sites:
        twin, _ = read_searched(store.control, units.site, names, fillers, unit, scope)
        others["untrained"] = gather_evidence(twin, names, seed)
    tables = [table]
    for control, of in others.items():
        name, rows = conclude(of, names, seed)
        chosen = rows[rows["is_found"]] if name != NOTHING else rows[rows["roles"] == "mean"]
        tables.append(chosen.assign(control=control, roles=name, is_found=False))
    return RoleSearch(units.site, found, pd.concat(tables, ignore_index=True))


def conclude(evidence: Evidence, fields: Sequence[str], seed: int) -> tuple[str, pd.DataFrame]:
    """The name of the scheme that is found, and a row per scheme that was tried, shortest first."""
    trials = search(evidence, fields)
    draws = bits_by_draw(trials, evidence, seed)
    at, near, apart = choose_cheapest(trials, draws, int((~evidence.tested).sum()))
    stability = stability_of(trials, draws, evidence)
    sums = np.stack([evidence.mean_errors, *(each.errors for each in trials)], 1)[evidence.tested]
    totals = np.concatenate([sums.sum(0)[None], replicate_totals(sums)])
    r2, *drawn = 1 - totals[:, 1:] / totals[:, [0]]
    low, high = bounds(np.array(drawn), len(sums))
    if not beats_shuffled(evidence, trials[at], seed):
        unbound = (i for i, of in enumerate(trials) if shuffle_roles(evidence, of, seed) is None)
        at = next(unbound)
    found = trials[at].name if low[at] > 0 else NOTHING
    rows = [
        ("", each.name, each.name == found, each.roles, each.pairs, each.bits) for each in trials
    ]
    names = ["control", "roles", "is_found", "n_roles", "pairs", "bits"]
    table = pd.DataFrame(rows, columns=names)
    table = table.assign(
        longer=table["bits"] - trials[0].bits,
        longer_low=apart[0],
        longer_high=apart[1],
        is_near=near,
        stability=stability,
        r2=r2,
        r2_low=low,
        r2_high=high,
        merged="",
        n=len(evidence.fitting),
        groups=len(sums),
    )
    table.loc[at, "merged"] = merge_values(evidence, trials[at])
    return found, table


def read_searched(
    store: Store,
    site: str,
    fields: Sequence[str] | None = None,
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
) -> tuple[Units, list[str]]:
    """The units of a site, and the fields that are searched."""
    asked = list(dict.fromkeys(fields)) if fields is not None else None
    told = [*LABELS, *ARITHMETIC_COLUMNS]
    columns = {ALIASES.get(name, name) for name in asked or told}
    units = read_units(store, site, fillers, unit, scope, columns)
    if len(units.members) > 1 or any(map(is_relative, asked or ())):
        raise InputError(
            "roles are searched by places in the sample: give another scope than context, and left or right "
            "for offset"
        )
    if asked is not None:
        for name in asked:
            find_field(name, units.tokens.iloc[:1])
        return units, asked
    longest = int(np.bincount(pd.factorize(units.tokens["sample"])[0]).max())
    known = [name for name in told if name in units.tokens]
    return units, [*PLACES, *(["tree"] if longest <= TREE_LENGTH else []), *known]


def gather_evidence(units: Units, fields: Sequence[str], seed: int) -> Evidence:
    """Units along their principal axes, and fields as numbers (of too many values, as one value)."""
    rng = np.random.default_rng((seed, 3))
    chance = rng.permutation(int(units.groups.max()) + 1)[units.groups]
    kept = np.sort(np.argsort(chance, kind="stable")[:MOST_UNITS])
    documents = pd.factorize(units.groups[kept])[0]
    n = documents.max() + 1
    test = rng.permutation(n)[documents] < TEST_SHARE * n
    known = test | leave_out(~test, test, units.origin.sequences[kept])
    kept, test = kept[known], test[known]
    vectors = np.concatenate(
        [v[np.isin(np.arange(b.start, b.stop), kept)] for b, v in units.vectors.blocks()]
    )
    groups = pd.factorize(units.groups[kept])[0]
    codes, values = {}, {}
    for name in fields:
        found, of = pd.factorize(find_field(name, units.tokens))
        codes[name] = found if len(of) <= MOST_VALUES else np.zeros_like(found)
        values[name] = [str(each) for each in of]
    members, fillers = csr_array(units.members[0][kept]), pd.factorize(units.fillers)[0]
    sequences = pd.factorize(units.tokens["sample"])[0]
    of_tokens = (members, fillers, codes, values, sequences)
    return Evidence(reduce_width(vectors), groups, test, *of_tokens)


def reduce_width(
    vectors: Float64[np.ndarray, "unit d_model"],
) -> Float64[np.ndarray, "unit dimension"]:
    """Vectors along their first principal axes, as many as hold VARIANCE, MOST_DIMENSIONS at most."""
    centered = vectors - vectors.mean(0)
    values, axes = eigh(centered.T @ centered)
    values, axes = values[::-1], axes[:, ::-1]
    share = np.cumsum(values) / max(values.sum(), 1e-300)
    kept = min(MOST_DIMENSIONS, int(np.searchsorted(share, VARIANCE)) + 1)
    return centered @ axes[:, :kept]
