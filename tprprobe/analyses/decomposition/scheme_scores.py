"""Held-out scores of a scheme's fits and their gains over the family below, beside all controls.

Errors are summed by document in one pass over the vectors; intervals draw documents.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from scipy.linalg import eigh
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.designs import AS_IS, SHUFFLED_ROLES
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.scheme_fits import (
    ALL,
    FITTING,
    UNWITHHELD,
    Decoder,
    DecompositionPlan,
    SchemeFits,
)
from tprprobe.analyses.decomposition.score_tables import Numbers, tabulate_scores
from tprprobe.analyses.decomposition.sequence_units import Units
from tprprobe.analyses.decomposition.unit_vectors import UnitVectors, fit_moments
from tprprobe.analyses.decomposition.variance_shares import compare_shares, measure_shares
from tprprobe.estimators.bindings.components import BINDINGS
from tprprobe.estimators.bindings.families import BELOW, FACTORED, FAMILIES, RoleFit
from tprprobe.estimators.bindings.ridge import Regression
from tprprobe.evaluation.intervals import REPLICATES
from tprprobe.evaluation.results import number
from tprprobe.statistics import Interval, bounds, divide, replicate_totals
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part, in_one_thread
from tprprobe.store.tokens import starts_of

COVARIANCE_UNITS = 50_000  # that covariances are measured on, at most
N_TERMS = 4  # summed by group: errors, those of the mean, units that are read back, units
RANDOM, PRINCIPAL, ITSELF = "random vectors", "pca", "itself"
UNSEEN = "_withheld"  # the metrics of units with a pair that the fit has not seen
N_STAGES = 6  # of the work on a scheme, beside its families and baseline models

Report = Callable[[str, int], object]  # of a stage as it begins: its name, and how many there are
Predict = Callable[[slice, Any], Any]  # from a range of units and their vectors to predictions


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a family (or a rule, "") predicts of tested units, beside a control.

    mean    of the vectors that were fitted to
    below   the prediction, by its number, that a gain is over; None: the mean
    suffix  of the metrics
    facts   further numbers of the fit, by metric
    """

    family: str
    control: str
    predict: Predict
    mean: Float64[np.ndarray, " d_model"]
    units: Bool[np.ndarray, " unit"]
    below: int | None = None
    suffix: str = ""
    facts: Numbers = field(default_factory=dict)


class Score(NamedTuple):
    """The score of a prediction over its units, with replicates of drawn groups."""

    r2: Interval
    gain: Interval
    substitution: Interval
    n: int
    n_groups: int


def score(
    units: Units,
    vectors: UnitVectors,
    predictions: Sequence[Prediction],
    decoder: Decoder | None = None,
) -> list[Score | None]:
    """The score of every prediction; None where it has no unit.

    R² is 1 − Σ|e − ê|² / Σ|e − ē|², ē the mean of the fitted units; a gain is the difference of two R² on the
    same units (of R² itself where nothing is below); documents are drawn.
    """
    sums = np.zeros((len(predictions), N_TERMS, int(units.groups.max()) + 1))
    starts = starts_of(pd.factorize(units.tokens["sample"])[0])
    texts = np.split(units.tokens["filler"].to_numpy(object), starts[1:]) if decoder else []
    sum_part = partial(_sum_part, vectors, units.groups, predictions, decoder, texts)
    for groups, of_part in each_part(sum_part, vectors.parts()):
        sums[:, :, groups] += of_part
    has_units = sums[:, -1] > 0
    errors, of_mean, n_read, n = np.moveaxis(_draw_groups(sums, has_units), -1, 0)
    r2, substitution = 1 - divide(errors, of_mean), divide(n_read, n)
    scores: list[Score | None] = []
    for i, prediction in enumerate(predictions):
        n_groups, below = int(has_units[i].sum()), prediction.below
        gain = r2[:, i] - (0 if below is None else r2[:, below])
        real_score, beyond, read = (
            _interval(v, n_groups) for v in (r2[:, i], gain, substitution[:, i])
        )
        scores.append(Score(real_score, beyond, read, int(n[0, i]), n_groups) if n_groups else None)
    return scores


def _draw_groups(
    sums: Float64[np.ndarray, "prediction term group"],
    has_units: Bool[np.ndarray, "prediction group"],
) -> Float64[np.ndarray, "replicate prediction term"]:
    """Totals over a prediction's groups, then over as many that are drawn, the same for all of the same groups."""
    totals = np.zeros((1 + REPLICATES, *sums.shape[:2]))
    for groups in np.unique(has_units[has_units.any(1)], axis=0):
        rows = np.flatnonzero((has_units == groups).all(1))
        flat = sums[rows][:, :, groups].reshape(-1, int(groups.sum())).T
        replicates = np.concatenate([flat.sum(0)[None], replicate_totals(flat, REPLICATES)])
        totals[:, rows] = replicates.reshape(len(replicates), len(rows), -1)
    return totals


def _interval(values: Float64[np.ndarray, " value_and_replicate"], n_groups: int) -> Interval:
    low, high = bounds(values[1:], n_groups)
    return Interval(float(values[0]), float(low), float(high), replicates=values[1:])


def _sum_part(
    vectors: UnitVectors,
    groups: np.ndarray,
    predictions: Sequence[Prediction],
    decoder: Decoder | None,
    texts: list[np.ndarray],
    span: slice,
) -> tuple[np.ndarray, Float64[np.ndarray, "prediction term group"]]:
    """The groups of some units, and for every prediction and group the terms."""
    group_names, index = np.unique(groups[span], return_inverse=True)
    sums = np.zeros((len(predictions), N_TERMS, len(group_names)))
    for block, states in vectors.blocks(span):
        group = index[block.start - span.start : block.stop - span.start]
        for totals, prediction in zip(sums, predictions, strict=True):
            is_tested = prediction.units[block]
            if not is_tested.any():
                continue
            true = states[is_tested]
            predicted = prediction.predict(block, states)[is_tested]
            terms = [
                np.sum((true - reference) ** 2, 1) for reference in (predicted, prediction.mean)
            ]
            n_read = np.zeros(len(true))
            if decoder:
                rows = block.start + np.flatnonzero(is_tested)
                n_read = np.asarray(decoder(predicted, [texts[i].tolist() for i in rows]), float)
            for total, term in zip(totals, (*terms, n_read, np.ones(len(true))), strict=True):
                total += np.bincount(group[is_tested], term, len(group_names))
    return group_names, sums


class ScoreRows:
    """The numbers of a scheme's families and controls, by metric, while they are measured."""

    def __init__(self):
        self.numbers: dict[tuple[str, str], Numbers] = {}
        self.scores: dict[tuple[str, str], Score] = {}
        self.shares: dict[tuple[str, str], dict[str, Any]] = {}

    def add(
        self,
        units: Units,
        vectors: UnitVectors,
        predictions: Sequence[Prediction],
        decoder: Decoder | None = None,
    ) -> None:
        """Adds the scores of predictions; those of one family and control are one row."""
        scores = score(units, vectors, predictions, decoder)
        for p, measured in zip(predictions, scores, strict=True):
            numbers = self.numbers.setdefault((p.family, p.control), {})
            numbers |= p.facts
            if measured is None:
                continue
            metrics = {"r2": measured.r2}
            if decoder:
                metrics["substitution"] = measured.substitution
            if not p.suffix:
                self.scores[p.family, p.control] = measured
                if p.family and (p.below is not None or p.family not in BELOW):
                    metrics["gain"] = measured.gain
            for metric, interval in metrics.items():
                name = metric + p.suffix
                numbers[name] = number(name, interval, n=measured.n, n_groups=measured.n_groups)

    def add_shares(self, control: str, shares: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds shares of variance to the rows of families."""
        for family, columns in shares.items():
            if (family, control) in self.numbers:
                self.shares.setdefault((family, control), {}).update(columns)

    def compare_gains(self, family: str, rivals: Sequence[str]) -> tuple[Interval, dict[str, Any]]:
        """How much more a family gains than the rival that gains most, paired, and which that is; NaN without any."""
        real_score = self.scores.get((family, AS_IS))
        gains = {name: s for name in rivals if (s := self.scores.get((family, name)))}
        if real_score is None or not gains:
            return Interval(np.nan, np.nan, np.nan), {}
        rival = max(gains, key=lambda name: gains[name].gain.value)
        rival_score = gains[rival]
        replicates = real_score.gain.replicates - rival_score.gain.replicates
        low, high = bounds(replicates, min(real_score.n_groups, rival_score.n_groups))
        difference = Interval(
            real_score.gain.value - rival_score.gain.value, float(low), float(high)
        )
        return difference, {"rival": rival, "rival_value": rival_score.gain.value}

    def compare_shuffled(self, baselines: Sequence[str]) -> None:
        """Adds to the row of bindings how far its gain, and its share, are beyond those of shuffled roles and baseline models."""
        difference, rival = self.compare_gains(FACTORED, [SHUFFLED_ROLES])
        if rival:
            self.numbers[FACTORED, AS_IS]["gain"] |= difference.columns("beyond") | rival
        rows = {
            control: row for (family, control), row in self.shares.items() if family == FACTORED
        }
        compare_shares({AS_IS: {}, **rows}, baselines)

    def compare_baselines(self, baselines: Sequence[str], families: Sequence[str]) -> None:
        """Adds what every family gains more than in the baseline model that gains most."""
        for family in families:
            difference, rival = self.compare_gains(family, baselines)
            if rival:
                real_score = self.scores[family, AS_IS]
                counts = {"n": real_score.n, "n_groups": real_score.n_groups}
                self.numbers[family, AS_IS]["learnt"] = number(
                    "learnt", difference, **counts, **rival
                )


def predict_families(
    fits: SchemeFits,
    families: Sequence[str],
    report: Callable[[str], object] = str,
    first: int = 0,
) -> list[Prediction]:
    """The predictions of families, numbered from ``first``, the family below first; of no control also those
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
        for suffix, fitted, units in tested:
            fit, regression = fits.fit(family, fitted), fits.regressions[fitted]
            below = index.get((BELOW.get(family, ""), suffix))
            facts = {} if suffix else describe(fit, regression)
            if fit.rank:
                size = int(np.prod(fit.parts[0].ranks))
                facts |= {f"rank{suffix}": number(f"rank{suffix}", size, note=fit.rank)}
            index[family, suffix] = first + len(predictions)
            predict = predictor(fit, design.counts)
            how = (predict, regression.mean, units, below, suffix, facts)
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


def measure_covariance(
    units: Units, fitted: Bool[np.ndarray, " unit"]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the vectors that are fitted to (of the first COVARIANCE_UNITS)."""
    width = units.vectors.width
    second, total, n = np.zeros((width, width)), np.zeros(width), 0
    for block, vectors in units.vectors.blocks():
        rows = vectors[fitted[block]]
        second, total, n = second + rows.T @ rows, total + rows.sum(0), n + len(rows)
        if n >= COVARIANCE_UNITS:
            break
    mean = total / max(1, n)
    return mean, second / max(1, n) - np.outer(mean, mean)


def draw_normal(
    vectors: UnitVectors, mean: np.ndarray, covariance: np.ndarray, seed: int
) -> UnitVectors:
    """Normal vectors of a mean and covariance, the same at every pass, in place of the units'."""
    values, axes = np.linalg.eigh(covariance)
    scaled = axes * np.sqrt(np.maximum(values, 0))

    def read(units: slice) -> np.ndarray:
        rng = np.random.default_rng((seed, units.start))
        return mean + rng.normal(size=(units.stop - units.start, len(mean))) @ scaled.T

    return replace(vectors, read=read)


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
    fits, *shuffled = plan.begin(units, scheme, n_designs=3)
    design = fits.design
    predictions = predict_families(fits, families, begin)
    begin("shuffled pairs")
    compared = [name for name in (BELOW.get(family), family) if name]
    for control in shuffled:
        predictions += predict_families(control, compared, first=len(predictions))
    mean, covariance = measure_covariance(units, design.fitting)
    if 0 < (rank := fits.fit(family).n_dimensions) < len(covariance):
        width, facts = len(covariance), {"rank": number("rank", rank, note=str(rank))}
        axes = eigh(covariance, subset_by_index=(width - rank, width - 1))[1]
        project: Predict = lambda _, v: mean + (v - mean) @ axes @ axes.T  # noqa: E731
        predictions.append(Prediction("", PRINCIPAL, project, mean, design.test, facts=facts))
    if plan.decoder:
        predictions.append(Prediction("", ITSELF, lambda _, v: v, mean, design.test))
    begin("scores")
    rows.add(units, units.vectors, predictions, plan.decoder)
    begin("random vectors")
    noise, random = (
        draw_normal(units.vectors, mean, covariance, plan.seed),
        replace(design, control=RANDOM),
    )
    regressions = fit_moments(noise, [(random.counts, random.fitting)])
    chance = replace(fits, design=random, vectors=noise, regressions=regressions, reference=fits)
    rows.add(units, noise, predict_families(chance, compared))
    for name, store in baselines.items():
        begin(f"{name} twin")
        if units.site in store.sites:
            baseline_units = replace(plan, schemes=(scheme,), decoder=None).read(store, units.site)
            [baseline] = plan.begin(baseline_units, scheme, name)
            rows.add(baseline_units, baseline_units.vectors, predict_families(baseline, families))
            rows.add_shares(
                name, measure_shares(baseline_units, baseline.design, plan.seed, [BINDINGS])
            )
    begin("shares of variance")
    rows.add_shares(AS_IS, measure_shares(units, design, plan.seed))
    if family == FACTORED:
        of_shuffled = measure_shares(units, shuffled[0].design, plan.seed, [BINDINGS])
        rows.add_shares(SHUFFLED_ROLES, of_shuffled)
        rows.compare_shuffled(list(baselines))
    rows.compare_baselines(list(baselines), families)
    table = tabulate_scores(
        rows.numbers, rows.shares, families, units.site, scheme.name, str(units)
    )
    begin("fit to all")
    unwithheld = fits.fit(family, UNWITHHELD) if design.unseen.any() else None
    return fits.fit(family, ALL), unwithheld, table


def no_report(_stage: str, _stages: int) -> None:
    """What reports go to where nobody waits."""
