"""The shares of variance of words, places and bindings at several sites, in a model and its baselines, without fits."""

from collections.abc import Sequence

import pandas as pd

from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES, make_designs
from tprprobe.analyses.decomposition.scheme_fits import plan_decomposition
from tprprobe.analyses.decomposition.sequence_units import TOKEN
from tprprobe.analyses.decomposition.variance_shares import compare_shares, measure_shares
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
    # fillers' share has no scheme; sites share the moments of a design
    steps = {scheme: STEPS if scheme == schemes[0] else [BINDINGS] for scheme in schemes}
    estimators = {
        scheme: [BindingComponents(steps=s, random_state=seed) for s in (steps[scheme], [BINDINGS])]
        for scheme in schemes
    }
    for site in sites:
        for scheme in schemes:
            scored = _score_scheme(store, site, scheme, estimators[scheme], unit, seed)
            place = {"site": site, "layer": layer_of(site), "roles": scheme}
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


def _score_scheme(
    store: Store,
    site: str,
    scheme: str,
    estimators: Sequence[BindingComponents],
    unit: str,
    seed: int,
) -> dict[str, dict[str, Row]]:
    """By control and family the columns of shares, by the estimators of roles as they are and of shuffled ones."""
    scored = {}
    for control, source in {"": store, **store.twins}.items():
        plan = plan_decomposition(source, site, [scheme], unit=unit, seed=seed)
        units = plan.read(source, site)
        designs = make_designs(units, plan.schemes[0], plan.withheld, seed)
        scored[control] = measure_shares(units, next(designs), estimators[0])
        if not control:
            scored[SHUFFLED_ROLES] = measure_shares(units, next(designs), estimators[1])
    bindings = {
        control: families[FACTORED] for control, families in scored.items() if FACTORED in families
    }
    if "" in bindings:
        compare_shares(bindings, list(store.twins))
    return {control: families for control, families in scored.items() if families}
