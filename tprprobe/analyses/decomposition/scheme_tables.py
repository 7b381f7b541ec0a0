"""One scheme at one site: its fits, and its rows of the table of scores, beside all controls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import eigh

from tprprobe.analyses.decomposition.designs import Design, design, gather
from tprprobe.analyses.decomposition.families import (
    FACTORED,
    FAMILIES,
    OPERATOR,
    Embedding,
    Ranks,
    RoleFit,
)
from tprprobe.analyses.decomposition.pair_counts import Pairs
from tprprobe.analyses.decomposition.role_fields import spans_of
from tprprobe.analyses.decomposition.role_schemes import RoleScheme
from tprprobe.analyses.decomposition.scheme_fits import SchemeFits
from tprprobe.analyses.decomposition.scheme_scores import (
    Decoder,
    NormalVectors,
    Prediction,
    covariance_of,
    score,
)
from tprprobe.analyses.decomposition.sequence_splits import TEST
from tprprobe.analyses.decomposition.sequence_units import FEWEST, Units, read_units
from tprprobe.errors import InputError, unknown
from tprprobe.store import Store

RANDOM, PRINCIPAL, UNTRAINED, ITSELF = "random vectors", "pca", "untrained", "itself"
UNSEEN = "_withheld"  # the columns of units with a pair that the fit has not seen
MEASURES = [
    f"{name}{of}{end}"
    for name in ("r2", "substitution")
    for of in ("", UNSEEN)
    for end in ("", "_low", "_high")
]
TEXTS = ("site", "roles", "family", "control", "rank", f"rank{UNSEEN}")
COUNTS = ("n", f"n{UNSEEN}", "n_fit", "n_fillers", "n_roles", "pairs", "parameters")
COLUMNS = (*TEXTS, *MEASURES, "bits", *COUNTS, "penalty")


@dataclass(frozen=True)
class DecompositionPlan:
    """How sites are decomposed: the keywords of :func:`decompose`, checked."""

    schemes: tuple[RoleScheme, ...]
    fillers: str
    unit: str
    scope: str
    family: str
    ranks: Ranks | None
    withheld: float
    embedding: str | Mapping[str, Any] | None
    decoder: Decoder | None
    seed: int

    @property
    def families(self) -> list[str]:
        """The family that is asked for, then those that it is compared with."""
        beside = [each for each in FAMILIES if each not in (self.family, FACTORED, OPERATOR)]
        return [self.family, *beside]

    def read(self, store: Store, site: str, fewest: int = FEWEST) -> Units:
        """The units of a site with all columns that the schemes read, of so many sequences at least.

        Raises:
            InputError: as of :func:`decompose`.
        """
        if self.family not in FAMILIES:
            raise unknown("family", self.family, FAMILIES)
        if self.family == OPERATOR and self.embedding is None:
            raise InputError(
                "the family operator needs an embedding: a site, or a vector by filler"
            )
        if not 0 <= self.withheld < 1:
            raise InputError(f"withheld {self.withheld}: give a share of pairs, 0 up to below 1")
        columns: set[str] = set().union(*(scheme.columns for scheme in self.schemes))
        units = read_units(store, site, self.fillers, self.unit, self.scope, columns, fewest)
        for scheme in self.schemes:
            scheme.label(units.tokens.iloc[spans_of(units.tokens)[0]])
        return units


def decompose_scheme(
    units: Units, twin: Store | None, scheme: RoleScheme, plan: DecompositionPlan
) -> tuple[RoleFit, pd.DataFrame]:
    """The fit of a scheme to all units, and its rows of scores: families, then controls."""
    designs = list(design(units, scheme, plan.withheld, plan.seed))
    real, test = designs[0], designs[0].division.parts == TEST
    moments = gather(units.vectors, designs)
    embedding = embed(units, real.pairs, plan.embedding)
    fits = SchemeFits(real.pairs, moments[0], plan.ranks, embedding)
    main = fits.fit(plan.family)
    predictions = []
    for family in plan.families:
        fit = main if family == plan.family else fits.fit(family)
        predictions += predict(real, fits, fit)
    ranks = main.factors.ranks if main.factors else None
    for each, of in zip(designs[1:], moments[1:], strict=True):
        shuffled = SchemeFits(each.pairs, of, ranks, embedding, main.penalty)
        predictions += predict(each, shuffled, shuffled.fit(plan.family))
    mean, covariance = covariance_of(units, test)
    predictions.append(_principal(main.dimensions, mean, covariance, test))
    if plan.decoder:
        predictions.append(Prediction({"control": ITSELF}, lambda _, vectors: vectors, mean, test))
    scores = score(units, units.vectors, predictions, plan.decoder)
    noise = NormalVectors.like(units.vectors, mean, covariance, plan.seed)
    chance = SchemeFits(real.pairs, gather(noise, [real])[0], ranks, embedding, main.penalty)
    random = predict(real, chance, chance.fit(plan.family), RANDOM)[:1]
    scores += score(units, noise, random)
    table = _join([*predictions, *random], scores)
    table = table.assign(n_fit=fits.fitting.n, **_of(scheme, units))
    if twin is not None and units.site in twin.sites:
        table = pd.concat([table, _untrained(twin, units.site, scheme, plan)], ignore_index=True)
    return fits.fit_all(plan.family), table


def predict(of: Design, fits: SchemeFits, fit: RoleFit, control: str = "") -> list[Prediction]:
    """The rows of a fit: on all units to test on, and without the withheld pairs on those that have one."""
    test, unseen = of.division.parts == TEST, of.division.unseen
    columns = {
        "family": fit.family,
        "control": control or of.control,
        "rank": fit.rank,
        "n_fillers": len(fit.pairs.fillers),
        "n_roles": len(fit.pairs.roles),
        "pairs": len(fit.pairs),
        "parameters": fit.parameters,
        "penalty": fit.penalty,
        "bits": fit.bits(fits.fitting),
    }
    rows = [
        Prediction(columns, lambda units, _: fit.predict(of.counts[units]), fits.fitting.mean, test)
    ]
    if not columns["control"] and np.any(test & unseen):
        new = fits.fit_unwithheld(fit.family)
        columns = {"family": fit.family, "control": "", f"rank{UNSEEN}": new.rank}
        mean = fits.unwithheld.mean
        rows.append(
            Prediction(
                columns, lambda units, _: new.predict(of.counts[units]), mean, test & unseen, UNSEEN
            )
        )
    return rows


def _principal(rank: int, mean: np.ndarray, covariance: np.ndarray, test: np.ndarray) -> Prediction:
    """The vectors' own first principal components, as many as a fit has dimensions."""
    width = len(covariance)
    axes = eigh(covariance, subset_by_index=(width - rank, width - 1))[1]
    columns = {"control": PRINCIPAL, "rank": str(rank)}
    return Prediction(columns, lambda _, v: mean + (v - mean) @ axes @ axes.T, mean, test)


def _join(predictions: Sequence[Prediction], scores: Sequence[dict[str, float]]) -> pd.DataFrame:
    """One row per family and control: its columns, scores, and scores on unseen pairs."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for each, found in zip(predictions, scores, strict=True):
        key = (each.columns.get("family", ""), each.columns["control"])
        named = {name.format(each.suffix): value for name, value in found.items()}
        rows.setdefault(key, {}).update(each.columns | named)
    return pd.DataFrame(list(rows.values()))


def arrange(table: pd.DataFrame) -> pd.DataFrame:
    """The table in the order of COLUMNS; what has no text is empty, what has no number is missing."""
    decoded = any(str(name).startswith("substitution") for name in table)
    names = [name for name in COLUMNS if decoded or not name.startswith("substitution")]
    found = table.reindex(columns=names).astype(dict.fromkeys(TEXTS, object))
    return found.fillna(dict.fromkeys(TEXTS, "")).astype(
        {**dict.fromkeys(TEXTS, "str"), **dict.fromkeys(COUNTS, "Int64")}
    )


def _untrained(twin: Store, site: str, scheme: RoleScheme, plan: DecompositionPlan) -> pd.DataFrame:
    """The row of the family that is asked for, of the twin's own vectors."""
    alone = replace(plan, schemes=(scheme,), decoder=None)
    units = alone.read(twin, site)
    real = next(iter(design(units, scheme, plan.withheld, plan.seed)))
    moments = gather(units.vectors, [real])[0]
    fits = SchemeFits(real.pairs, moments, plan.ranks, embed(units, real.pairs, plan.embedding))
    predictions = predict(real, fits, fits.fit(plan.family), UNTRAINED)
    table = _join(predictions, score(units, units.vectors, predictions))
    return table.assign(n_fit=fits.fitting.n, **_of(scheme, units))


def _of(scheme: RoleScheme, units: Units) -> dict[str, str]:
    return {"site": units.site, "roles": scheme.name}


def embed(units: Units, pairs: Pairs, given: str | Mapping[str, Any] | None) -> Embedding | None:
    """e(f) of every filler: as given, or the mean by filler of a site of tokens.

    Raises:
        InputError: a filler without an embedding, or a site of other tokens.
    """
    if given is None:
        return None
    if not isinstance(given, str):
        if lacking := [each for each in pairs.fillers if each not in given]:
            raise InputError(f"no embedding of the filler {lacking[0]!r}: give one of every filler")
        return np.stack([np.asarray(given[each], float) for each in pairs.fillers])
    tokens = read_units(units.store, given)
    filler = pairs.fillers.get_indexer(pd.Index(units.tokens["filler"].to_numpy(object)))
    if len(tokens) != len(filler):
        raise InputError(f"{given} and {units.site} are of different tokens: give another site")
    total, n = np.zeros((len(pairs.fillers), tokens.width)), np.zeros((len(pairs.fillers), 1))
    for block, vectors in tokens.vectors.blocks():
        np.add.at(total, filler[block], vectors)
        np.add.at(n, filler[block], 1)
    return total / np.maximum(1, n)
