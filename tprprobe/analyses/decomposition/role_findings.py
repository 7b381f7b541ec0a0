"""The roles that nobody named: the scheme that is found at a site, its rivals, and what controls find."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.linalg import eigh
from scipy.sparse import csr_array

from tprprobe.analyses.attention.gold_maps import gold_tokens
from tprprobe.analyses.decomposition.binding_claims import warn
from tprprobe.analyses.decomposition.role_schemes import ALIASES, find_field, is_relative
from tprprobe.analyses.decomposition.role_search import NEGLIGIBLE, NOTHING, SearchData, select
from tprprobe.analyses.decomposition.score_tables import load_table
from tprprobe.analyses.decomposition.sequence_units import Units, read_units
from tprprobe.analyses.naming.fields import LABELS
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.families import BAG
from tprprobe.evaluation.results import Results, load_view, melt
from tprprobe.evaluation.splits import divide_documents, leave_out
from tprprobe.files.notebook import as_html
from tprprobe.files.tables import columns
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import interval_text, read_interval
from tprprobe.store import Store
from tprprobe.store.dask_workers import in_one_thread
from tprprobe.store.reader import takes_paths

PLACES = ("left", "right", "length", "before", "after")
TREE_LENGTH = 12  # of the longest sequence that trees of joined fillers are tried on
MAX_VALUES = 200  # of a field that is tried
MAX_UNITS = 20_000
MAX_DIMENSIONS, VARIANCE = 64, 0.99  # of the vectors, that schemes are compared in
SEARCHED = {"site": "site", "layer": "layer", "roles": "task", "control": "control"}
SEARCHED_SIZES = ("n_roles", "pairs", "n", "groups")
SEARCHED_NUMBERS = ("is_found", *SEARCHED_SIZES, "bits", "longer", "is_near", "stability", "r2")
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
        schemes = self.schemes[self.schemes["control"] == ""].sort_values(["pairs", "bits"])
        best = schemes["bits"].cummin()
        is_shorter = (schemes["bits"] == best) & (best < best.shift(fill_value=np.inf))
        return schemes[is_shorter].reset_index(drop=True)

    @property
    def controls(self) -> pd.DataFrame:
        """The rows of the controls."""
        return self.schemes[self.schemes["control"] != ""].reset_index(drop=True)

    def _repr_html_(self) -> str:
        columns = self.curve[["roles", "n_roles", "pairs", "bits", "r2", "r2_low", "r2_high"]]
        return as_html(f"Roles of {self.site}: {self.found}", columns)

    @property
    def lines(self) -> list[str]:
        """What is found, its R², the rule by which it is, and what to beware of."""
        schemes = self.schemes[self.schemes["control"] == ""]
        name = "mean" if self.found == NOTHING else self.found
        row = schemes[schemes["roles"] == name].iloc[0]
        r2 = f"R² {interval_text(read_interval(row, 'r2'))}, {row['pairs']} pairs"
        for _, bag in schemes[(schemes["roles"] == BAG) & (name != BAG)].iterrows():
            r2 += f"; {BAG}: R² {interval_text(read_interval(bag, 'r2'))}"
        warnings = [f"  {line}" for line in warn({self.found: row}, int(row["n"]))]
        controls = self.controls[self.controls["bits"] < schemes["bits"].min()]
        shorter = [
            f"  control {name}: the same search finds {roles}, a shorter description ({bits:.3f} bits)"
            for name, roles, bits in controls[["control", "roles", "bits"]].itertuples(index=False)
        ]
        rule = f"  {self._explain(schemes, row)}"
        return [f"{self.site}: {self.found} ({r2})", rule, *shorter, *warnings]

    def _explain(self, schemes: pd.DataFrame, row: "pd.Series[Any]") -> str:
        """Why the row is the one that is found."""
        near, shortest = schemes[schemes["is_near"]], schemes.sort_values("bits").iloc[0]
        cheapest = near.sort_values(["pairs", "bits"]).iloc[0]["roles"]
        if self.found == NOTHING:
            return "no scheme explains vectors of held-out documents"
        if row["roles"] != cheapest:
            return f"{cheapest} describes vectors in fewer bits, but no better than its roles shuffled within samples"
        if row["roles"] == shortest["roles"]:
            return f"none of the {len(schemes)} schemes that were tried is shorter"
        return (
            f"of {len(near)} schemes that are about as short as the shortest, {shortest['roles']} ({shortest['bits']:.3f} bits), the one "
            f"with the fewest pairs (longer by chance alone, or by less than {100 * NEGLIGIBLE:g} %)"
        )

    def as_dict(self) -> dict[str, object]:
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
    """The simplest scheme of roles among those that describe a site's vectors in the fewest bits, but for 1 % or chance.

    Args:
        store: The store.
        site: A site of vectors; layer -1 is the last.
        fields: What roles may be made of: built-in names or columns. Default: places (left, right, length, before, after),
            trees of short sequences, and the store's labels (also of one's own) or gold structure of tokens.
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
    options = {"fillers": fillers, "unit": unit, "scope": scope}
    units, names = read_searched(store, site, fields, **options)
    data = gather_data(units, names, seed)
    if not np.ptp(data.vectors, axis=0).any():
        raise InputError(
            f"{store.path}: the vectors of {site} are all alike: roles describe nothing"
        )
    best_name, table = select(data, names, seed)
    tables, controls = [table], make_controls(data, np.random.default_rng((seed, 2)))
    kind, twin = next(iter(store.twins.items()), ("", None))
    if twin is not None and units.site in twin.sites:
        controls[kind] = gather_data(
            read_searched(twin, units.site, names, **options)[0], names, seed
        )
    for control, control_data in controls.items():
        name, rows = select(control_data, names, seed)
        row = rows[rows["is_found"]] if name != NOTHING else rows[rows["roles"] == "mean"]
        tables.append(row.assign(control=control, roles=name, is_found=False))
    return RoleSearch(units.site, best_name, pd.concat(tables, ignore_index=True))


def make_controls(data: SearchData, rng: np.random.Generator) -> dict[str, SearchData]:
    """Two controls: the units with shuffled fields of their tokens, and with normal vectors of the same covariance."""
    order = rng.permutation(len(data.fillers))
    fields = {name: codes[order] for name, codes in data.fields.items()}
    n, width = data.vectors.shape
    covariance = np.cov(data.vectors.T).reshape(width, width)
    noise = rng.multivariate_normal(np.zeros(width), covariance, n, method="eigh")
    return {"permuted fields": replace(data, fields=fields), "null": replace(data, vectors=noise)}


def read_searched(
    store: Store, site: str, fields: Sequence[str] | None = None, **options: Any
) -> tuple[Units, list[str]]:
    """The units of a site, as of :func:`read_units` with these options, and the fields that are searched."""
    known = [*LABELS, *store.labels, *ARITHMETIC_COLUMNS]
    if not store.has_questions or gold_tokens(store, [0]) is None:
        known = [name for name in known if name in store.tokens]
    names = list(dict.fromkeys(known if fields is None else fields))
    columns = {ALIASES.get(name, name) for name in names}
    units = read_units(store, site, columns=columns, **options)
    if len(units.members) > 1 or (fields is not None and any(map(is_relative, names))):
        raise InputError(
            "roles are searched by places in the sample: give another scope than context, and left or right "
            "for offset"
        )
    if fields is not None:
        for name in names:
            find_field(name, units.tokens.iloc[:1])
        return units, names
    longest = int(np.bincount(pd.factorize(units.tokens["sample"])[0]).max())
    tree = ["tree"] if longest <= TREE_LENGTH else []
    return units, [*PLACES, *tree, *(name for name in names if name in units.tokens)]


def gather_data(units: Units, fields: Sequence[str], seed: int) -> SearchData:
    """Units along their principal axes, and fields as numbers (of too many values, as one value)."""
    rng = np.random.default_rng((seed, 3))
    order = rng.permutation(int(units.groups.max()) + 1)[units.groups]
    rows = np.sort(np.argsort(order, kind="stable")[:MAX_UNITS])
    test, _ = divide_documents(pd.factorize(units.groups[rows])[0], rng)
    is_used = test | leave_out(~test, test, units.origin.sequences[rows])
    rows, test = rows[is_used], test[is_used]
    is_read = np.zeros(len(units), bool)
    is_read[rows] = True
    vectors = np.concatenate([block[is_read[where]] for where, block in units.vectors.blocks()])
    codes = {}
    for name in fields:
        of_token, names = pd.factorize(find_field(name, units.tokens))
        codes[name] = of_token if len(names) <= MAX_VALUES else np.zeros_like(of_token)
    groups, members = pd.factorize(units.groups[rows])[0], csr_array(units.members[0][rows])
    columns = units.fillers, units.tokens["sample"]
    fillers, sequences = (pd.factorize(column)[0] for column in columns)
    return SearchData(reduce_width(vectors), groups, test, members, fillers, codes, sequences)


def reduce_width(
    vectors: Float64[np.ndarray, "unit d_model"],
) -> Float64[np.ndarray, "unit dimension"]:
    """Vectors along their first principal axes, as many as hold VARIANCE, MAX_DIMENSIONS at most."""
    centered = vectors - vectors.mean(0)
    values, axes = eigh(centered.T @ centered)
    values, axes = values[::-1], axes[:, ::-1]
    share = np.cumsum(values) / max(values.sum(), 1e-300)
    width = min(MAX_DIMENSIONS, int(np.searchsorted(share, VARIANCE)) + 1)
    return centered @ axes[:, :width]


def tabulate_searches(searches: Sequence[RoleSearch]) -> pd.DataFrame:
    """The long table of searches: the numbers of every scheme that was tried, beside controls."""
    tables = [s.schemes.assign(site=s.site, layer=layer_of(s.site)) for s in searches]
    table = pd.concat(tables, ignore_index=True)
    return melt(table, SEARCHED, SEARCHED_NUMBERS, with_missing=True).assign(estimator="search")


def view_searches(results: Results) -> list[RoleSearch]:
    """The searches of a long table, site by site."""
    wide = results.wide().rename(columns={"task": "roles"}).drop(columns=["layer", "estimator"])
    types = dict.fromkeys(("is_found", "is_near"), bool) | dict.fromkeys(SEARCHED_SIZES, int)
    wide = wide.astype(types)
    return [_search(str(site), rows) for site, rows in wide.groupby("site", sort=False)]


def _search(site: str, rows: pd.DataFrame) -> RoleSearch:
    found_names = rows.loc[rows["is_found"], "roles"]
    schemes = rows.drop(columns=["site", "found"], errors="ignore").reset_index(drop=True)
    return RoleSearch(site, str(found_names.iloc[0]) if len(found_names) else NOTHING, schemes)


def load_roles(folder: str | os.PathLike[str]) -> list[RoleSearch]:
    """What a finished run found, site by site, read from its folder."""
    if not (Path(folder) / "schemes.csv").is_file():
        return load_view(folder, view_searches)
    names = columns(text="site found roles control", number="bits longer stability r2")
    table = load_table(folder, "schemes.csv", names, "search again")  # of version 0.3 and before
    return [_search(str(site), rows) for site, rows in table.groupby("site", sort=False)]
