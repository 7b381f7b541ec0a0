"""The shares of variance of words, places and bindings, of which no filler is joined to others: of a scheme's steps, of several sites in a model and its
baselines, and those of states whose table V[filler, place] is known. Nothing is fitted to states.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int
from scipy import stats
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.binding_claims import FEWEST_TWINS
from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES, Design, make_designs
from tprprobe.analyses.decomposition.scheme_fits import plan_decomposition
from tprprobe.analyses.decomposition.sequence_units import TOKEN, Units
from tprprobe.errors import InputError
from tprprobe.estimators.bindings import components
from tprprobe.estimators.bindings.components import BINDINGS, STEPS, BindingComponents, narrow
from tprprobe.estimators.bindings.families import ADDITIVE, BAG, FACTORED
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.estimators.bindings.pairs import starts_of
from tprprobe.evaluation.results import Row
from tprprobe.evaluation.splits import stand_first
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import FEWEST_GROUPS, Interval
from tprprobe.store import Store

PLACES = (
    (BAG, components.FILLERS, "share"),
    (ADDITIVE, components.ROLES, "share"),
    (ADDITIVE, components.BY_LENGTH, "share_by_length"),
    (FACTORED, BINDINGS, "share"),
)  # where the share of a step stands: the family of the row, and its column
MAX_CELLS = 5_000_000  # of the pairs that a unit's tokens and roles could be


class IndependentStates(NamedTuple):
    """The states by which shares are measured, as few numbers each, with the rows and documents of their units."""

    rows: Int[np.ndarray, " unit"]
    states: Float64[np.ndarray, "unit d"]
    groups: Int[np.ndarray, " unit"]

    @classmethod
    def read(cls, units: Units, seed: int) -> "IndependentStates":
        """Those of units: a model gives the same text the same states, so of units with one sequence those of one document count."""
        rows = np.flatnonzero(stand_first(units.groups, units.origin.sequences))
        rows = _limit(units, rows, seed)
        return cls(rows, narrow(units.vectors.load()[rows], seed), units.groups[rows])


def measure_shares(
    units: Units,
    design: Design,
    independent: IndependentStates,
    estimator: BindingComponents,
    steps: Sequence[str] = STEPS,
) -> dict[str, Row]:
    """By family the columns ``share…`` (of additive fits also ``share_by_length…``) of its row; none where units or documents are
    too few. An estimator that has measured the same design is fast.
    """
    estimator.steps = steps
    counts = _count(units, design, independent.rows)
    try:
        shares = estimator.fit(counts, independent.states, independent.groups).shares_
    except InputError:  # too few units or documents
        return {}
    rows: dict[str, Row] = {}
    for family, step, name in PLACES:
        if step in shares:
            rows.setdefault(family, {}).update(shares[step].columns(name))
    return rows


def add_shuffled(row: Row, shuffled: Row) -> None:
    """Adds to the row of bindings their share with shuffled roles."""
    row |= {f"share_shuffled{end}": shuffled.get(f"share{end}", np.nan) for end in ("", "_low", "_high")}  # fmt: skip


def compare_shares(rows: Mapping[str, Row], twins: Sequence[str]) -> None:
    """Adds to the row of bindings the share with shuffled roles, and how much larger its own is than those of baseline models;
    ``rows`` are by control.

    The interval is that of the difference between one more model of their kind and their mean, so that such a model is
    called learned in 2.5 % of cases, however they differ: share − mean ± t s √(1 + 1/n) (Student's t, n − 1 degrees of freedom).
    Fewer than three models have no interval.
    """
    row = rows[""]
    add_shuffled(row, rows.get(SHUFFLED_ROLES, {}))
    baseline_shares = np.array([rows[twin].get("share", np.nan) for twin in twins if twin in rows])
    baseline_shares = baseline_shares[np.isfinite(baseline_shares)]
    if len(baseline_shares) and "share" in row:
        n, learned, half = len(baseline_shares), row["share"] - baseline_shares.mean(), np.nan
        if n >= FEWEST_TWINS:
            half = stats.t.ppf(0.975, n - 1) * baseline_shares.std(ddof=1) * np.sqrt(1 + 1 / n)
        row |= Interval(learned, learned - half, learned + half).columns("share_learned")


def _limit(units: Units, rows: np.ndarray, seed: int) -> np.ndarray:
    """The rows, or as many random ones as have MAX_CELLS."""
    cells = np.sum(
        [np.diff(members.indptr)[rows].astype(float) ** 2 for members in units.members], 0
    )
    if cells.sum() <= MAX_CELLS:
        return rows
    order = np.random.default_rng(seed).permutation(len(rows))
    return np.sort(rows[order[np.cumsum(cells[order]) <= MAX_CELLS]])


def _count(units: Units, design: Design, rows: np.ndarray) -> list[PairCounts]:
    """The pairs of every part of the units, and how many tokens it has."""
    starts = starts_of(design.parts)
    return [
        PairCounts(csr_array(design.counts[:, a:b])[rows], pairs.filler_of, pairs.role_of, np.diff(members.indptr)[rows])
        for pairs, members, (a, b) in zip(design.parts, cycle(units.members), pairwise(starts), strict=False)
    ]  # fmt: skip


def score_shares(
    store: Store, sites: Sequence[str], schemes: Sequence[str], unit: str = TOKEN, seed: int = 0
) -> pd.DataFrame:
    """A row a site, scheme of roles, step (family: bag, additive, factored) and control; of all schemes but the first
    the step of bindings alone.

    Args:
        store: A store, with those of its baseline models.
        sites: Its sites.
        schemes: Schemes of roles, as :func:`decompose` takes them.
        unit: What a vector is of, as of :func:`decompose`.
        seed: Seed of random choices.

    Returns:
        The columns ``share…`` of :func:`decompose`. Controls: the kind of a baseline model, or shuffled roles.

    Raises:
        InputError: Too few documents.
    """
    rows: list[Row] = []
    # sites and baselines share the moments of a design, and of its shuffled roles
    make_estimator = partial(BindingComponents, random_state=seed)
    estimators = {scheme: (make_estimator(), make_estimator()) for scheme in schemes}
    for site in sites:
        plan = plan_decomposition(store, site, schemes, unit=unit, seed=seed, rare=0)
        stores = {"": store, **store.twins}
        units = {control: plan.read(source, site, 1) for control, source in stores.items()}
        states = {control: IndependentStates.read(of, seed) for control, of in units.items()}
        for name, scheme in zip(schemes, plan.schemes, strict=True):
            steps = STEPS if name == schemes[0] else [BINDINGS]  # fillers' share has no scheme
            estimator, of_shuffled = estimators[name]
            scored: dict[str, dict[str, Row]] = {}
            for control, control_units in units.items():
                designs = make_designs(control_units, scheme, plan.withheld, seed)
                read = control_units, next(designs), states[control]
                scored[control] = measure_shares(*read, estimator, steps)
                read = control_units, next(designs), states[control]
                shuffled = measure_shares(*read, of_shuffled, [BINDINGS])
                if shuffled and scored[control]:
                    add_shuffled(scored[control][FACTORED], shuffled[FACTORED])
                if not control:
                    scored[SHUFFLED_ROLES] = shuffled
            bindings = {control: row[FACTORED] for control, row in scored.items() if row}
            if "" in bindings:
                compare_shares(bindings, list(store.twins))
            place = {"site": site, "layer": layer_of(site), "roles": name}
            rows += [
                place | {"family": family, "control": control} | columns
                for control, families in scored.items()
                for family, columns in families.items()
            ]
    if not rows:
        groups = f" of {FEWEST_GROUPS} documents" * ("document" in store.tokens)
        raise InputError(
            f"shares of variance need {components.FEWEST_UNITS} different texts{groups}: read more"
        )
    return pd.DataFrame(rows)
