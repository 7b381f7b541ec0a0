"""Fits to one design: of all fitting units, of those without withheld pairs, and of all there are."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float64

from tprprobe.analyses.decomposition.alternation import Alternation, Bases
from tprprobe.analyses.decomposition.block_products import Block
from tprprobe.analyses.decomposition.choices import Choice, Chooser, Judges
from tprprobe.analyses.decomposition.designs import CLEAN, INNER, Design, rows_of
from tprprobe.analyses.decomposition.families import (
    BINDING,
    BLOCKS,
    FILLER,
    PAIR,
    ROLE,
    SATURATED,
    Embedding,
    Factors,
    PartFit,
    RoleFit,
    bound_block,
    make_block,
)
from tprprobe.analyses.decomposition.interactions import Ranks
from tprprobe.analyses.decomposition.ridge import Regression
from tprprobe.analyses.decomposition.sequence_units import VectorBlocks

LARGEST, OTHERS = (
    48,
    16,
)  # directions in which choices are made: principal ones, and any of the rest
TABLE = (FILLER, ROLE, PAIR)  # of a saturated fit that is to know nothing of an unseen pair


@dataclass(frozen=True, eq=False)
class SchemeFits:
    """The fits of a design, made when they are asked for; ``ranks`` are given, or chosen.

    Penalties and ranks of a fit to all fitting units are chosen on sequences held out of them, which have as
    many new pairs as any. A fit that is to predict withheld pairs has the same ranks; its penalties are
    chosen on other pairs that are withheld within its own units. A control is fitted ``like`` the vectors themselves: its sweeps start
    from the factors ``given`` by them, so that its rank is theirs; its penalties are its own.
    """

    design: Design
    vectors: VectorBlocks
    regressions: Sequence[Regression]  # of the fitting units, those without withheld pairs, all
    ranks: Ranks | None = None
    embedding: Embedding | None = None
    like: "SchemeFits | None" = None
    given: Mapping[int, Bases] | None = None
    _fits: dict[str, RoleFit] = field(init=False, default_factory=dict)

    @property
    def fitting(self) -> Regression:
        return self.regressions[0]

    @functools.cached_property
    def axes(self) -> Float64[np.ndarray, "d_model d"]:
        """The directions that the means of pairs spread along most, and a few random ones of the rest, so
        long that errors along them are expected to be those along all.
        """
        if self.like and self.like.vectors is self.vectors:
            return self.like.axes
        of = self.fitting
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
        found = [(v - self.fitting.mean) @ self.axes for _, v in self.vectors.blocks()]
        return np.concatenate(found)

    def _chooser(
        self, fitted: np.ndarray, judged: np.ndarray, like: Chooser | None = None
    ) -> Chooser:
        counts, vectors = self.design.counts, self.sketch
        regression = Regression.of(rows_of(counts, fitted), vectors[fitted])
        groups = np.unique(self.design.groups[judged], return_inverse=True)[1]
        judges = Judges(rows_of(counts, judged), vectors[judged], groups)
        options = (self.ranks, self.embedding, self.given, like)
        return Chooser(self.design.parts, regression, judges, *options)

    @functools.cached_property
    def by_sequences(self) -> Chooser:
        """Choices for new sequences."""
        fitted, judged = ~self.design.test, self.design.judged
        return self._chooser(fitted & ~judged, fitted & judged)

    @functools.cached_property
    def by_pairs(self) -> Chooser:
        """Choices for pairs that no fitted unit has; for new sequences where none could be withheld."""
        of, groups = self.design, self.design.groups
        fitted, judged = of.kinds == CLEAN, of.kinds == INNER
        are_tokens = np.isin(groups[judged], groups[fitted]).any()
        if are_tokens:  # of a sequence, which may know of each other
            fitted, judged = fitted & ~of.judged, judged & of.judged
        if not judged.any() or not fitted.any():
            return self.by_sequences
        found = self._chooser(fitted, judged, self.by_sequences)
        found.usual.update(self.by_sequences.usual)
        return found

    def fit(self, family: str) -> RoleFit:
        """The fit of a family to all fitting units."""
        if family not in self._fits:
            choice = self.by_sequences.choose(family)
            self._fits[family] = self._fit(family, self.regressions[0], choice)
        return self._fits[family]

    def fit_unwithheld(self, family: str) -> RoleFit:
        """The fit of a family to units without withheld pairs; free vectors say main effects of other pairs."""
        by = self.by_sequences if family == SATURATED else self.by_pairs
        return self._fit(family, self.regressions[1], by.choose(family), TABLE)

    def fit_all(self, family: str) -> RoleFit:
        """The fit of a family to all units, those to test on among them; nothing is chosen anew."""
        return self._fit(family, self.regressions[2], self.by_sequences.choose(family))

    def _fit(
        self, family: str, to: Regression, choice: Choice, saturated: Sequence[str] = ()
    ) -> RoleFit:
        names = saturated if saturated and family == SATURATED else BLOCKS[family]
        parts, bases = self.design.parts, dict[int, Bases]()
        blocks: list[Block] = []
        penalties: list[float] = []
        for name in names:
            for part in range(len(parts)):
                penalty = choice.penalties[name, part]
                if penalty is None:
                    continue
                if name == BINDING:
                    bases[part] = self._sweep(to, blocks, penalties, part, choice)
                    blocks.append(bound_block(bases[part], part, parts))
                else:
                    blocks.append(make_block(name, part, parts, self.embedding))
                penalties.append(penalty)
        found = to.solve(blocks, penalties)
        to.grams.forget_others(())
        fits = [self._part_fit(part, blocks, found, bases.get(part)) for part in range(len(parts))]
        whole = RoleFit(family, fits, to.mean, {})
        named = {f"{b.name}{b.part or ''}": p for b, p in zip(blocks, penalties, strict=True)}
        return replace(whole, bias=to.bias(whole.table), penalties=named)

    def _sweep(
        self,
        to: Regression,
        blocks: Sequence[Block],
        penalties: Sequence[float],
        part: int,
        choice: Choice,
    ) -> Bases:
        """The chosen factors after sweeps over these units along ``axes``; of a dear fit, as they are."""
        bases = choice.bases[part]
        along = replace(to, cross=to.cross @ self.axes, mean=to.mean @ self.axes)
        parts, variance = self.design.parts, choice.variance
        sweeps = Alternation(along, blocks, penalties, parts, part, variance)
        is_new = to in self.regressions[1:2]  # of units with pairs that the choice was not made on
        return sweeps.sweep(bases) if is_new or sweeps.is_cheap(bases) else bases

    def forget(self) -> None:
        """Drops products of columns, which only fits that are still to be made need."""
        choosers = [self.__dict__.get(name) for name in ("by_sequences", "by_pairs")]
        for of in (*self.regressions, *(each.regression for each in choosers if each)):
            of.grams.forget_others(())

    def _part_fit(
        self, part: int, blocks: Sequence[Block], found: Sequence[np.ndarray], bases: Bases | None
    ) -> PartFit:
        of = {b.name: c for b, c in zip(blocks, found, strict=True) if b.part == part}
        width, factors = len(self.fitting.mean), None
        if bases:
            ranks = [each.shape[1] for each in bases]
            factors = Factors(*bases, of[BINDING].reshape(*ranks, width))
        return PartFit(self.design.parts[part], width, of, factors, self.embedding)
