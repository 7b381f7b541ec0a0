"""Exact match of every variant, and contrasts of variants, over seeds and questions.

Seeds and questions are crossed: every run answers the same questions, and runs of a seed saw the
same examples in the same order. So an interval has two parts, a variance between seeds, pooled over
the variants of the study (three seeds alone tell little of it), and one between questions, and is a
t interval at the degrees of freedom of their sum.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats

from tprprobe.errors import unknown
from tprprobe.statistics import Interval
from tprprobe.training.study.records import Study


class Answers:
    """The questions that each run of a study answers, as means and variances need them."""

    def __init__(self, study: Study, rows: Bool[np.ndarray, " question"]):
        self.study, self.n = study, int(rows.sum())
        self.right = study.questions.loc[rows, list(study.runs["run"])]

    def exact_match(self, variant: str) -> Interval:
        """The share of questions that a variant answers, over its seeds."""
        return self.contrast({variant: 1.0})

    def difference(self, variant: str, reference: str) -> Interval:
        """The share that one variant answers minus another's, over the seeds that both have."""
        same = variant == reference
        return Interval(0.0, 0.0, 0.0) if same else self.contrast({variant: 1.0, reference: -1.0})

    def contrast(self, weights: Mapping[str, float]) -> Interval:
        """Σ weight × share answered, over the seeds that all of these variants have.

        With D[seed, question] the weighted sum of what is right, the variance of its mean is
        σ² Σ weight² / seeds + (var of D's question means − residual / seeds) / questions; σ² is the
        pooled variance between seeds (:meth:`between_seeds`). The interval is Student's at
        Satterthwaite's degrees of freedom. NaN where no variance between seeds can be estimated.
        """
        seeds = self.study.seeds(*weights)
        parts = [weight * self._right(variant, seeds) for variant, weight in weights.items()]
        d = np.sum(parts, axis=0)
        value = float(np.mean(d)) if len(seeds) else np.nan
        pooled, freedom = self.between_seeds(
            balanced=math.isclose(sum(weights.values()), 0, abs_tol=1e-9)
        )
        if not len(seeds) or freedom < 1:
            return Interval(value, np.nan, np.nan)
        variances, degrees = _parts(d, pooled * sum(w**2 for w in weights.values()), freedom)
        variance = variances[0] + max(variances[1] - variances[2], 0.0)
        df = variance**2 / max(np.sum(variances**2 / degrees), np.finfo(float).tiny)
        half = float(stats.t.ppf(0.975, df) * np.sqrt(variance))
        return Interval(value, value - half, value + half, float(df))

    def between_seeds(self, balanced: bool) -> tuple[float, int]:
        """The variance of a run's share between seeds, pooled over variants, and its degrees of freedom.

        ``balanced``: of contrasts whose weights add up to zero. What the seed does to all variants
        alike cancels there, so it is taken out (an additive model of variant and seed).
        """
        means = self.study.runs.assign(share=self.right.mean().to_numpy())
        effects = ["variant", "seed"] if balanced else ["variant"]
        design = pd.get_dummies(means[effects].astype(str), dtype=float).to_numpy()
        freedom = len(design) - int(np.linalg.matrix_rank(design))
        share = means["share"].to_numpy()
        residual = share - design @ np.linalg.lstsq(design, share, rcond=None)[0]
        return float(residual @ residual) / max(freedom, 1), freedom

    def _right(self, variant: str, seeds: Any) -> Float[np.ndarray, "seed question"]:
        return self.right[[f"{variant}-{seed}" for seed in seeds]].to_numpy(float).T


def _parts(
    d: Float[np.ndarray, "seed question"], between: float, freedom: int
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """The variances of the mean of D (over seeds, over questions, counted in both), with degrees of
    freedom.
    """
    seeds, questions = d.shape
    by_question = d.mean(0)
    centred = d - by_question - d.mean(1, keepdims=True) + d.mean()
    both = max((seeds - 1) * (questions - 1), 1)
    residual = float(np.sum(centred**2)) / both / (seeds * questions)
    across = float(by_question.var(ddof=1)) / questions if questions > 1 else 0.0
    degrees = np.array([freedom, max(questions - 1, 1), both], float)
    return np.array([between / seeds, across, residual]), degrees


def subsets(study: Study) -> dict[str, Bool[np.ndarray, " question"]]:
    """The questions of each set that has any, as flags.

    ``all`` that are as long as the trained ones, of them the ``discordant`` ones and those of each
    module; and the ``longer`` ones.
    """
    table = study.questions
    longer, discordant = (table[name].to_numpy(bool) for name in ("longer", "discordant"))
    sets = {"all": ~longer, "discordant": ~longer & discordant, "longer": longer}
    modules = {
        str(name): (table["module"] == name).to_numpy() for name in sorted(set(table["module"]))
    }
    sets |= {name: ~longer & rows for name, rows in modules.items()}
    return {name: rows for name, rows in sets.items() if rows.any()}


def compare_variants(study: Study, reference: str = "transformer") -> pd.DataFrame:
    """One row per variant and set of questions.

    Columns: variant, set, n (questions), seeds, exact_match, low, high; difference (from the
    reference, over the seeds that both have), difference_low, difference_high, and difference_df,
    the degrees of freedom of its interval.

    Raises:
        InputError: the reference has no finished run.
    """
    if reference not in study.variants:
        raise unknown("variant", reference, study.variants)
    return pd.DataFrame(list(_rows(study, reference)))


def _rows(study: Study, reference: str) -> Iterator[dict[str, object]]:
    for name, rows in subsets(study).items():
        answers = Answers(study, rows)
        for variant in study.variants:
            own, gain = answers.exact_match(variant), answers.difference(variant, reference)
            yield {
                "variant": variant,
                "set": name,
                "n": answers.n,
                "seeds": len(study.seeds(variant)),
                "exact_match": own.value,
                "low": own.low,
                "high": own.high,
                "difference": gain.value,
                "difference_low": gain.low,
                "difference_high": gain.high,
                "difference_df": gain.df,
            }


def at_equal_compute(study: Study, reference: str = "transformer") -> pd.DataFrame:
    """Exact match along the curve at the point where a run has done the reference runs' arithmetic.

    Columns: variant, seed, step, exact_match. Between two evaluations the curve is taken as straight.
    A dearer variant is read before its learning rate has decayed: to its disadvantage.
    """
    gigaflops = dict(zip(study.runs["run"], study.runs["gigaflops"], strict=True))
    runs = study.runs[study.runs["variant"] == reference]
    budget = float((runs["gigaflops"] * runs["steps"]).iloc[0])
    curves = study.curves[study.curves["metric"] == "exact_match"]
    rows = []
    for (run, variant, seed), curve in curves.groupby(["run", "variant", "seed"], sort=False):
        step = min(budget / gigaflops[str(run)], curve["step"].max())
        match = np.interp(step, curve["step"], curve["value"])
        rows.append({"variant": variant, "seed": seed, "step": round(step), "exact_match": match})
    return pd.DataFrame(rows)
