"""Plans of decompositions, and the fits of a scheme: to all fitting units, to those without withheld pairs, to all."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy.typing import ArrayLike

from tprprobe.analyses.decomposition.designs import ALL as ALL
from tprprobe.analyses.decomposition.designs import FITTING, UNWITHHELD, Design, make_designs
from tprprobe.analyses.decomposition.role_schemes import Roles, RoleScheme, read_scheme
from tprprobe.analyses.decomposition.sequence_units import (
    MIN_DOCUMENTS,
    RARE,
    TOKEN,
    UnitKind,
    Units,
    read_kind,
    read_units,
    select_one,
)
from tprprobe.analyses.decomposition.unit_vectors import UnitVectors, fit_moments
from tprprobe.errors import InputError, unknown
from tprprobe.estimators.bindings import families
from tprprobe.estimators.bindings.block_products import Block
from tprprobe.estimators.bindings.factors import AlternatingLeastSquares, Ranks
from tprprobe.estimators.bindings.pairs import lookup_names, select_units
from tprprobe.estimators.bindings.ridge import Regression
from tprprobe.estimators.bindings.selection import AUTO, Candidate, ModelSelector, read_rank
from tprprobe.site.patterns import side_of
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES

PRINCIPAL, N_RANDOM = 48, 16  # directions that choices are made in: principal ones, random ones
TABLE = (families.FILLER, families.ROLE, families.PAIR)  # of a fit that knows no unseen pair
CHAIN = (families.ROLES, families.BAG, families.ADDITIVE, families.FACTORED, families.SATURATED)
# which of the sequences come back whole
Decoder = Callable[[np.ndarray, list[list[str]]], ArrayLike]


@dataclass(frozen=True, eq=False)
class SchemeFits:
    """The fits of a design, made when they are asked for; ``ranks`` are given, or chosen.

    Penalties and ranks are chosen where a fit errs least on units held out of it: new sequences, and
    sequences with pairs that are withheld for that. A fit that knows none of the design's withheld pairs has
    the same ranks, but chooses its penalties within its own units. Shuffled roles are fitted like their ``reference``, the
    roles as they are: sweeps start from its factors, so that the rank is the same; penalties are chosen anew.
    """

    design: Design
    vectors: UnitVectors
    regressions: Sequence[Regression]  # of the fitting units, those without withheld pairs, all
    ranks: Ranks | None = None
    embedding: families.Embedding | None = None
    reference: "SchemeFits | None" = None
    _fits: dict[tuple[str, int], families.RoleFit] = field(init=False, default_factory=dict)

    @functools.cached_property
    def axes(self) -> Float64[np.ndarray, "d_model d"]:
        """The directions that the means of pairs spread along most, and a few random ones of the rest, so
        long that errors along them are expected to be those along all.
        """
        if self.reference:
            return self.reference.axes
        regression = self.regressions[FITTING]
        centered = regression.residual_cross_products(np.zeros_like(regression.cross))
        n_seen = np.asarray(regression.grams.counts.power(2).sum(0)).reshape(-1) + 1
        axes = np.linalg.eigh((centered / n_seen[:, None]).T @ centered)[1][:, ::-1]
        principal, minor = axes[:, :PRINCIPAL], axes[:, PRINCIPAL:]
        if (n := minor.shape[1]) <= N_RANDOM:
            return axes
        random = np.random.default_rng(0).normal(size=(n, N_RANDOM))
        return np.hstack([principal, minor @ np.linalg.qr(random)[0] * np.sqrt(n / N_RANDOM)])

    @functools.cached_property
    def sketch(self) -> Float64[np.ndarray, "unit d"]:
        """The vectors of all units along ``axes``, less their mean."""
        if self.reference:
            return self.reference.sketch
        mean = self.regressions[FITTING].mean
        return np.concatenate([(block - mean) @ self.axes for _, block in self.vectors.blocks()])

    @functools.cached_property
    def selector(self) -> ModelSelector:
        """The choices for fits to all fitting units."""
        return self._make_selector(FITTING, self.reference and self.reference.selector)

    @functools.cached_property
    def selector_unwithheld(self) -> ModelSelector:
        """The choices for fits to units without withheld pairs, of the same ranks."""
        if not self.design.unseen.any():
            return self.selector
        return self._make_selector(UNWITHHELD, self.selector)

    def _make_selector(self, units: int, reference: ModelSelector | None) -> ModelSelector:
        design, vectors = self.design, self.sketch
        is_fitted, is_judged = design.divide_to_choose(units)
        counts = [select_units(design.counts, rows) for rows in (is_fitted, is_judged)]
        regression = Regression.of(counts[0], vectors[is_fitted])
        groups = np.unique(design.origin.documents[is_judged], return_inverse=True)[1]
        options = (self.ranks, self.embedding, reference, self.reference is not None)
        return ModelSelector(
            design.parts, regression, counts[1], vectors[is_judged], groups, *options
        )

    def fit(self, family: str, units: int = FITTING) -> families.RoleFit:
        """The fit of a family to all fitting units, to those without withheld pairs (free vectors then say main
        effects of other pairs), or to all units, for which nothing is chosen anew.
        """
        if (family, units) not in self._fits:
            is_free = family == families.SATURATED
            selector = self.selector_unwithheld if units == UNWITHHELD else self.selector
            names = TABLE if units == UNWITHHELD and is_free else families.BLOCKS[family]
            self._fits[family, units] = self._fit(family, units, selector.choose(family), names)
        return self._fits[family, units]

    def _fit(
        self, family: str, units: int, choice: Candidate, names: Sequence[str]
    ) -> families.RoleFit:
        """The chosen blocks of these names fitted to units."""
        regression, design = self.regressions[units], self.design
        blocks, penalties, bases = list[Block](), list[float](), dict[int, families.Bases]()
        chosen = zip(choice.blocks, choice.penalties, strict=True)
        for name, part_id, penalty in (
            (b.name, b.part_id, p) for b, p in chosen if b.name in names
        ):
            if name == families.BINDING:
                bases[part_id] = self._sweep(units, blocks, penalties, part_id, choice)
            basis = bases.get(part_id)
            blocks.append(families.make_block(name, part_id, design.parts, self.embedding, basis))
            penalties.append(penalty)
        width, embedding = len(regression.mean), self.embedding
        fits = [
            families.PartFit(pairs, width, {}, bases.get(i), embedding)
            for i, pairs in enumerate(design.parts)
        ]
        for block, values in zip(blocks, regression.solve(blocks, penalties), strict=True):
            fits[block.part_id].coefficients[block.name] = values
        regression.grams.clear_cache()
        by_name = {f"{b.name}{b.part_id or ''}": p for b, p in zip(blocks, penalties, strict=True)}
        fit = families.RoleFit(family, fits, regression.mean, by_name)
        return replace(fit, bias=regression.bias(fit.table))

    def _sweep(
        self,
        units: int,
        blocks: Sequence[Block],
        penalties: Sequence[float],
        part_id: int,
        choice: Candidate,
    ) -> families.Bases:
        """The chosen factors after sweeps over these units along ``axes``; of a dear fit, as they are."""
        bases, regression, axes = choice.bases[part_id], self.regressions[units], self.axes
        along = replace(regression, cross=regression.cross @ axes, mean=regression.mean @ axes)
        fixed = blocks, penalties, self.design.parts, part_id, choice.variance
        sweeps = AlternatingLeastSquares(along, *fixed)
        is_new = units == UNWITHHELD  # whose pairs the choice was not made on
        return sweeps.sweep(bases) if is_new or sweeps.is_cheap(bases) else bases

    def clear_cache(self) -> None:
        """Drops products of columns, which only fits that are still to be made need."""
        selectors = [self.__dict__.get(name) for name in ("selector", "selector_unwithheld")]
        for regression in (*self.regressions, *(s.regression for s in selectors if s)):
            regression.grams.clear_cache()


@dataclass(frozen=True)
class DecompositionPlan:
    """How sites are decomposed: the keywords of :func:`decompose`, checked."""

    schemes: tuple[RoleScheme, ...]
    fillers: str
    kind: UnitKind
    ranks: Ranks | None
    family: str = families.FACTORED
    withheld: float = 0.1
    embedding: str | Mapping[str, ArrayLike] | None = None
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
        i_family = CHAIN.index(self.family) if self.family in CHAIN else len(CHAIN) - 1
        chain = CHAIN[: max(i_family, CHAIN.index(families.ADDITIVE)) + 1]
        compared = (*chain, families.SATURATED) if self.family == families.FACTORED else chain
        return list(dict.fromkeys((self.family, *compared)))

    def read(self, store: Store, site: str, min_documents: int = MIN_DOCUMENTS) -> Units:
        """The units of a site with all columns that the schemes read, of so many documents at least."""
        if self.family not in families.FAMILIES:
            raise unknown("family", self.family, families.FAMILIES)
        if self.family == families.OPERATOR and self.embedding is None:
            raise InputError(
                f"the family {families.OPERATOR} needs an embedding, and {store.path} has no site of input "
                "embeddings: extract *.embedding too, or give a site or a vector by filler"
            )
        if not 0 <= self.withheld < 1:
            raise InputError(f"withheld {self.withheld}: give a share of pairs, 0 up to below 1")
        if self.rare < 0:
            raise InputError(f"rare {self.rare}: give the documents a filler needs, 0 joins none")
        columns: set[str] = set().union(*(scheme.columns for scheme in self.schemes))
        kind = (self.kind.unit, self.kind.scope)
        units = read_units(store, site, self.fillers, *kind, columns, min_documents, self.rare)
        sample = units.tokens[pd.factorize(units.tokens["sample"])[0] == 0]
        for scheme in self.schemes:
            scheme.assign(units.kind, sample, units.kind.members(sample))  # refuses before any work
        return units

    def begin(
        self, units: Units, scheme: RoleScheme, control: str = "", n_designs: int = 1
    ) -> list[SchemeFits]:
        """The fits of a scheme to vectors, which are themselves or a control, by so many of its designs."""
        designs = list(islice(make_designs(units, scheme, self.withheld, self.seed), n_designs))
        is_fitted = [(design.counts, rows) for design in designs for rows in design.fitted]
        moments = iter(fit_moments(units.vectors, is_fitted))
        regressions = [list(islice(moments, len(design.fitted))) for design in designs]
        embedding = embed(units, designs[0].parts[0].fillers, self.embedding)
        design = replace(designs[0], control=control)
        fits = SchemeFits(design, units.vectors, regressions[0], self.ranks, embedding)
        controls = zip(designs[1:], regressions[1:], strict=True)
        others = (replace(fits, design=d, regressions=r, reference=fits) for d, r in controls)
        return [fits, *others]


def plan_decomposition(
    store: Store,
    site: str,
    roles: Roles | Sequence[Roles],
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    rank: str | int | Ranks = AUTO,
    **options: Any,
) -> DecompositionPlan:
    """The plan of the keywords of :func:`decompose`; nothing is fitted yet."""
    schemes = [roles] if isinstance(roles, str) or callable(roles) else list(roles)
    if not schemes:
        raise InputError("no role scheme: give one or several, such as left or left*right")
    name = select_one(store, site)
    kind = read_kind(store, name, unit, scope)
    schemes = tuple(map(read_scheme, schemes))
    plan = DecompositionPlan(schemes, fillers, kind, read_rank(rank), **options)
    if plan.family != families.OPERATOR:
        return plan
    return replace(plan, rare=0, embedding=plan.embedding or input_embedding(store, name))


def input_embedding(store: Store, site: str) -> str | None:
    """The site of the input embeddings of a site's stack, where a store of tokens has it."""
    stack = "embedding.target" if side_of(site) == SIDES[1] else "embedding"
    names = (f"{site.partition('.')[0]}.embedding", f"{stack}.filler", "layers.embedding")
    return next((name for name in names if name in store.sites and not store.pool), None)


def embed(
    units: Units, fillers: pd.Index, embedding: str | Mapping[str, ArrayLike] | None
) -> families.Embedding | None:
    """e(f) of every filler: as given, or the mean by filler of a site of tokens."""
    if embedding is None:
        return None
    if not isinstance(embedding, str):
        if missing := [name for name in fillers if name not in embedding]:
            raise InputError(f"no embedding of the filler {missing[0]!r}: give one of every filler")
        return np.stack([np.asarray(embedding[name], float) for name in fillers])
    tokens = read_units(units.store, embedding)
    filler = lookup_names(fillers, tokens.tokens["filler"].to_numpy(object))
    if len(tokens) != len(filler):
        raise InputError(f"{embedding} and {units.site} are of different tokens: give another site")
    totals, n = np.zeros((len(fillers), tokens.vectors.width)), np.zeros((len(fillers), 1))
    for block, vectors in tokens.vectors.blocks():
        np.add.at(totals, filler[block], vectors)
        np.add.at(n, filler[block], 1)
    return totals / np.maximum(1, n)
