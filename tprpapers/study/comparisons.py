"""Scores of every variant, and contrasts of variants, over seeds and examples.

Seeds and examples are crossed: every run answers the same questions (or summarizes the same
documents), and runs of a seed saw the same examples in the same order. So an interval has two
parts, a variance between seeds, pooled over the variants of the study (three seeds alone tell
little of it), and one between examples, and is a t interval at the degrees of freedom of their sum.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats

from tprpapers.study.records import EXACT, FLAGS, Study
from tprprobe.errors import unknown
from tprprobe.statistics import Interval

TINY = np.finfo(float).tiny
BASELINE = "transformer"
STARTED = "transformer-torch"  # a Transformer that starts as the TP-Transformer does


class Answers:
    """What each run of a study scores on some of the examples, as means and variances need it.

    Of documents those count that have the score in every run.
    """

    def __init__(self, study: Study, rows: Bool[np.ndarray, " example"], measure: str = EXACT):
        self.study, self.right = study, study.scores(measure)[rows].dropna()
        self.n = len(self.right)

    def mean(self, variant: str) -> Interval:
        """The mean score of a variant, over its seeds: of exact match the share answered."""
        return self.contrast({variant: 1.0})

    def difference(self, variant: str, reference: str, pooled: bool = True) -> Interval:
        """One variant's mean score minus another's, over the seeds that both have."""
        if variant == reference:
            return Interval(0.0, 0.0, 0.0)
        return self.contrast({variant: 1.0, reference: -1.0}, pooled)

    def contrast(self, weights: Mapping[str, float], pooled: bool = True) -> Interval:
        """Σ weight × mean score, over the seeds that all of these variants have.

        With D[seed, example] the weighted sum of scores, the variance of its mean is
        σ² Σ weight² / seeds + (var of D's example means − residual / seeds) / examples; σ² is the
        pooled variance between seeds (:meth:`between_seeds`). Not ``pooled``, σ² Σ weight² is the variance
        between the seeds of D itself (as Welch has it: variants may vary otherwise than the others). The interval is Student's at
        Satterthwaite's degrees of freedom, NaN where no variance between seeds can be estimated.
        """
        seeds = self.study.seeds(*weights)
        if not seeds or not self.n:
            return Interval(np.nan, np.nan, np.nan)
        weighted_scores = [
            weight * self._right(variant, seeds) for variant, weight in weights.items()
        ]
        d = np.sum(weighted_scores, axis=0)
        value = float(np.mean(d))
        spread = float(d.mean(1).var(ddof=1)) if len(d) > 1 else np.nan  # between seeds
        between, freedom = self._between(weights) if pooled else (spread, len(d) - 1)
        if freedom < 1:
            return Interval(value, np.nan, np.nan)
        variances, degrees = _variances(d, between, freedom)
        variance = variances[0] + max(variances[1] - variances[2], 0.0)
        df = variance**2 / max(np.sum(variances**2 / degrees), TINY)
        half = float(stats.t.ppf(0.975, df) * np.sqrt(variance))
        return Interval(value, value - half, value + half, float(df))

    def _between(self, weights: Mapping[str, float]) -> tuple[float, float]:
        """The pooled variance of a contrast between seeds, and its degrees of freedom."""
        balanced = math.isclose(sum(weights.values()), 0, abs_tol=1e-9)
        variance, freedom = self.between_seeds(balanced)
        return variance * sum(weight**2 for weight in weights.values()), freedom

    def between_seeds(self, balanced: bool) -> tuple[float, float]:
        """The variance of a run's mean between seeds, pooled over variants, and its degrees of freedom.

        ``balanced``: of contrasts whose weights add up to zero. What the seed does to all variants
        alike cancels there, so it is taken out (an additive model of variant and seed). Else it is in
        the variance, and counts no more often than there are seeds (Satterthwaite).
        """
        (total, all_free), (residual, free) = self._residuals
        if balanced:
            return residual / max(free, 1), free
        components = ((total - residual, all_free - free), (residual, free))
        spread = sum(variance**2 / degrees for variance, degrees in components if degrees)
        return total / max(all_free, 1), total**2 / spread if spread else all_free

    @cached_property
    def _residuals(self) -> list[tuple[float, int]]:
        """Residual sums of squares of run means, with degrees of freedom: of variant, of variant and seed."""
        share, sums_of_squares = self.right.mean().to_numpy(), []
        for effects in (["variant"], ["variant", "seed"]):
            design = pd.get_dummies(self.study.runs[effects].astype(str), dtype=float).to_numpy()
            residual = share - design @ np.linalg.lstsq(design, share, rcond=None)[0]
            freedom = len(design) - int(np.linalg.matrix_rank(design))
            sums_of_squares.append((float(residual @ residual), freedom))
        return sums_of_squares

    def _right(self, variant: str, seeds: Any) -> Float[np.ndarray, "seed example"]:
        return self.right[[f"{variant}-{seed}" for seed in seeds]].to_numpy(float).T


def _variances(
    d: Float[np.ndarray, "seed example"], between: float, freedom: float
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """The variances of the mean of D over seeds, over examples and in both, and degrees of freedom."""
    seeds, examples = d.shape
    by_example = d.mean(0)
    centered = d - by_example - d.mean(1, keepdims=True) + d.mean()
    freedom_of_residual = max((seeds - 1) * (examples - 1), 1)
    residual = float(np.sum(centered**2)) / freedom_of_residual / (seeds * examples)
    across = float(by_example.var(ddof=1)) / examples if examples > 1 else 0.0
    degrees = np.array([freedom, max(examples - 1, 1), freedom_of_residual], float)
    return np.array([between / seeds, across, residual]), degrees


def subsets(study: Study) -> dict[str, Bool[np.ndarray, " example"]]:
    """The examples of each set that has any, as flags.

    ``all`` that are as long as the trained ones, of them the ``discordant`` ones and those of each
    module (documents: of each split); and the ``longer`` ones.
    """
    table = study.examples
    none = np.zeros(len(table), bool)
    longer, discordant = (np.asarray(table.get(name, none), bool) for name in FLAGS)
    sets = {"all": ~longer, "discordant": ~longer & discordant, "longer": longer}
    modules = {
        str(name): (table["module"] == name).to_numpy() for name in sorted(set(table["module"]))
    }
    sets |= {name: ~longer & rows for name, rows in modules.items()}
    return {name: rows for name, rows in sets.items() if rows.any()}


def baseline_of(study: Study) -> str:
    """The Transformer that a study's claims compare with: the one that starts alike, if any."""
    return STARTED if STARTED in study.variants else BASELINE


def compare_variants(study: Study, reference: str = BASELINE) -> pd.DataFrame:
    """One row per measure, variant and set of examples.

    Columns: measure, variant, set, n (examples), seeds, value, low, high; difference (from the
    reference, over the seeds that both have), difference_low, difference_high, and difference_df,
    the degrees of freedom of its interval.

    Raises:
        InputError: the reference has no finished run.
    """
    if reference not in study.variants:
        raise unknown("variant", reference, study.variants)
    return pd.DataFrame(list(_rows(study, reference)))


def _rows(study: Study, reference: str) -> Iterator[dict[str, object]]:
    for measure, (name, rows) in product(study.measures, subsets(study).items()):
        answers = Answers(study, rows, measure)
        for variant in study.variants:
            mean, gain = answers.mean(variant), answers.difference(variant, reference)
            yield {
                "measure": measure,
                "variant": variant,
                "set": name,
                "n": answers.n,
                "seeds": len(study.seeds(variant)),
                "value": mean.value,
                "low": mean.low,
                "high": mean.high,
                "difference": gain.value,
                "difference_low": gain.low,
                "difference_high": gain.high,
                "difference_df": gain.df,
            }


def over_seeds(estimates: Sequence[Interval], examples: int) -> Interval:
    """The mean of one estimate a seed; the interval draws seeds and examples.

    Its half-width is the root of the summed squares of two: Student's over seeds, and the estimates'
    own, over the examples that all seeds share (root mean square, as if nothing averaged out). Degrees of
    freedom are Satterthwaite's; of one seed it is that seed's own interval.
    """
    if len(estimates) == 1:
        return estimates[0]
    values = np.array([estimate.value for estimate in estimates])
    half_widths = np.array([(estimate.high - estimate.low) / 2 for estimate in estimates])
    seeds = len(values) - 1
    halves = np.array(
        [
            stats.t.ppf(0.975, seeds) * values.std(ddof=1) / np.sqrt(seeds + 1),
            np.sqrt((half_widths**2).mean()),
        ]
    )
    half, value = float(np.sqrt((halves**2).sum())), float(values.mean())
    freedom = 1 / max(np.sum((halves / max(half, TINY)) ** 4 / [seeds, max(examples - 1, 1)]), TINY)
    return Interval(value, value - half, value + half, float(freedom))
