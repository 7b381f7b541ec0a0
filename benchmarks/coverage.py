"""Do 95 % intervals contain the truth in 95 % of runs? `python benchmarks/coverage.py [runs]`.

Questions of unequal size and difficulty are drawn from known distributions; the truth is the same
statistic of very many of them.
"""

import sys
from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np

from tprprobe.statistics import Interval, bootstrap, bootstrap_difference, divide, f1, wilson

TRUTH = 400_000  # groups


def decisions(rng: np.random.Generator, groups: int) -> np.ndarray:
    """TP, FP and FN of groups that differ in size and difficulty."""
    size, skill = 1 + rng.poisson(8, groups), rng.beta(4, 2, groups)
    right, false = rng.binomial(size, skill), rng.binomial(size, 0.2 * (1 - skill))
    return np.stack([right, false, size - right], 1).astype(float)


def two_systems(rng: np.random.Generator, groups: int) -> np.ndarray:
    """The same of two systems, the second a little better, on the same groups."""
    size, skill = 1 + rng.poisson(8, groups), rng.beta(4, 2, groups)
    systems = [rng.binomial(size, skill), rng.binomial(size, np.sqrt(skill))]
    return np.concatenate(
        [np.stack([right, 0.3 * (size - right), size - right], 1) for right in systems], 1
    )


def exact(rng: np.random.Generator, groups: int) -> np.ndarray:
    """Groups with nothing wrong, and groups."""
    return np.stack([decisions(rng, groups)[:, 2] == 0, np.ones(groups)], 1).astype(float)


def recall(totals: np.ndarray) -> np.ndarray:
    """TP / (TP + FN)."""
    return divide(totals[:, 0], totals[:, 0] + totals[:, 2])


def gain(totals: np.ndarray) -> np.ndarray:
    """The first system's F1 minus the second's."""
    return f1(totals[:, :3]) - f1(totals[:, 3:])


def share(totals: np.ndarray) -> np.ndarray:
    """The first total of the second."""
    return divide(totals[:, 0], totals[:, 1])


class Case(NamedTuple):
    """A statistic of totals over groups that can be drawn, and an interval of it."""

    name: str
    draw: Callable[[np.random.Generator, int], np.ndarray]
    statistic: Callable[[np.ndarray], np.ndarray]
    interval: Callable[[np.ndarray, int], Interval]


def drawn(statistic: Callable) -> Callable[[np.ndarray, int], Interval]:
    """The bootstrap's interval of a statistic."""
    return lambda sums, seed: bootstrap(sums, statistic, replicates=1000, seed=seed)


def paired(sums: np.ndarray, seed: int) -> Interval:
    """The bootstrap's interval of the difference in F1."""
    return bootstrap_difference(sums[:, :3], sums[:, 3:], f1, replicates=1000, seed=seed)


CASES = (
    Case("recall", decisions, recall, drawn(recall)),
    Case("micro-F1", decisions, f1, drawn(f1)),
    Case("difference in micro-F1, paired", two_systems, gain, paired),
    Case("exact match, drawn", exact, share, drawn(share)),
    Case(
        "exact match, Wilson",
        exact,
        share,
        lambda sums, _: wilson(int(sums[:, 0].sum()), len(sums)),
    ),
)


def coverage(case: Case, groups: int, runs: int) -> float:
    """The share of runs in which the interval holds the truth."""
    truth = case.statistic(case.draw(np.random.default_rng(0), TRUTH).sum(0, keepdims=True))
    hits = 0
    for run in range(runs):
        interval = case.interval(case.draw(np.random.default_rng((1, run)), groups), run)
        hits += int(interval.low <= truth[0] <= interval.high)
    return hits / runs


def main(runs: int) -> None:
    """Prints the table."""
    print(f"| statistic | questions | coverage in {runs} runs |\n|---|---|---|")
    for case, groups in product(CASES, (50, 200)):
        print(f"| {case.name} | {groups} | {coverage(case, groups, runs):.3f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
