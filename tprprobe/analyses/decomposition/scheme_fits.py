"""Plans of decompositions, and the fits of a scheme: to all fitting units, to those without withheld pairs, to all."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from tprprobe.analyses.decomposition.block_products import Block
from tprprobe.analyses.decomposition.choices import AUTO, Chooser, Stage, read_rank
from tprprobe.analyses.decomposition.designs import (
    Design,
    design,
    rows_of,
)
from tprprobe.analyses.decomposition.factors import Alternation, Ranks
from tprprobe.analyses.decomposition.families import (
    ADDITIVE,
    BAG,
    BINDING,
    BLOCKS,
    FACTORED,
    FAMILIES,
    FILLER,
    OPERATOR,
    PAIR,
    ROLE,
    ROLES,
    SATURATED,
    Bases,
    Embedding,
    PartFit,
    RoleFit,
    make_block,
)
from tprprobe.analyses.decomposition.ridge import Regression, gather
from tprprobe.analyses.decomposition.role_schemes import Roles, RoleScheme, read_scheme
from tprprobe.analyses.decomposition.sequence_units import (
    FEWEST,
    RARE,
    TOKEN,
    UnitKind,
    Units,
    UnitVectors,
    read_kind,
    read_units,
    select_one,
)
from tprprobe.errors import InputError, unknown
from tprprobe.evaluation.splits import leave_out
from tprprobe.site.patterns import side_of
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES

FITTING, UNWITHHELD, ALL = range(3)  # units that a design is fitted to
LARGEST, OTHERS = 48, 16  # directions that are chosen in: principal ones, and any of the rest
TABLE = (FILLER, ROLE, PAIR)  # of a saturated fit that is to know nothing of an unseen pair
CHAIN = (ROLES, BAG, ADDITIVE, FACTORED, SATURATED)
Decoder = Callable[[np.ndarray, list[list[str]]], Any]  # which of the sequences come back whole


@dataclass(frozen=True, eq=False)
class SchemeFits:
    """The fits of a design, made when they are asked for; ``ranks`` are given, or chosen.

    Penalties and ranks are chosen where a fit errs least on units held out of it: new sequences, and
    sequences with pairs that are withheld for that. A fit that knows none of the design's withheld pairs has
    the same ranks, but chooses its penalties within its own units. A control is fitted ``like`` the vectors
    themselves: its sweeps start from their factors, so that its rank is theirs; its penalties are its own.
    """

    design: Design
    vectors: UnitVectors
    regressions: Sequence[Regression]  # of the fitting units, those without withheld pairs, all
    ranks: Ranks | None = None
    embedding: Embedding | None = None
    like: "SchemeFits | None" = None
    _fits: dict[tuple[str, int], RoleFit] = field(init=False, default_factory=dict)

    @functools.cached_property
    def axes(self) -> Float64[np.ndarray, "d_model d"]:
        """The directions that the means of pairs spread along most, and a few random ones of the rest, so
        long that errors along them are expected to be those along all.
        """
        if self.like and self.like.vectors is self.vectors:
            return self.like.axes
        of = self.regressions[FITTING]
        centered = of.left_by(np.zeros_like(of.cross))
        often = np.asarray(of.grams.counts.power(2).sum(0)).reshape(-1) + 1
        axes = np.linalg.eigh((centered / often[:, None]).T @ centered)[1][:, ::-1]
        largest, rest = axes[:, :LARGEST], axes[:, LARGEST:]
        if (n := rest.shape[1]) <= OTHERS:
            return axes
        drawn = np.random.default_rng(0).normal(size=(n, OTHERS))
        return np.hstack([largest, rest @ np.linalg.qr(drawn)[0] * np.sqrt(n / OTHERS)])

    @functools.cached_property
    def sketch(self) -> Float64[np.ndarray, "unit d"]:
        """The vectors of all units along ``axes``, of which the mean is taken."""
        if self.like and self.like.vectors is self.vectors:
            return self.like.sketch
        found = [(v - self.regressions[FITTING].mean) @ self.axes for _, v in self.vectors.blocks()]
        return np.concatenate(found)

    @functools.cached_property
    def chooser(self) -> Chooser:
        """The choices for fits to all fitting units."""
        return self._make_chooser(FITTING, self.like and self.like.chooser)

    @functools.cached_property
    def chooser_unwithheld(self) -> Chooser:
        """The choices for fits to units without withheld pairs, of the same ranks."""
        if not self.design.unseen.any():
            return self.chooser
        return self._make_chooser(UNWITHHELD, self.chooser)

    def _make_chooser(self, units: int, like: Chooser | None) -> Chooser:
        """Choices judged by units of documents that are not fitted to: held-out ones, and those of new pairs."""
        of, counts, vectors = self.design, self.design.counts, self.sketch
        documents = of.origin.documents
        fitted = of.fitted[units] & ~of.judged
        judged = of.fitted[units] & ~np.isin(documents, documents[fitted])
        fitted = leave_out(fitted, judged, of.origin.sequences)
        regression = Regression.of(rows_of(counts, fitted), vectors[fitted])
        groups = np.unique(documents[judged], return_inverse=True)[1]
        by = (rows_of(counts, judged), vectors[judged], groups)
        options = (self.ranks, self.embedding, like, self.like is not None)
        return Chooser(of.parts, regression, *by, *options)

    def fit(self, family: str, units: int = FITTING) -> RoleFit:
        """The fit of a family to all fitting units, to those without withheld pairs (free vectors then say main
        effects of other pairs), or to all units, for which nothing is chosen anew.
        """
        if (family, units) not in self._fits:
            is_free = family == SATURATED
            chooser = self.chooser_unwithheld if units == UNWITHHELD else self.chooser
            names = TABLE if units == UNWITHHELD and is_free else BLOCKS[family]
            self._fits[family, units] = self._fit(family, units, chooser.choose(family), names)
        return self._fits[family, units]

    def _fit(self, family: str, units: int, choice: Stage, names: Sequence[str]) -> RoleFit:
        """The chosen blocks of these names fitted to units."""
        to, parts, bases = self.regressions[units], self.design.parts, dict[int, Bases]()
        blocks, penalties = list[Block](), list[float]()
        for chosen, penalty in zip(choice.blocks, choice.penalties, strict=True):
            name, part = chosen.name, chosen.part
            if name not in names:
                continue
            if name == BINDING:
                bases[part] = self._sweep(units, blocks, penalties, part, choice)
            blocks.append(make_block(name, part, parts, self.embedding, bases.get(part)))
            penalties.append(penalty)
        found = to.solve(blocks, penalties)
        to.grams.forget_others(())
        of = [
            {b.name: c for b, c in zip(blocks, found, strict=True) if b.part == part}
            for part in range(len(parts))
        ]
        fits = [
            PartFit(pairs, len(to.mean), of[part], bases.get(part), self.embedding)
            for part, pairs in enumerate(parts)
        ]
        named = {f"{b.name}{b.part or ''}": p for b, p in zip(blocks, penalties, strict=True)}
        whole = RoleFit(family, fits, to.mean, named)
        return replace(whole, bias=to.bias(whole.table))

    def _sweep(
        self,
        units: int,
        blocks: Sequence[Block],
        penalties: Sequence[float],
        part: int,
        choice: Stage,
    ) -> Bases:
        """The chosen factors after sweeps over these units along ``axes``; of a dear fit, as they are."""
        bases, to = choice.bases[part], self.regressions[units]
        along = replace(to, cross=to.cross @ self.axes, mean=to.mean @ self.axes)
        sweeps = Alternation(along, blocks, penalties, self.design.parts, part, choice.variance)
        is_new = units == UNWITHHELD  # whose pairs the choice was not made on
        return sweeps.sweep(bases) if is_new or sweeps.is_cheap(bases) else bases

    def forget(self) -> None:
        """Drops products of columns, which only fits that are still to be made need."""
        choosers = [self.__dict__.get(name) for name in ("chooser", "chooser_unwithheld")]
        for of in (*self.regressions, *(each.regression for each in choosers if each)):
            of.grams.forget_others(())


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
        """The units of a site with all columns that the schemes read, of so many documents at least."""
        if self.family not in FAMILIES:
            raise unknown("family", self.family, FAMILIES)
        if self.family == OPERATOR and self.embedding is None:
            raise InputError(
                f"the family {OPERATOR} needs an embedding, and {store.path} has no site of input "
                "embeddings: extract *.embedding too, or give a site or a vector by filler"
            )
        if not 0 <= self.withheld < 1:
            raise InputError(f"withheld {self.withheld}: give a share of pairs, 0 up to below 1")
        if self.rare < 0:
            raise InputError(
                f"rare {self.rare}: give the documents that a filler needs, 0 joins none"
            )
        columns: set[str] = set().union(*(scheme.columns for scheme in self.schemes))
        kind = (self.kind.unit, self.kind.scope)
        units = read_units(store, site, self.fillers, *kind, columns, fewest, self.rare)
        first = units.tokens[pd.factorize(units.tokens["sample"])[0] == 0]
        for scheme in self.schemes:
            scheme.enter(units.kind, first, units.kind.members(first))  # refuses before any work
        return units

    def begin(
        self, units: Units, scheme: RoleScheme, control: str = "", designs: int = 1
    ) -> list[SchemeFits]:
        """The fits of a scheme to vectors, which are themselves or a control, by so many of its designs."""
        of = list(islice(design(units, scheme, self.withheld, self.seed), designs))
        regressions = gather(units.vectors, of)
        embedding = embed(units, of[0].parts[0].fillers, self.embedding)
        real = replace(of[0], control=control)
        fits = SchemeFits(real, units.vectors, regressions[0], self.ranks, embedding)
        others = zip(of[1:], regressions[1:], strict=True)
        return [fits, *(replace(fits, design=d, regressions=to, like=fits) for d, to in others)]


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
    given = [roles] if isinstance(roles, str) or callable(roles) else list(roles)
    if not given:
        raise InputError("no role scheme: give one or several, such as left or left*right")
    name = select_one(store, site)
    schemes = tuple(map(read_scheme, given))
    kind = read_kind(store, name, unit, scope)
    plan = DecompositionPlan(schemes, fillers, kind, read_rank(rank), **options)
    if plan.family != OPERATOR:
        return plan
    return replace(plan, rare=0, embedding=plan.embedding or input_embedding(store, name))


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
