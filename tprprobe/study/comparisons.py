"""Exact match of every variant, and its difference from another, over seeds and questions.

Seeds and questions are crossed: every run answers the same questions, and runs of a seed saw the
same examples in the same order. So the bootstrap draws both, seeds in pairs.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from tprprobe.errors import unknown
from tprprobe.statistics import REPLICATES, Interval, bounds
from tprprobe.study.tables import Study

Rights = Float[np.ndarray, "seed question"]


def crossed_mean(values: Rights, replicates: int = REPLICATES, seed: int = 0) -> Interval:
    """The mean over seeds and questions; both are drawn with replacement.

    The interval is the percentile interval, expanded for as few seeds as there are (see
    :func:`tprprobe.statistics.bounds`); NaN for one seed.
    """
    rng = np.random.default_rng(seed)
    n_seeds, n_questions = values.shape
    seeds = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), replicates) / n_seeds
    drawn = rng.multinomial(n_questions, np.full(n_questions, 1 / n_questions), replicates)
    means = np.einsum("rs,rs->r", drawn @ values.T / n_questions, seeds)
    low, high = bounds(means, n_seeds)
    return Interval(float(values.mean()), float(low), float(high), means)


def subsets(study: Study) -> dict[str, Bool[np.ndarray, " question"]]:
    """Which questions are in each set: as long as the trained ones, of them the discordant ones and
    each module's; and the longer ones."""
    table = study.questions
    longer, discordant = (table[name].to_numpy(bool) for name in ("longer", "discordant"))
    sets = {"all": ~longer, "discordant": ~longer & discordant, "longer": longer}
    modules = {
        str(name): (table["module"] == name).to_numpy() for name in sorted(set(table["module"]))
    }
    return sets | {name: ~longer & rows for name, rows in modules.items()}


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
    for variant in study.variants:
        for name, rows in subsets(study).items():
            own = crossed_mean(study.correct(variant, study.seeds(variant), rows).astype(float))
            gain = difference(study, variant, reference, rows)
            yield {
                "variant": variant,
                "set": name,
                "n": int(rows.sum()),
                "seeds": len(study.seeds(variant)),
                "exact_match": own.value,
                "low": own.low,
                "high": own.high,
                "difference": gain.value,
                "difference_low": gain.low,
                "difference_high": gain.high,
            }


def difference(
    study: Study, variant: str, reference: str, rows: Bool[np.ndarray, " question"]
) -> Interval:
    """Exact match of a variant minus that of another, over the seeds that both have."""
    seeds = study.seeds(variant, reference)
    first, second = (
        study.correct(each, seeds, rows).astype(float) for each in (variant, reference)
    )
    return crossed_mean(first - second)


def at_equal_compute(study: Study, reference: str = "transformer") -> pd.DataFrame:
    """Exact match along the curve where each run has done as much arithmetic as the reference's runs.

    Columns: variant, seed, step, exact_match. Between two evaluations the curve is taken as straight.
    A dearer variant is read before its learning rate has decayed: to its disadvantage.
    """
    gigaflops = study.runs.set_index("run")["gigaflops"]
    runs = study.runs[study.runs["variant"] == reference]
    budget = float((runs["gigaflops"] * runs["steps"]).iloc[0])
    curves = study.curves[study.curves["metric"] == "exact_match"]
    rows = []
    for (run, variant, seed), curve in curves.groupby(["run", "variant", "seed"], sort=False):
        step = min(budget / gigaflops[run], curve["step"].max())
        match = np.interp(step, curve["step"], curve["value"])
        rows.append({"variant": variant, "seed": seed, "step": round(step), "exact_match": match})
    return pd.DataFrame(rows)
