"""Held-out scores of a scheme's fits and their gains over the family below, beside all controls: rows of a table.

Everything is summed up by document, in one pass over the vectors; intervals draw documents.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from scipy.linalg import eigh
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.designs import AS_IS, SHUFFLED_ROLES
from tprprobe.analyses.decomposition.families import BELOW, FACTORED, FAMILIES, RoleFit
from tprprobe.analyses.decomposition.ridge import Regression, gather
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.scheme_fits import (
    ALL,
    FITTING,
    UNWITHHELD,
    Decoder,
    DecompositionPlan,
    SchemeFits,
)
from tprprobe.analyses.decomposition.sequence_units import Units, UnitVectors
from tprprobe.analyses.decomposition.variance_shares import compare_shares, measure_shares
from tprprobe.estimators.bindings.components import BINDINGS
from tprprobe.statistics import bounds, divide, replicate_totals
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part, in_one_thread
from tprprobe.store.tokens import starts_of

REPLICATES = 1000
COVARIANCE_UNITS = 50_000  # that covariances are measured on, at most
ERRORS, OF_MEAN, READ, UNITS = range(4)  # the terms that are summed up by group
RANDOM, PRINCIPAL, ITSELF = "random vectors", "pca", "itself"
UNSEEN = "_withheld"  # the columns of units with a pair that the fit has not seen
ENDS = ("", "_low", "_high")
MEASURES = (
    "share",
    "share_by_length",
    "share_shuffled",
    "share_learned",
    "r2",
    "gain",
    "beyond",
    "learnt",
    f"r2{UNSEEN}",
    "substitution",
    f"substitution{UNSEEN}",
)
TEXTS = ("site", "roles", "design", "family", "control", "over", "rank", f"rank{UNSEEN}", "twin")
COUNTS = ("n", f"n{UNSEEN}", "n_fit", "groups", "n_fillers", "n_roles", "pairs", "parameters")
STAGES = 6  # of the work on a scheme, beside its families and twins
COLUMNS = (*TEXTS, *(f"{name}{end}" for name in MEASURES for end in ENDS), *COUNTS, "penalty")

Report = Callable[[str, int], object]  # of a stage as it begins: its name, and how many there are


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions of units, the columns of their row and their suffix, and the number of the prediction that a gain is over."""

    columns: dict[str, Any]
    predict: Callable[[slice, Any], Any]
    mean: Float64[np.ndarray, " d_model"]
    units: Bool[np.ndarray, " unit"]
    over: int | None = None
    suffix: str = ""


@dataclass(frozen=True, eq=False)
class Score:
    """The values of a prediction (R², the share read back, gain) and their values if other groups had been drawn."""

    values: Float64[np.ndarray, " measure"]
    replicates: Float64[np.ndarray, "replicate measure"]
    n: int
    groups: int

    def columns(self, names: Sequence[str], suffix: str = "") -> dict[str, float]:
        """The values by name, with ``_low`` and ``_high``: 95 % intervals over groups."""
        low, high = bounds(self.replicates, self.groups)
        return {
            name + suffix + end: float(of[i])
            for i, name in enumerate(("r2", "substitution", "gain"))
            for end, of in zip(ENDS, (self.values, low, high), strict=True)
            if name in names
        }


def score(
    units: Units,
    vectors: UnitVectors,
    rows: Sequence[Prediction],
    decoder: Decoder | None = None,
) -> list[Score | None]:
    """The score of every row over its units; None where it has no unit.

    R² is 1 − Σ|e − ê|² / Σ|e − ē|², ē the mean of the fitted units; a gain is the difference of two R² on the
    same units (of R² itself where nothing is below); documents are drawn.
    """
    sums = np.zeros((len(rows), 4, int(units.groups.max()) + 1))
    starts = starts_of(pd.factorize(units.tokens["sample"])[0])
    texts = np.split(units.tokens["filler"].to_numpy(object), starts[1:]) if decoder else []
    add_up = partial(_add_up, vectors, units.groups, rows, decoder, texts)
    for groups, found in each_part(add_up, vectors.parts()):
        sums[:, :, groups] += found
    held = sums[:, UNITS] > 0
    values = _measure(_draw(sums, held), [row.over for row in rows])
    ns, groups = sums[:, UNITS].sum(1).astype(int).tolist(), held.sum(1).tolist()
    return [
        Score(values[0, i], values[1:, i], ns[i], groups[i]) if ns[i] else None
        for i in range(len(rows))
    ]


def _draw(
    sums: Float64[np.ndarray, "line term group"], held: Bool[np.ndarray, "line group"]
) -> Float64[np.ndarray, "replicate line term"]:
    """Totals over the groups that a line has, then over as many that are drawn, the same for lines that have the same."""
    totals = np.zeros((1 + REPLICATES, *sums.shape[:2]))
    for of in (each for each in np.unique(held, axis=0) if each.any()):
        lines = np.flatnonzero((held == of).all(1))
        flat = sums[lines][:, :, of].reshape(-1, int(of.sum())).T
        found = np.concatenate([flat.sum(0)[None], replicate_totals(flat, REPLICATES)])
        totals[:, lines] = found.reshape(len(found), len(lines), -1)
    return totals


def _measure(
    totals: Float64[np.ndarray, "replicate line term"], over: Sequence[int | None]
) -> Float64[np.ndarray, "replicate line measure"]:
    """R², the share read back, and the gain (over the mean where nothing is below)."""
    errors, of_mean, read, n = np.moveaxis(totals, -1, 0)
    r2 = 1 - divide(errors, of_mean)
    below = [np.zeros(len(r2)) if i is None else r2[:, i] for i in over]
    return np.stack([r2, divide(read, n), r2 - np.stack(below, 1)], -1)


def _add_up(
    vectors: UnitVectors,
    groups: np.ndarray,
    rows: Sequence[Prediction],
    decoder: Decoder | None,
    texts: list[np.ndarray],
    part: slice,
) -> tuple[np.ndarray, Float64[np.ndarray, "line term group"]]:
    """The groups of some units, and by row and group: errors, those of the mean, read back, units."""
    known, numbers = np.unique(groups[part], return_inverse=True)
    sums = np.zeros((len(rows), 4, len(known)))
    for block, vectors_of in vectors.blocks(part):
        group = numbers[block.start - part.start : block.stop - part.start]
        for into, row in zip(sums, rows, strict=True):
            of = row.units[block]
            if not of.any():
                continue
            true, predicted = vectors_of[of], row.predict(block, vectors_of)[of]
            terms = [np.sum((true - each) ** 2, 1) for each in (predicted, row.mean)]
            read = np.zeros(len(true))
            if decoder:
                asked = [texts[i].tolist() for i in block.start + np.flatnonzero(of)]
                read = np.asarray(decoder(predicted, asked), float)
            for total, term in zip(into, (*terms, read, np.ones(len(true))), strict=True):
                total += np.bincount(group[of], term, len(known))
    return known, sums


Rows = dict[tuple[str, str], tuple[dict[str, Any], Score | None]]  # by family and control


def add_scores(
    rows: Rows,
    units: Units,
    vectors: UnitVectors,
    predictions: Sequence[Prediction],
    decoder: Decoder | None = None,
) -> None:
    """Adds the rows of predictions; those of one family and control are one row, with the score of the first."""
    scores = score(units, vectors, predictions, decoder)
    for each, found in zip(predictions, scores, strict=True):
        key = (each.columns.get("family", ""), each.columns["control"])
        columns, _ = rows.setdefault(key, ({}, found))
        columns |= each.columns
        if found is not None:
            names = ["r2", "substitution", *(["gain"] if "over" in each.columns else [])]
            columns |= found.columns(names, each.suffix) | {f"n{each.suffix}": found.n}
            columns |= {} if each.suffix else {"groups": found.groups}


def add_shares(rows: Rows, control: str, shares: Mapping[str, Mapping[str, float]]) -> None:
    """Adds shares of variance to the rows of families."""
    for family, columns in shares.items():
        if (family, control) in rows:
            rows[family, control][0].update(columns)


def compare_shuffled(rows: Rows) -> None:
    """Adds to the row of bindings how much more they gain than those to roles that are shuffled within sequences, paired."""
    row, score = rows[FACTORED, ""]
    _, shuffled = rows[FACTORED, SHUFFLED_ROLES]
    if score is None or shuffled is None:
        return
    apart = score.replicates[:, 2] - shuffled.replicates[:, 2]
    low, high = bounds(apart, score.groups)
    beyond = float(score.values[2] - shuffled.values[2])
    row.update(beyond=beyond, beyond_low=float(low), beyond_high=float(high))


def compare_twins(rows: Rows, twins: Sequence[str], families: Sequence[str]) -> None:
    """Adds to every family's row how much more it gains than the twin that gains most."""
    for family in families:
        row, score = rows[family, ""]
        found = {twin: rows.get((family, twin), ({}, None))[1] for twin in twins}
        known = {twin: of for twin, of in found.items() if of is not None}
        if score is None or not known:
            continue
        twin = max(known, key=lambda each: known[each].values[2])
        other = known[twin]
        apart = score.replicates[:, 2] - other.replicates[:, 2]
        low, high = bounds(apart, min(score.groups, other.groups))
        learnt = float(score.values[2] - other.values[2])
        row.update(learnt=learnt, learnt_low=float(low), learnt_high=float(high), twin=twin)


def predict_families(
    fits: SchemeFits,
    families: Sequence[str],
    report: Callable[[str], object] = str,
    first: int = 0,
) -> list[Prediction]:
    """The predictions of families, numbered from ``first``, the family below first; of no control also those
    without withheld pairs.
    """
    rows: list[Prediction] = []
    of, at = fits.design, dict[tuple[str, str], int]()
    unseen = of.test & of.unseen
    for family in (each for each in FAMILIES if each in families):
        report(family)
        made = [("", fits.fit(family), fits.regressions[FITTING], of.test)]
        if of.control == AS_IS and unseen.any():
            made.append(
                (UNSEEN, fits.fit(family, UNWITHHELD), fits.regressions[UNWITHHELD], unseen)
            )
        for suffix, fit, to, units in made:
            over = at.get((BELOW.get(family, ""), suffix))
            columns = {"family": family, "control": of.control, f"rank{suffix}": fit.rank}
            if not suffix:
                columns |= _describe(fit, to)
            if not suffix and (over is not None or family not in BELOW):
                columns["over"] = BELOW.get(family, "mean")
            at[family, suffix] = first + len(rows)
            rows.append(
                Prediction(columns, predictor(fit, of.counts), to.mean, units, over, suffix)
            )
    fits.forget()
    return rows


def _describe(fit: RoleFit, to: Regression) -> dict[str, Any]:
    return {
        "n_fit": to.n,
        "n_fillers": len(fit.pairs.fillers),
        "n_roles": len(fit.pairs.roles),
        "pairs": sum(len(each.pairs) for each in fit.parts),
        "parameters": fit.parameters,
        "penalty": ", ".join(f"{name} {value:g}" for name, value in fit.penalties.items()),
    }


def predictor(fit: RoleFit, counts: csr_array) -> Any:
    """What a fit gives to a range of the units that have these counts."""
    return lambda units, _: fit.predict(csr_array(counts[units]))


def covariance_of(units: Units, fitted: Bool[np.ndarray, " unit"]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the vectors that are fitted to (of the first COVARIANCE_UNITS)."""
    width = units.vectors.width
    second, first, n = np.zeros((width, width)), np.zeros(width), 0
    for block, vectors in units.vectors.blocks():
        chosen = vectors[fitted[block]]
        second, first, n = second + chosen.T @ chosen, first + chosen.sum(0), n + len(chosen)
        if n >= COVARIANCE_UNITS:
            break
    mean = first / max(1, n)
    return mean, second / max(1, n) - np.outer(mean, mean)


def normal_vectors(
    like: UnitVectors, mean: np.ndarray, covariance: np.ndarray, seed: int
) -> UnitVectors:
    """Normal vectors of a mean and covariance, the same at every pass, in place of the units'."""
    values, axes = np.linalg.eigh(covariance)
    scaled = axes * np.sqrt(np.maximum(values, 0))

    def read(units: slice) -> np.ndarray:
        rng = np.random.default_rng((seed, units.start))
        return mean + rng.normal(size=(units.stop - units.start, len(mean))) @ scaled.T

    return replace(like, read=read)


@in_one_thread
def decompose_scheme(
    units: Units,
    twins: Mapping[str, Store],
    scheme: RoleScheme,
    plan: DecompositionPlan,
    report: Report,
) -> tuple[RoleFit, RoleFit | None, pd.DataFrame]:
    """The fit of a scheme to all units, that to units without withheld pairs where there are any, and its rows of
    scores: families, then controls.
    """
    family, families = plan.family, plan.families

    def begin(stage: str) -> None:
        report(stage, STAGES + len(families) + len(twins))

    begin("counts of pairs")
    fits, *shuffled = plan.begin(units, scheme, designs=3)
    real = fits.design
    rows = predict_families(fits, families, begin)
    begin("shuffled pairs")
    judged = [each for each in (BELOW.get(family), family) if each]
    for each in shuffled:
        rows += predict_families(each, judged, first=len(rows))
    mean, covariance = covariance_of(units, real.fitting)
    if 0 < (rank := fits.fit(family).dimensions) < len(covariance):
        columns, width = {"control": PRINCIPAL, "rank": str(rank)}, len(covariance)
        axes = eigh(covariance, subset_by_index=(width - rank, width - 1))[1]
        rows.append(
            Prediction(columns, lambda _, v: mean + (v - mean) @ axes @ axes.T, mean, real.test)
        )
    if plan.decoder:
        rows.append(Prediction({"control": ITSELF}, lambda _, v: v, mean, real.test))
    begin("scores")
    found: Rows = {}
    add_scores(found, units, units.vectors, rows, plan.decoder)
    begin("random vectors")
    noise = normal_vectors(units.vectors, mean, covariance, plan.seed)
    random = replace(real, control=RANDOM)
    [of] = gather(noise, [random])
    chance = replace(fits, design=random, vectors=noise, regressions=of, like=fits)
    add_scores(found, units, noise, predict_families(chance, judged))
    for name, twin in twins.items():
        begin(f"{name} twin")
        if units.site in twin.sites:
            others = replace(plan, schemes=(scheme,), decoder=None).read(twin, units.site)
            [of_twin] = plan.begin(others, scheme, name)
            add_scores(found, others, others.vectors, predict_families(of_twin, families))
            add_shares(found, name, measure_shares(others, of_twin.design, plan.seed, [BINDINGS]))
    begin("shares of variance")
    add_shares(found, "", measure_shares(units, real, plan.seed))
    if family == FACTORED:
        compare_shuffled(found)
        of_shuffled = measure_shares(units, shuffled[0].design, plan.seed, [BINDINGS])
        add_shares(found, SHUFFLED_ROLES, of_shuffled)
        compare_shares(
            {control: row for (name, control), (row, _) in found.items() if name == FACTORED},
            list(twins),
        )
    compare_twins(found, list(twins), families)
    first = [found.pop((name, "")) for name in families]
    table = pd.DataFrame([columns for columns, _ in (*first, *found.values())])
    begin("fit to all")
    table = table.assign(site=units.site, roles=scheme.name, design=str(units))
    unwithheld = fits.fit(family, UNWITHHELD) if real.unseen.any() else None
    return fits.fit(family, ALL), unwithheld, table


def arrange(table: pd.DataFrame, decoded: bool) -> pd.DataFrame:
    """The table in the order of COLUMNS; what has no text is empty, what has no number is missing."""
    names = [name for name in COLUMNS if decoded or not name.startswith("substitution")]
    texts = (*TEXTS, "penalty")
    found = table.reindex(columns=names).astype(dict.fromkeys(texts, object))
    return found.fillna(dict.fromkeys(texts, "")).astype(
        {**dict.fromkeys(texts, "str"), **dict.fromkeys(COUNTS, "Int64")}
    )


def no_report(_stage: str, _stages: int) -> None:
    """What reports go to where nobody waits."""
