"""Exact match of every variant, and its difference from another, over seeds and questions.

Seeds and questions are crossed: every run answers the same questions, and runs of a seed saw the
same examples in the same order. So the bootstrap draws both, seeds in pairs.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from tprprobe.errors import unknown
from tprprobe.statistics import Interval, bounds, replicate_totals
from tprprobe.training.study.records import Study


def crossed_mean(
    means: Float[np.ndarray, " seed"], redrawn: Float[np.ndarray, "replicate seed"], seed: int = 0
) -> Interval:
    """The mean over seeds of means over questions, which were ``redrawn`` with other questions.

    Each replicate draws seeds with replacement, too. The interval is the percentile interval,
    expanded for as few seeds as there are (:func:`tprprobe.statistics.bounds`); NaN for one seed.
    """
    rng, n = np.random.default_rng(seed), len(means)
    if n == 0:
        return Interval(np.nan, np.nan, np.nan, np.full(len(redrawn), np.nan))
    weights = rng.multinomial(n, np.full(n, 1 / n), len(redrawn)) / n
    values = np.einsum("rs,rs->r", redrawn, weights)
    low, high = bounds(values, n)
    return Interval(float(means.mean()), float(low), float(high), values)


class Redrawn:
    """Exact match of every run on a set of questions, and on questions redrawn from it."""

    def __init__(self, study: Study, rows: Bool[np.ndarray, " question"], replicates: int = 2000):
        self.study, self.n = study, int(rows.sum())
        names = list(study.runs["run"])
        right = study.questions.loc[rows, names].to_numpy(float)
        self.means = dict(zip(names, right.mean(0), strict=True))
        totals = replicate_totals(right, replicates) / self.n
        self.redrawn = dict(zip(names, totals.T, strict=True))

    def exact_match(self, variant: str) -> Interval:
        """Of a variant, over its seeds."""
        return self._mean([(f"{variant}-{seed}", None) for seed in self.study.seeds(variant)])

    def difference(self, variant: str, reference: str) -> Interval:
        """Of a variant, minus that of another, over the seeds that both have."""
        seeds = self.study.seeds(variant, reference)
        return self._mean([(f"{variant}-{seed}", f"{reference}-{seed}") for seed in seeds])

    def _mean(self, runs: list[tuple[str, str | None]]) -> Interval:
        means = [self.means[run] - (self.means[other] if other else 0) for run, other in runs]
        redrawn = [self.redrawn[run] - (self.redrawn[other] if other else 0) for run, other in runs]
        return crossed_mean(np.array(means), np.array(redrawn).T.reshape(-1, len(runs)))


def subsets(study: Study) -> dict[str, Bool[np.ndarray, " question"]]:
    """Which questions are in each set that has any.

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
    """One row a variant and set of questions.

    Columns: variant, set, n (questions), seeds, exact_match, low, high; difference (from the
    reference, over the seeds that both have), difference_low, difference_high.

    Raises:
        InputError: the reference has no finished run.
    """
    if reference not in study.variants:
        raise unknown("variant", reference, study.variants)
    return pd.DataFrame(list(_rows(study, reference)))


def _rows(study: Study, reference: str) -> Iterator[dict[str, object]]:
    for name, rows in subsets(study).items():
        redrawn = Redrawn(study, rows)
        for variant in study.variants:
            own, gain = redrawn.exact_match(variant), redrawn.difference(variant, reference)
            yield {
                "variant": variant,
                "set": name,
                "n": redrawn.n,
                "seeds": len(study.seeds(variant)),
                "exact_match": own.value,
                "low": own.low,
                "high": own.high,
                "difference": gain.value,
                "difference_low": gain.low,
                "difference_high": gain.high,
            }


def at_equal_compute(study: Study, reference: str = "transformer") -> pd.DataFrame:
    """Exact match along the curve where each run has done as much arithmetic as the reference's runs.

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
