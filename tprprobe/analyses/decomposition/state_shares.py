"""The shares of variance of words, places and bindings at several sites, in a model and its baselines, without fits."""

from collections.abc import Sequence

import pandas as pd

from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES, make_designs
from tprprobe.analyses.decomposition.scheme_fits import plan_decomposition
from tprprobe.analyses.decomposition.sequence_units import TOKEN
from tprprobe.analyses.decomposition.variance_shares import (
    IndependentStates,
    compare_shares,
    measure_shares,
)
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.components import BINDINGS, STEPS, BindingComponents
from tprprobe.estimators.bindings.families import FACTORED
from tprprobe.evaluation.results import Row
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import FEWEST_GROUPS
from tprprobe.store import Store


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
    estimators = {
        (scheme, is_shuffled): BindingComponents(random_state=seed)
        for scheme in schemes
        for is_shuffled in (False, True)
    }
    for site in sites:
        plan = plan_decomposition(store, site, schemes, unit=unit, seed=seed)
        sources = {"": store, **store.twins}
        units = {control: plan.read(source, site) for control, source in sources.items()}
        states = {control: IndependentStates.read(u, seed) for control, u in units.items()}
        for name, scheme in zip(schemes, plan.schemes, strict=True):
            # fillers' share has no scheme
            steps = STEPS if name == schemes[0] else [BINDINGS]
            scored: dict[str, dict[str, Row]] = {}
            for control in units:
                designs = make_designs(units[control], scheme, plan.withheld, seed)
                measured = units[control], next(designs), states[control]
                scored[control] = measure_shares(*measured, estimators[name, False], steps)
                if not control:
                    measured = units[control], next(designs), states[control]
                    shuffled = measure_shares(*measured, estimators[name, True], [BINDINGS])
                    scored[SHUFFLED_ROLES] = shuffled
            bindings = {
                control: row[FACTORED] for control, row in scored.items() if FACTORED in row
            }
            if "" in bindings:
                compare_shares(bindings, list(store.twins))
            place = {"site": site, "layer": layer_of(site), "roles": name}
            rows += [
                place | {"family": family, "control": control} | columns
                for control, families in scored.items()
                for family, columns in families.items()
            ]
    if not rows:
        raise InputError(
            f"shares of variance need texts of {FEWEST_GROUPS} documents or more: read more texts"
        )
    return pd.DataFrame(rows)
