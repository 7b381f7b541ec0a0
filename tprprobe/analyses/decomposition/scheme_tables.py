"""One scheme at one site: its fits, and its rows of the table of scores, beside all controls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.designs import design, enter, gather
from tprprobe.analyses.decomposition.families import (
    ADDITIVE,
    BAG,
    BELOW,
    FACTORED,
    FAMILIES,
    OPERATOR,
    ROLES,
    SATURATED,
    Embedding,
    RoleFit,
)
from tprprobe.analyses.decomposition.interactions import Ranks
from tprprobe.analyses.decomposition.role_schemes import RoleScheme, spans_of
from tprprobe.analyses.decomposition.scheme_fits import SchemeFits
from tprprobe.analyses.decomposition.scheme_scores import (
    Decoder,
    NormalVectors,
    Prediction,
    Score,
    covariance_of,
    score,
)
from tprprobe.analyses.decomposition.sequence_units import FEWEST, RARE, Units, read_units
from tprprobe.analyses.decomposition.unit_kinds import TOKEN, UnitKind
from tprprobe.errors import InputError, unknown
from tprprobe.site.patterns import side_of
from tprprobe.statistics import bounds
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES

RANDOM, PRINCIPAL, ITSELF = "random vectors", "pca", "itself"
UNSEEN = "_withheld"  # the columns of units with a pair that the fit has not seen
ENDS = ("", "_low", "_high")
MEASURES = ("r2", "gain", "learnt", f"r2{UNSEEN}", "substitution", f"substitution{UNSEEN}")
TEXTS = ("site", "roles", "design", "family", "control", "over", "rank", f"rank{UNSEEN}", "twin")
COUNTS = ("n", f"n{UNSEEN}", "n_fit", "groups", "n_fillers", "n_roles", "pairs", "parameters")
COLUMNS = (*TEXTS, *(f"{name}{end}" for name in MEASURES for end in ENDS), *COUNTS, "penalty")
STAGES = 5  # of the work on a scheme, beside its families and twins
Report = Callable[[str, int], object]  # of a stage as it begins: its name, and how many there are
CHAIN = (ROLES, BAG, ADDITIVE, FACTORED, SATURATED)


def no_report(_stage: str, _stages: int) -> None:
    """What reports go to where nobody waits."""


@dataclass(frozen=True)
class DecompositionPlan:
    """How sites are decomposed: the keywords of :func:`decompose`, checked."""

    schemes: tuple[RoleScheme, ...]
    fillers: str
    kind: UnitKind
    ranks: Ranks | None
    family: str = FACTORED
    withheld: float = 0.1
    embedding: str | Mapping[str, Any] | None = None
    decoder: Decoder | None = None
    seed: int = 0
    rare: int = RARE

    @property
    def unit(self) -> str:
        """``token``, or ``sample`` where a vector stands for all tokens of a sample."""
        return TOKEN if self.kind.unit == TOKEN else SAMPLE

    @property
    def families(self) -> list[str]:
        """The family that is asked for, then those that it is compared with."""
        last = CHAIN.index(self.family) if self.family in CHAIN else len(CHAIN) - 1
        known = CHAIN[: max(last + 1, CHAIN.index(ADDITIVE) + 1)]
        beside = (*known, SATURATED) if self.family == FACTORED else known
        return list(dict.fromkeys((self.family, *beside)))

    def read(self, store: Store, site: str, fewest: int = FEWEST) -> Units:
        """The units of a site with all columns that the schemes read, of so many sequences at least.

        Raises:
            InputError: as of :func:`decompose`.
        """
        if self.family not in FAMILIES:
            raise unknown("family", self.family, FAMILIES)
        if self.family == OPERATOR and self.embedding is None:
            raise InputError(
                f"the family {OPERATOR} needs an embedding, and {store.path} has no site of input "
                "embeddings: extract *.embedding too, or give a site or a vector by filler"
            )
        if not 0 <= self.withheld < 1:
            raise InputError(f"withheld {self.withheld}: give a share of pairs, 0 up to below 1")
        columns: set[str] = set().union(*(scheme.columns for scheme in self.schemes))
        kind = (self.kind.unit, self.kind.scope)
        units = read_units(store, site, self.fillers, *kind, columns, fewest, self.rare)
        first = units.tokens.iloc[spans_of(units.tokens)[0]]
        for scheme in self.schemes:
            scheme.label(first, enter(scheme, units.kind, first, units.kind.members(first)))
        return units


def begin_fits(
    units: Units, scheme: RoleScheme, plan: DecompositionPlan, control: str = ""
) -> SchemeFits:
    """The fits of a scheme to vectors, which are themselves or a control."""
    real = next(design(units, scheme, plan.withheld, plan.seed))
    regressions = gather(units.vectors, [real])[0]
    embedding = embed(units, real.parts[0].fillers, plan.embedding)
    real = replace(real, control=control)
    return SchemeFits(real, units.vectors, regressions, plan.ranks, embedding)


def decompose_scheme(
    units: Units,
    twins: Mapping[str, Store],
    scheme: RoleScheme,
    plan: DecompositionPlan,
    report: Report = no_report,
) -> tuple[RoleFit, pd.DataFrame]:
    """The fit of a scheme to all units, and its rows of scores: families, then controls; ``report`` gets
    the name of every stage as it begins, and how many there are.
    """
    stages = STAGES + len(plan.families) + len(twins)
    report("counts of pairs", stages)
    real, *shuffled = design(units, scheme, plan.withheld, plan.seed)
    regressions = gather(units.vectors, [real, *shuffled])
    embedding = embed(units, real.parts[0].fillers, plan.embedding)
    fits = SchemeFits(real, units.vectors, regressions[0], plan.ranks, embedding)
    rows: list[Prediction] = []
    add_families(rows, fits, plan.families, lambda name: report(name, stages))
    report("shuffled pairs", stages)
    like = replace(fits, like=fits, given=fits.by_sequences.choose(plan.family).bases)
    judged = (BELOW.get(plan.family), plan.family)
    for each, of in zip(shuffled, regressions[1:], strict=True):
        add_families(rows, replace(like, design=each, regressions=of), judged)
    mean, covariance = covariance_of(units, real.test)
    if 0 < (rank := fits.fit(plan.family).dimensions) < len(covariance):
        columns = {"control": PRINCIPAL, "rank": str(rank)}
        rows.append(Prediction(columns, projector(mean, covariance, rank), mean, real.test))
    if plan.decoder:
        rows.append(Prediction({"control": ITSELF}, lambda _, v: v, mean, real.test))
    report("scores", stages)
    found = _join(rows, score(units, units.vectors, rows, plan.decoder))
    report("random vectors", stages)
    noise = NormalVectors.like(units.vectors, mean, covariance, plan.seed)
    random = replace(real, control=RANDOM)
    drawn = [
        replace(fits.fitting, cross=of.cross, mean=of.mean) for of in gather(noise, [random])[0]
    ]
    chance = replace(like, design=random, vectors=noise, regressions=drawn)
    found |= score_families(units, chance, judged)
    for name, twin in twins.items():
        report(f"{name} twin", stages)
        if units.site in twin.sites:
            others = replace(plan, schemes=(scheme,), decoder=None).read(twin, units.site)
            of_twin = begin_fits(others, scheme, plan, name)
            found |= score_families(others, of_twin, plan.families)
    _compare(found, list(twins), plan.families)
    first = [found.pop((name, "")) for name in plan.families]
    table = pd.DataFrame([columns for columns, _ in (*first, *found.values())])
    table = table.assign(site=units.site, roles=scheme.name, design=str(units))
    report("fit to all", stages)
    return fits.fit_all(plan.family), table


def add_families(
    rows: list[Prediction],
    fits: SchemeFits,
    families: Sequence[str | None],
    report: Callable[[str], object] = str,
) -> None:
    """Adds predictions, the family below first; of no control also those without withheld pairs."""
    of, at = fits.design, dict[tuple[str, str], int]()
    unseen = of.test & of.unseen
    for family in (each for each in FAMILIES if each in families):
        report(family)
        made = [("", fits.fit(family), fits.fitting.mean, of.test)]
        if not of.control and unseen.any():
            new = fits.fit_unwithheld(family)
            made.append((UNSEEN, new, fits.regressions[1].mean, unseen))
        for suffix, fit, mean, units in made:
            over = at.get((BELOW.get(family, ""), suffix))
            columns = {"family": family, "control": of.control, f"rank{suffix}": fit.rank}
            if not suffix:
                columns |= _columns(fit, fits.fitting.n)
            if not suffix and (over is not None or family not in BELOW):
                columns["over"] = BELOW.get(family, "mean")
            at[family, suffix] = len(rows)
            rows.append(Prediction(columns, predictor(fit, of.counts), mean, units, over))
    fits.forget()


def predictor(fit: RoleFit, counts: csr_array) -> Any:
    """What a fit gives to a range of the units that have these counts."""
    return lambda units, _: fit.predict(csr_array(counts[units]))


def projector(mean: np.ndarray, covariance: np.ndarray, rank: int) -> Any:
    """What the first principal components of vectors keep of them."""
    width = len(covariance)
    axes = eigh(covariance, subset_by_index=(width - rank, width - 1))[1]
    return lambda _, vectors: mean + (vectors - mean) @ axes @ axes.T


def _columns(fit: RoleFit, n_fit: int) -> dict[str, Any]:
    return {
        "n_fit": n_fit,
        "n_fillers": len(fit.pairs.fillers),
        "n_roles": len(fit.pairs.roles),
        "pairs": sum(len(each.pairs) for each in fit.parts),
        "parameters": fit.parameters,
        "penalty": ", ".join(f"{name} {value:g}" for name, value in fit.penalties.items()),
    }


Found = dict[tuple[str, str], tuple[dict[str, Any], Score | None]]


def score_families(units: Units, fits: SchemeFits, families: Sequence[str | None]) -> Found:
    """The rows of families that are fitted to a control."""
    rows: list[Prediction] = []
    add_families(rows, fits, families)
    return _join(rows, score(units, fits.vectors, rows))


def _join(predictions: Sequence[Prediction], scores: Sequence[Score | None]) -> Found:
    """One row per family and control: its columns, scores, and scores on unseen pairs."""
    rows: Found = {}
    for each, found in zip(predictions, scores, strict=True):
        key = (each.columns.get("family", ""), each.columns["control"])
        suffix = UNSEEN if f"rank{UNSEEN}" in each.columns else ""
        before, kept = rows.get(key, ({}, found))
        columns = before | each.columns
        if found is not None:
            names = ["r2", "substitution", *(["gain"] if "over" in each.columns else [])]
            columns |= found.columns(names, suffix) | {f"n{suffix}": found.n}
            columns |= {"groups": found.groups} if not suffix else {}
        rows[key] = (columns, kept)
    return rows


def _compare(found: Found, twins: Sequence[str], families: Sequence[str]) -> None:
    """Adds to every family's row how much more it gains than the twin that gains most."""
    for family in families:
        row, score = found.get((family, ""), ({}, None))
        known = {twin: of for twin in twins if (of := found.get((family, twin), ({}, None))[1])}
        if score is None or not known:
            continue
        twin = max(known, key=lambda each: known[each].values[2])
        other = known[twin]
        apart = score.replicates[:, 2] - other.replicates[:, 2]
        low, high = bounds(apart, min(score.groups, other.groups))
        learnt = float(score.values[2] - other.values[2])
        row.update(learnt=learnt, learnt_low=float(low), learnt_high=float(high), twin=twin)


def arrange(table: pd.DataFrame, decoded: bool) -> pd.DataFrame:
    """The table in the order of COLUMNS; what has no text is empty, what has no number is missing."""
    names = [name for name in COLUMNS if decoded or not name.startswith("substitution")]
    texts = (*TEXTS, "penalty")
    found = table.reindex(columns=names).astype(dict.fromkeys(texts, object))
    return found.fillna(dict.fromkeys(texts, "")).astype(
        {**dict.fromkeys(texts, "str"), **dict.fromkeys(COUNTS, "Int64")}
    )


def input_embedding(store: Store, site: str) -> str | None:
    """The site of the input embeddings of a site's stack, where a store of tokens has it."""
    stack = "embedding.target" if side_of(site) == SIDES[1] else "embedding"
    names = (f"{site.partition('.')[0]}.embedding", f"{stack}.filler", "layers.embedding")
    return next((each for each in names if each in store.sites and not store.pool), None)


def embed(
    units: Units, fillers: pd.Index, given: str | Mapping[str, Any] | None
) -> Embedding | None:
    """e(f) of every filler: as given, or the mean by filler of a site of tokens."""
    if given is None:
        return None
    if not isinstance(given, str):
        if lacking := [each for each in fillers if each not in given]:
            raise InputError(f"no embedding of the filler {lacking[0]!r}: give one of every filler")
        return np.stack([np.asarray(given[each], float) for each in fillers])
    tokens = read_units(units.store, given)
    filler = fillers.get_indexer(pd.Index(units.tokens["filler"].to_numpy(object)))
    if len(tokens) != len(filler):
        raise InputError(f"{given} and {units.site} are of different tokens: give another site")
    total, n = np.zeros((len(fillers), tokens.vectors.width)), np.zeros((len(fillers), 1))
    for block, vectors in tokens.vectors.blocks():
        np.add.at(total, filler[block], vectors)
        np.add.at(n, filler[block], 1)
    return total / np.maximum(1, n)
