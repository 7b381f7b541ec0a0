"""Fits to one design: of all fitting units, of those without withheld pairs, and of all there are."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.alternation import Alternation, Bases, bound_block
from tprprobe.analyses.decomposition.choices import Choice, Chooser, Judges, sweeps_of
from tprprobe.analyses.decomposition.designs import Design
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
    make_block,
)
from tprprobe.analyses.decomposition.interactions import Ranks
from tprprobe.analyses.decomposition.ridge import Block, Regression
from tprprobe.analyses.decomposition.sequence_splits import CLEAN, INNER, TEST
from tprprobe.analyses.decomposition.sequence_units import VectorBlocks

SKETCH = 64  # directions in which choices are made
TABLE = (
    FILLER,
    ROLE,
    PAIR,
)  # the blocks of a saturated fit that is to know nothing of an unseen pair


@dataclass(frozen=True, eq=False)
class SchemeFits:
    """The fits of a design, made when they are asked for; ``ranks`` are given, or chosen.

    Penalties and ranks of a fit to all fitting units are chosen on sequences held out of them, which have as
    many new pairs as any; those of a fit that is to predict withheld pairs, on other pairs that are
    withheld within its own units.
    """

    design: Design
    vectors: VectorBlocks
    regressions: Sequence[Regression]  # of the fitting units, those without withheld pairs, all
    ranks: Ranks | None = None
    embedding: Sequence[Embedding] | None = None

    @property
    def fitting(self) -> Regression:
        return self.regressions[0]

    @functools.cached_property
    def axes(self) -> Float64[np.ndarray, "d_model d"]:
        """The directions that the means of pairs spread along most, SKETCH at most."""
        width = len(self.fitting.mean)
        spread = np.zeros((width, width))
        for x, c, mean in zip(
            self.fitting.counts, self.fitting.cross, self.fitting.mean_counts, strict=True
        ):
            centred = c - self.fitting.n * np.outer(mean, self.fitting.mean)
            often = np.asarray(x.power(2).sum(0)).reshape(-1) + 1
            spread += (centred / often[:, None]).T @ centred
        return np.linalg.eigh(spread)[1][:, ::-1][:, :SKETCH]

    @functools.cached_property
    def _sketch(self) -> Float64[np.ndarray, "unit d"]:
        """The vectors of all units along ``axes``, of which the mean is taken."""
        found = [(v - self.fitting.mean) @ self.axes for _, v in self.vectors.blocks()]
        return np.concatenate(found)

    def _chooser(self, fitted: np.ndarray, judged: np.ndarray) -> Chooser:
        counts, vectors = self.design.counts, self._sketch
        rows, others = np.flatnonzero(fitted), np.flatnonzero(judged)
        x, e = [csr_array(each[rows]) for each in counts], vectors[rows]
        regression = Regression(x, [each.T @ e for each in x], e.mean(0))
        groups = np.unique(self.design.groups[others], return_inverse=True)[1]
        judges = Judges([csr_array(each[others]) for each in counts], vectors[others], groups)
        return Chooser(self.design.pairs, regression, judges, self.ranks, self.embedding)

    @functools.cached_property
    def by_sequences(self) -> Chooser:
        """Choices for new sequences."""
        of = self.design.division
        return self._chooser((of.parts != TEST) & ~of.judged, (of.parts != TEST) & of.judged)

    @functools.cached_property
    def by_pairs(self) -> Chooser:
        """Choices for pairs that no fitted unit has; for new sequences where none could be withheld."""
        parts = self.design.division.parts
        if not np.any(parts == INNER) or not np.any(parts == CLEAN):
            return self.by_sequences
        return self._chooser(parts == CLEAN, parts == INNER)

    def fit(self, family: str) -> RoleFit:
        """The fit of a family to all fitting units."""
        if family not in self._fits:
            choice = self.by_sequences.choose(family)
            self._fits[family] = self._fit(family, self.regressions[0], choice)
        return self._fits[family]

    @functools.cached_property
    def _fits(self) -> dict[str, RoleFit]:
        return {}

    def fit_unwithheld(self, family: str) -> RoleFit:
        """The fit of a family to the units without withheld pairs; a free vector a pair knows of main
        effects alone, so that it shows what a table of pairs says of others.
        """
        by = self.by_sequences if family == SATURATED else self.by_pairs
        return self._fit(family, self.regressions[1], by.choose(family), TABLE)

    def fit_all(self, family: str) -> RoleFit:
        """The fit of a family to all units, those to test on among them; nothing is chosen anew."""
        return self._fit(family, self.regressions[2], self.by_sequences.choose(family))

    def fit_as(self, family: str, choice: Choice) -> RoleFit:
        """The fit of a family to all fitting units as it was chosen elsewhere."""
        return self._fit(family, self.regressions[0], choice)

    def _fit(
        self, family: str, to: Regression, choice: Choice, saturated: Sequence[str] = ()
    ) -> RoleFit:
        names = saturated if saturated and family == SATURATED else BLOCKS[family]
        blocks: list[Block] = []
        penalties: list[float] = []
        bases: dict[int, Bases] = {}
        for name in names:
            for part, pairs in enumerate(self.design.pairs):
                penalty = choice.penalties[name, part]
                if penalty is None:
                    continue
                if name == BINDING:
                    bases[part] = self._sweep(to, blocks, penalties, part, choice)
                    blocks.append(bound_block(bases[part], pairs, part))
                else:
                    given = self.embedding[part] if self.embedding else None
                    blocks.append(make_block(name, part, pairs, given))
                penalties.append(penalty)
        found = to.solve(blocks, penalties)
        return self._read(family, to, blocks, penalties, found, bases)

    def _sweep(
        self,
        to: Regression,
        blocks: Sequence[Block],
        penalties: Sequence[float],
        part: int,
        choice: Choice,
    ) -> Bases:
        """The chosen factors, after sweeps over these units along ``axes``."""
        pairs, bases = self.design.pairs[part], choice.bases[part]
        cross, mean = [each @ self.axes for each in to.cross], to.mean @ self.axes
        along = replace(to, cross=cross, mean=mean)
        sweeps = Alternation(along, blocks, penalties, pairs, part, choice.variance)
        return sweeps.sweep(bases, sweeps_of(bases, pairs))

    def _read(
        self,
        family: str,
        to: Regression,
        blocks: Sequence[Block],
        penalties: Sequence[float],
        found: Sequence[np.ndarray],
        bases: dict[int, Bases],
    ) -> RoleFit:
        width, parts = len(to.mean), []
        for part, pairs in enumerate(self.design.pairs):
            of = {b.name: c for b, c in zip(blocks, found, strict=True) if b.part == part}
            factors = None
            if part in bases and BINDING in of:
                f, r = bases[part]
                factors = Factors(f, r, of[BINDING].reshape(f.shape[1], r.shape[1], width))
            given = self.embedding[part] if self.embedding else None
            parts.append(PartFit(pairs, width, of, factors, given))
        fit = RoleFit(family, parts, to.mean, {})
        bias = to.mean.copy()
        for mean, table in zip(to.mean_counts, fit.tables, strict=True):
            bias -= mean @ table
        return RoleFit(
            family,
            parts,
            bias,
            {f"{b.name}{b.part or ''}": p for b, p in zip(blocks, penalties, strict=True)},
        )
