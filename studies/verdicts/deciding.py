"""The variants of the study of summaries, what is compared of them, and which training decides a claim.

A dictionary of roles or none, crossed with the two starts, is a 2 × 2; *started alike* is the effect of
the dictionary in it, half the sum of the differences under each start. Where TPT-d was trained from one
start alone, models that start alike are those of torch's default.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tprpapers.claims import Claim, Evidence, Verdict, judge

T5, T5_TORCH, CONTINUOUS = "t5", "t5-torch", "tpt-c"
DISCRETE, DISCRETE_T5 = "tpt-d", "tpt-d-t5"
SEEDS = 3  # of every variant that a claim is about, before a training decides it
PUBLISHED, ALIKE, TORCH = "as published", "started alike", "both torch"
COMPARED = {  # TPT-d minus the Transformer
    PUBLISHED: {DISCRETE: 1.0, T5: -1.0},
    ALIKE: {DISCRETE: 0.5, DISCRETE_T5: 0.5, T5: -0.5, T5_TORCH: -0.5},
    TORCH: {DISCRETE: 1.0, T5_TORCH: -1.0},
}


class Seeded(Protocol):
    """What has models of several variants and seeds: a study, its roles."""

    def seeds(self, *variants: str) -> list[int]:
        """The seeds that all of these variants have."""
        ...


def find_alike(models: Seeded) -> str:
    """The comparison of TPT-d and T5 that start alike: over both starts, unless more seeds of torch's
    default have finished.
    """
    return max((ALIKE, TORCH), key=lambda comparison: len(models.seeds(*COMPARED[comparison])))


def find_compared(models: Seeded) -> list[str]:
    """The comparisons of TPT-d and T5 that decide, as far as their variants have a common seed."""
    return [
        comparison
        for comparison in (PUBLISHED, find_alike(models))
        if models.seeds(*COMPARED[comparison])
    ]


def judge_trainings(
    claims: Sequence[Claim], trained: Mapping[int, Mapping[str, Evidence]]
) -> list[Verdict]:
    """The verdicts by what was ``trained``, steps → evidence.

    Of several trainings the longest decides that has the units which the claim asks for, else the one
    that has most; the verdict says after how many steps.
    """
    return [_judge(claim, trained) for claim in claims]


def _judge(claim: Claim, trained: Mapping[int, Mapping[str, Evidence]]) -> Verdict:
    units = {
        steps: min(evidence[claim.id].units, claim.units)
        for steps, evidence in sorted(trained.items(), reverse=True)
        if claim.id in evidence
    }
    if not units:
        return judge(claim, None)
    steps = max(units, key=lambda n_steps: units[n_steps])
    verdict = judge(claim, trained[steps][claim.id])
    return replace(verdict, reason=f"{verdict.reason}; after {steps:,} steps")
