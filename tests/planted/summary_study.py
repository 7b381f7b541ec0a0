"""A study of summaries whose variants differ by what was planted: its scores, and the roles of its models."""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from studies.summary_roles.records import Roles
from tprpapers.study.records import Study, column

SCORES = ("rouge1", "rouge2", "rougeL", "meteor", "exact_match", "grammatical", "faithful")
SPLITS = ("test", "compositional")
TASKS, LAYERS, KINDS = ("pos", "dep", "srl", "nel"), (0, 1), ("role", "filler", "tpr")
STEPS = (600, 1800, 3750)


def plant_study(
    level: Mapping[str, float], seeds: Sequence[int], n: int = 40, steps: int = 3750
) -> Study:
    """Every score of a variant is its level, give or take a seed's and a report's own share."""
    rng = np.random.default_rng(0)
    runs = pd.DataFrame(
        [(f"{v}-{s}", v, s, 1000, steps, 1.0, 60.0) for s in seeds for v in level],
        columns=["run", "variant", "seed", "parameters", "steps", "gigaflops", "seconds"],
    )
    examples = pd.DataFrame(
        [(split, f"Ann saw dog {i} in Rome. She met Bob.", "Bob met Ann.") for split in SPLITS for i in range(n)],
        columns=["module", "source", "target"],
    )  # fmt: skip
    reports = rng.normal(0, 0.05, len(examples))

    def draw(share: float) -> np.ndarray:
        return share + rng.normal(0, 0.005) + reports + rng.normal(0, 0.02, len(examples))

    scores = {
        column(run, score): draw(level[variant])
        for run, variant in zip(runs["run"], runs["variant"], strict=True)
        for score in SCORES
    }
    examples = pd.concat([examples, pd.DataFrame(scores)], axis=1)
    curve = {"step": steps, "seconds": 60.0, "metric": "held_out_loss", "value": 0.2}
    curves = runs[["run", "variant", "seed"]].assign(**curve)
    return Study("planted", runs, curves, examples)


def plant_roles(
    seeds: Sequence[int],
    tpr: float = 0.9,
    filler: float = 0.8,
    variants: Sequence[str] = (),
    n: int = 40,
    steps: Sequence[int] = STEPS,
) -> Roles:
    """F1 of every TPR, and of every filler; roles .5 and peaks that grow with the steps."""
    rng = np.random.default_rng(0)
    variants = variants or ("t5", "t5-torch", "tpt-c", "tpt-d", "tpt-d-t5")
    columns: dict[str, list[str]] = {}
    along = []

    def cells(share: float, n_trials: int = 20) -> list[str]:
        return [f"{hit}/{n_trials}" for hit in rng.binomial(n_trials, share, n)]

    for seed, variant in product(seeds, variants):
        kinds = {"role": 0.5, "filler": filler, "tpr": tpr}
        if variant.startswith("t5"):
            kinds = {"filler": filler}
        for task, layer, kind in product(TASKS, LAYERS, kinds):
            columns[f"{variant}-{seed}:{task}.{layer}.{kind}"] = cells(kinds[kind])
        columns[f"{variant}-{seed}:pos.majority"] = cells(0.2)
        columns[f"{variant}-{seed}:pos.identity"] = cells(0.6)
        if variant.startswith("tpt"):
            for control in ("untrained", "random_roles", "indices", "quantized"):
                columns[f"{variant}-{seed}:pos.1.role.{control}"] = cells(0.3)
        for step in steps if variant.startswith("tpt-d") else ():
            columns[f"{variant}-{seed}:above_98.{step}"] = cells(min(step / 5000, 0.95), 400)
            row = {
                "run": f"{variant}-{seed}",
                "step": step,
                "sublayer": "decoder.cross",
                "layer": 0,
            }
            row |= {"n_distributions": 400, "above_98": step / 5000, "above_90": 0.9}
            along.append(row | {"entropy": 1.0})
    return Roles(pd.DataFrame(columns), pd.DataFrame(along))
