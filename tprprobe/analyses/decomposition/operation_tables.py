"""Which operation binds at a site: a table of all operations, and a sentence."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from tprprobe import plugins
from tprprobe.analyses.decomposition.designs import make_designs
from tprprobe.analyses.decomposition.operation_scores import UnitParts, score_operations
from tprprobe.analyses.decomposition.role_schemes import Roles
from tprprobe.analyses.decomposition.scheme_fits import plan_decomposition
from tprprobe.analyses.decomposition.score_tables import load_table
from tprprobe.errors import InputError, unknown
from tprprobe.estimators.bindings.operations_base import Operation, as_operation
from tprprobe.evaluation.results import Results, load_view, melt
from tprprobe.files.tables import columns
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import interval_text, read_interval
from tprprobe.store import Store
from tprprobe.store.reader import takes_paths

COLUMNS = ("site", "roles", "operation", "form", "r2", "r2_low", "r2_high", "behind", "behind_low", "behind_high", "is_named", "n_fillers", "n_roles", "pairs")  # fmt: skip
METRICS = ("r2", "behind", "is_named", "n_roles", "pairs")  # of the long table
VIEWED = {"roles": "task", "operation": "estimator"}  # columns, as the long table calls them


def find_operations(names: Sequence[str] | None = None) -> Mapping[str, type[Operation]]:
    """The operations of all installed packages by name, or those of these names."""
    loaded = plugins.load_all("operations")
    known = {name: as_operation(kind, name) for name, kind in loaded.items()}
    for name in names or ():
        if name not in known:
            raise unknown("operation", name, known)
    return {name: known[name] for name in names or known}


@takes_paths
def compare_operations(
    store: Store,
    site: str,
    roles: Roles = "left",
    operations: Sequence[str] | None = None,
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    seed: int = 0,
    rare: int = 2,
) -> pd.DataFrame:
    """Which operation binds fillers to roles: how well each predicts the vectors of pairs that it has not seen.

    The vectors V[f, r] of pairs are estimated twice, from different samples. An operation is fitted to the first
    estimate, without a sixth of the pairs, beside a vector a_f and a vector c_r for every filler and role. What it says of
    the missing pairs is compared with the second estimate.

    Args:
        store: The store.
        site: A site of vectors; layer -1 is the last.
        roles: A scheme, as in :func:`decompose`.
        operations: Names of operations; default: all that are installed (``additive``, ``outer``, ``hadamard``,
            ``convolution``, ``rotation``, ``matrix``, and those of plug-ins).
        fillers: The column of fillers.
        unit: What a vector is of, as in :func:`decompose`.
        scope: What the vector of a token is made of, as in :func:`decompose`.
        seed: Seed of random choices.
        rare: Fillers in fewer groups of sequences than this are joined to one; 0 joins none.

    Returns:
        One row per operation: ``r2`` of the vectors of unseen pairs, without the noise of their estimates; ``behind``, how far it is
        behind the best, in pairs; ``is_named``, whether it is ahead of all others. See [columns](decomposition.md#columns-of-operations).

    Raises:
        InputError: No such site, column, scheme or operation; or too few pairs that several vectors have.

    Source: Owen 2007 (intervals over fillers and roles).

    Examples:
        >>> tp.compare_operations("runs/gru", "encoding", "left")[["operation", "r2", "is_named"]]  # doctest: +SKIP
    """
    plan = plan_decomposition(store, site, roles, fillers, unit, scope, seed=seed, rare=rare)
    units, [scheme] = plan.read(store, site), plan.schemes
    classes = list(find_operations(operations).values())
    design = next(make_designs(units, scheme, 0.0, seed))
    parts = UnitParts.divide(design.parts, design.counts, units.origin, seed)
    try:
        table = score_operations(parts, units.vectors, classes, seed)
    except InputError as error:
        raise InputError(f"{units.site}, {scheme.name}: {error}") from None
    return pd.concat(
        [pd.DataFrame({"site": [units.site] * len(table), "roles": scheme.name}), table], axis=1
    )


def summarize_operations(table: pd.DataFrame) -> list[str]:
    """A sentence per site and scheme: the operation that is named with its R² and the next one, or that none is."""
    lines = []
    groups = table.groupby(["site", "roles"], sort=False)
    for (site, roles), rows in groups:
        ranked = rows.sort_values(["is_named", "r2"], ascending=False).to_dict("records")
        texts = [
            f"{row['operation']} {interval_text(read_interval(row, 'r2'))}" for row in ranked[:3]
        ]
        is_named = ranked[0]["is_named"]
        answer = (
            f"bound by the operation ‘{ranked[0]['operation']}’"
            if is_named
            else "no operation is named"
        )
        lines.append(f"{site}, {roles}: {answer}; R² of unseen pairs: {', '.join(texts)}")
    return lines


def tabulate_operations(table: pd.DataFrame) -> pd.DataFrame:
    """The long table of operations; the form of an operation is the note of its R²."""
    layers = table["site"].map(layer_of)
    table = table.assign(control="", layer=layers, n_groups=table["n_fillers"])
    names = {"site": "site", "layer": "layer", "control": "control", **VIEWED}
    long = melt(table, names, METRICS)
    is_r2 = long["metric"] == METRICS[0]
    long.loc[is_r2, "note"] = table["form"].to_numpy()
    return long


def view_operations(results: Results) -> pd.DataFrame:
    """The table of operations with a row a site, scheme and operation; see [columns](columns.md#operations)."""
    view = results.wide().rename(columns={name: column for column, name in VIEWED.items()})
    r2 = results.table[results.table["metric"] == METRICS[0]]
    view = view.assign(form=r2["note"].to_numpy(), n_fillers=r2["n_groups"].to_numpy(int))
    sizes = dict.fromkeys(METRICS[3:], int)
    return view.astype({"is_named": bool, **sizes})[list(COLUMNS)]


def load_operations(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The table of operations of a finished run, read from its folder."""
    if (Path(folder) / "operations.csv").is_file():  # of version 0.3 and before
        columns_read = columns(text="site roles operation", number="r2 r2_low r2_high behind")
        return load_table(folder, "operations.csv", columns_read, "compare again")
    return load_view(folder, view_operations)
