"""Scores of a scheme's families and their gains over the family below, beside all controls."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.designs import (
    ALL,
    AS_IS,
    FITTING,
    SHUFFLED_ROLES,
    UNWITHHELD,
    Design,
    make_designs,
)
from tprprobe.analyses.decomposition.predictions import Numbers, Predict, Prediction, Score, score
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.scheme_fits import Decoder, DecompositionPlan, SchemeFits
from tprprobe.analyses.decomposition.score_tables import SHARES
from tprprobe.analyses.decomposition.sequence_units import Units
from tprprobe.analyses.decomposition.variance_shares import (
    IndependentStates,
    compare_shares,
    measure_shares,
)
from tprprobe.estimators.bindings.components import BINDINGS, STEPS, BindingComponents
from tprprobe.estimators.bindings.families import BELOW, FACTORED, FAMILIES, RoleFit
from tprprobe.estimators.bindings.ridge import Regression
from tprprobe.evaluation.results import Row, number, tabulate
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import Interval, bounds, read_interval
from tprprobe.store import Store
from tprprobe.store.dask_workers import in_one_thread

ITSELF = "itself"
UNSEEN = "_withheld"  # the metrics of units with a pair that the fit has not seen
N_STAGES = 5  # of the work on a scheme, beside its families and baseline models

Key = tuple[str, str]  # a family and a control
Report = Callable[[str, int], object]  # of a stage as it begins: its name, and how many there are


class ScoreRows:
    """The numbers of a scheme's families and controls, by metric, while they are measured."""

    def __init__(self):
        self.numbers: dict[Key, Numbers] = {}
        self.scores: dict[Key, Score] = {}
        self.shares: dict[Key, Row] = {}

    def add(
        self, units: Units, predictions: Sequence[Prediction], decoder: Decoder | None = None
    ) -> None:
        """Adds the scores of predictions; those of one family and control are one row."""
        scores = score(units, predictions, decoder)
        for p, measured in zip(predictions, scores, strict=True):
            key = p.family, p.control
            numbers = self.numbers.setdefault(key, {})
            numbers |= p.facts
            if measured is None:
                continue
            metrics = {"r2": measured.r2}
            if decoder:
                metrics["substitution"] = measured.substitution
            if not p.suffix:
                self.scores[key] = measured
                if p.family and (p.below is not None or p.family not in BELOW):
                    metrics["gain"] = measured.gain
            counts = {"n": measured.n, "n_groups": measured.n_groups}
            for metric, interval in metrics.items():
                numbers[metric + p.suffix] = number(metric + p.suffix, interval, **counts)

    def add_shares(
        self,
        units: Units,
        design: Design,
        states: IndependentStates,
        estimator: BindingComponents,
        steps: Sequence[str] = STEPS,
    ) -> None:
        """Adds shares of variance to the rows of families."""
        for family, columns in measure_shares(units, design, states, estimator, steps).items():
            if (family, design.control) in self.numbers:
                self.shares.setdefault((family, design.control), {}).update(columns)

    def compare_gains(self, family: str, rivals: Sequence[str]) -> tuple[Interval, Row] | None:
        """How much more a family gains than the rival that gains most, paired, and which that is; None without any."""
        score = self.scores.get((family, AS_IS))
        gains = {name: s for name in rivals if (s := self.scores.get((family, name)))}
        if score is None or not gains:
            return None
        rival = max(gains, key=lambda name: gains[name].gain.value)
        reference, n_groups = gains[rival].gain, min(score.n_groups, gains[rival].n_groups)
        low, high = bounds(score.gain.replicates - reference.replicates, n_groups)
        difference = Interval(score.gain.value - reference.value, float(low), float(high))
        return difference, {"rival": rival, "rival_value": reference.value}

    def compare_shuffled(self, baselines: Sequence[str]) -> None:
        """Adds to the row of bindings how far its gain, and its share, are beyond those of shuffled roles and baseline models."""
        if compared := self.compare_gains(FACTORED, [SHUFFLED_ROLES]):
            difference, rival = compared
            self.numbers[FACTORED, AS_IS]["gain"] |= difference.columns("beyond") | rival
        rows = {c: row for (family, c), row in self.shares.items() if family == FACTORED}
        compare_shares({AS_IS: {}, **rows}, baselines)

    def compare_baselines(self, baselines: Sequence[str], families: Sequence[str]) -> None:
        """Adds what every family gains more than in the baseline model that gains most."""
        for family in families:
            if compared := self.compare_gains(family, baselines):
                difference, rival = compared
                score = self.scores[family, AS_IS]
                learned = number("learned", difference, n=score.n, n_groups=score.n_groups, **rival)
                self.numbers[family, AS_IS]["learned"] = learned

    def list_numbers(self, families: Sequence[str]) -> Iterator[Row]:
        """The rows of a long table: of families, then of controls."""
        keys = [(family, AS_IS) for family in families]
        for family, control in (*keys, *(key for key in self.numbers if key not in keys)):
            shares = self.shares.get((family, control), {})
            measured = [number(s, read_interval(shares, s)) for s in SHARES if s in shares]
            for row in (*measured, *self.numbers[family, control].values()):
                yield {"estimator": family, "control": control} | row


def predict_families(
    fits: SchemeFits, families: Sequence[str], report: Callable[[str], object] = str, start: int = 0
) -> list[Prediction]:
    """The predictions of families, numbered from ``start``, the family below first; of no control also those
    without withheld pairs.
    """
    predictions: list[Prediction] = []
    design, index = fits.design, dict[tuple[str, str], int]()
    unseen = design.test & design.unseen
    tested = [("", FITTING, design.test)]
    if design.control == AS_IS and unseen.any():
        tested.append((UNSEEN, UNWITHHELD, unseen))
    for family in (name for name in FAMILIES if name in families):
        report(family)
        for suffix, fitted_units, units in tested:
            fit, regression = fits.fit(family, fitted_units), fits.regressions[fitted_units]
            below = index.get((BELOW.get(family, ""), suffix))
            facts = {} if suffix else describe(fit, regression)
            if fit.rank:
                size = int(np.prod(fit.parts[0].ranks))
                facts |= {f"rank{suffix}": number(f"rank{suffix}", size, note=fit.rank)}
            index[family, suffix] = start + len(predictions)
            predict = predictor(fit, design.counts)
            groups = design.withheld if suffix else None
            how = (predict, regression.mean, units, below, suffix, groups, facts)
            predictions.append(Prediction(family, design.control, *how))
    fits.clear_cache()
    return predictions


def describe(fit: RoleFit, regression: Regression) -> Numbers:
    """The sizes of a fit, by metric."""
    sizes = {
        "n_fit": regression.n,
        "n_fillers": len(fit.pairs.fillers),
        "n_roles": len(fit.pairs.roles),
        "pairs": sum(len(part_fit.pairs) for part_fit in fit.parts),
        "parameters": fit.n_parameters,
    }
    numbers = {metric: number(metric, size) for metric, size in sizes.items()}
    penalties = ", ".join(f"{name} {value:g}" for name, value in fit.penalties.items())
    numbers["parameters"]["note"] = penalties
    return numbers


def predictor(fit: RoleFit, counts: csr_array) -> Predict:
    """What a fit gives to a range of the units that have these counts."""
    return lambda units, _: fit.predict(csr_array(counts[units]))


@in_one_thread
def decompose_scheme(
    units: Units,
    baselines: Mapping[str, Store],
    scheme: RoleScheme,
    plan: DecompositionPlan,
    report: Report,
) -> tuple[RoleFit, RoleFit | None, pd.DataFrame]:
    """The fit of a scheme to all units, that to units without withheld pairs where there are any, and the long table
    of its scores: families, then controls.
    """
    family, families, rows = plan.family, plan.families, ScoreRows()

    def begin(stage: str) -> None:
        report(stage, N_STAGES + len(families) + len(baselines))

    begin("counts of pairs")
    fits, shuffled = plan.begin(units, scheme, n_designs=2)
    design = fits.design
    predictions = predict_families(fits, families, begin)
    begin("shuffled roles")
    compared = [name for name in (BELOW.get(family), family) if name]
    predictions += predict_families(shuffled, compared, start=len(predictions))
    if plan.decoder:
        mean = fits.regressions[FITTING].mean
        predictions.append(Prediction("", ITSELF, lambda _, v: v, mean, design.test))
    begin("scores")
    rows.add(units, predictions, plan.decoder)
    estimator = BindingComponents(random_state=plan.seed)  # baselines share its moments
    for name, store in baselines.items():
        begin(f"{name} twin")
        if units.site in store.sites:
            baseline_units = replace(plan, schemes=(scheme,), decoder=None).read(store, units.site)
            [baseline] = plan.begin(baseline_units, scheme, name)
            rows.add(baseline_units, predict_families(baseline, families))
            states = IndependentStates.read(baseline_units, plan.seed)
            designs = make_designs(baseline_units.separate, scheme, plan.withheld, plan.seed)
            separate = replace(next(designs), control=name)
            rows.add_shares(baseline_units, separate, states, estimator, [BINDINGS])
    begin("shares of variance")
    states = IndependentStates.read(units, plan.seed)
    share_designs = make_designs(units.separate, scheme, plan.withheld, plan.seed)
    rows.add_shares(units, next(share_designs), states, estimator)
    if family == FACTORED:
        rows.add_shares(units, next(share_designs), states, estimator, [BINDINGS])
        rows.compare_shuffled(list(baselines))
    rows.compare_baselines(list(baselines), families)
    names = {"site": units.site, "layer": layer_of(units.site), "task": scheme.name}
    names |= {"design": str(units)}
    table = tabulate(names | row for row in rows.list_numbers(families))
    begin("fit to all")
    unwithheld = fits.fit(family, UNWITHHELD) if design.unseen.any() else None
    return fits.fit(family, ALL), unwithheld, table


def no_report(_stage: str, _stages: int) -> None:
    """What reports go to where nobody waits."""
