"""What vectors know and how discrete roles are in the models of the study of summaries: the evidence, over
model seeds and reports. The unit is a model: its heads have no partner elsewhere.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from studies.summary_roles.measures import PEAK, VECTORS
from studies.summary_roles.records import Roles, load_roles
from studies.verdicts.deciding import (
    COMPARED,
    CONTINUOUS,
    DISCRETE,
    DISCRETE_T5,
    PUBLISHED,
    SEEDS,
    T5,
    T5_TORCH,
    find_alike,
    find_compared,
    judge_trainings,
)
from studies.verdicts.table import claims_of
from tprpapers.claims import Evidence, Verdict, exact
from tprpapers.study.comparisons import Answers, over_seeds
from tprprobe.statistics import Interval

TASKS = ("pos", "dep", "srl", "nel")
KINDS = tuple(vector.rpartition(".")[2] for vector in VECTORS)
TRANSFORMERS, WITH_ROLES = (T5, T5_TORCH), (DISCRETE, DISCRETE_T5, CONTINUOUS)
VARIANTS = (*TRANSFORMERS, *WITH_ROLES)


def decide(_runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on probing, from the tables that ship."""
    evidence = {find_steps(roles)[-1]: seed_evidence(roles) for roles in load_roles()}
    for verdict in judge_trainings(claims_of("probing"), evidence):
        yield "", verdict


def seed_evidence(roles: Roles) -> dict[str, Evidence]:
    """The evidence of the study's models for the claims on probing, by their ids.

    Differences between models hold as published and started alike. Claims on TPT-d alone are of TPT-d as
    published, where SEEDS of it have finished; their intervals draw reports and seeds.
    """
    evidence = dict(_between(roles))
    if len(roles.seeds(DISCRETE)) >= SEEDS:
        cases_of_claim = {**_of_probes(roles), **_of_roles(roles)}
        evidence |= {
            name: Evidence(cases, "document", len(roles.reports))
            for name, cases in cases_of_claim.items()
        }
    if len(steps := find_steps(roles)) > 1 and (seeds := roles.seeds(DISCRETE)):
        half = min(steps, key=lambda step: abs(step - steps[-1] / 2))
        rise = {f"{PEAK}.{steps[-1]}": 1.0, f"{PEAK}.{half}": -1.0}
        case = {"": mean_measure(roles, rise)}
        evidence["jiang-more-discrete"] = Evidence(case, "model seed", len(seeds))
    return evidence


def _between(roles: Roles) -> Iterator[tuple[str, Evidence]]:
    """The claims that compare models."""
    layers = find_layers(roles)
    better = {task: _leads(roles, [task], layers) for task in TASKS}
    filler_losses = {
        f"layer {layer}, {start}": final_f1(roles, "pos", layer, "filler").contrast(
            {variant: -weight for variant, weight in COMPARED[start].items()}
        )
        for layer in layers
        for start in find_compared(roles)
    }
    cases = {
        "jiang-pos-filler-degrades": filler_losses,
        "jiang-pos-last-three": better["pos"],
        "jiang-every-layer": better["pos"] | better["dep"] | better["srl"],
        "jiang-dep-srl-better": better["dep"] | better["srl"],
        "jiang-nel-better": better["nel"],
    }
    comparisons = (PUBLISHED, find_alike(roles))
    seeds = min(len(roles.seeds(*COMPARED[comparison])) for comparison in comparisons)
    for name, case_intervals in cases.items():
        if case_intervals:
            yield name, Evidence(case_intervals, "model seed", seeds)


def _leads(roles: Roles, tasks: Sequence[str], layers: Sequence[int]) -> dict[str, Interval]:
    """F1 of TPT-d's final representation minus the Transformer's."""
    return {
        f"{task} layer {layer}, {start}": final_f1(roles, task, layer).contrast(COMPARED[start])
        for task in tasks
        for layer in layers
        for start in find_compared(roles)
    }


def final_f1(roles: Roles, task: str, layer: int, bound: str = "tpr") -> Answers:
    """F1 of the final representation: the TPR, of a Transformer its filler."""
    kinds = dict.fromkeys(TRANSFORMERS, "filler") | dict.fromkeys(WITH_ROLES, bound)
    return roles.answers({name: {f"{task}.{layer}.{kind}": 1.0} for name, kind in kinds.items()})


def mean_measure(roles: Roles, weights: Mapping[str, float], variant: str = DISCRETE) -> Interval:
    """Σ weight × measure of a variant; the others that have it help to know how seeds vary."""
    return roles.answers(dict.fromkeys(VARIANTS, weights)).mean(variant)


def _of_probes(roles: Roles) -> dict[str, dict[str, Interval]]:
    """The claims on what TPT-d's own vectors know, case by case."""
    layers = find_layers(roles)
    top_layer = layers[-1]

    def best(*measures: str, sign: float = 1) -> str:
        return max(measures, key=lambda measure: sign * mean_measure(roles, {measure: 1.0}).value)

    def lead(measure: str, second: str) -> Interval:
        return mean_measure(roles, {measure: 1.0, second: -1.0})

    middle = float(np.mean(layers))
    spread = sum((layer - middle) ** 2 for layer in layers)
    rise = {layer: (layer - middle) / spread for layer in layers}
    lowest = best(*(f"{task}.{top_layer}.role" for task in TASKS[:3]), sign=-1)
    return {
        "jiang-pos-rises": {
            kind: mean_measure(roles, {f"pos.{layer}.{kind}": rise[layer] for layer in layers})
            for kind in KINDS
        },
        "jiang-pos-role": {
            "": lead(
                f"pos.{top_layer}.role", best("pos.majority", f"pos.{top_layer}.role.untrained")
            )
        },
        "jiang-pos-tpr-aggregates": {
            f"layer {layer}": lead(
                f"pos.{layer}.tpr", best(f"pos.{layer}.role", f"pos.{layer}.filler")
            )
            for layer in layers
        },
        "jiang-dep-srl-tpr-like-filler": {
            f"{task} layer {layer}": lead(f"{task}.{layer}.tpr", f"{task}.{layer}.filler")
            for task in ("dep", "srl")
            for layer in layers
        },
        "jiang-nel-roles-poorer": {"": lead(lowest, f"nel.{top_layer}.role")},
        "jiang-nel-tpr-similar": {"": lead(f"pos.{top_layer}.tpr", f"nel.{top_layer}.tpr")},
        "jiang-filler-semantic": {
            "": mean_measure(
                roles,
                {
                    f"nel.{top_layer}.filler": 1.0,
                    f"nel.{top_layer}.role": -1.0,
                    f"pos.{top_layer}.filler": -1.0,
                    f"pos.{top_layer}.role": 1.0,
                },
            )
        },
    }


def _of_roles(roles: Roles) -> dict[str, dict[str, Interval]]:
    """The claims on TPT-d's dictionary."""
    role = f"pos.{find_layers(roles)[-1]}.role"
    syntax = {f"{role}.indices": 1.0, f"{role}.quantized": -1.0}
    peaked = {f"{PEAK}.{find_steps(roles)[-1]}": 1.0}
    return {
        "jiang-syntax-in-roles": {"": mean_measure(roles, syntax)},
        "jiang-discrete": {"all together": mean_measure(roles, peaked), **_peaks_by_place(roles)},
    }


def _peaks_by_place(roles: Roles) -> dict[str, Interval]:
    """The share of peaked distributions of each layer and kind of sub-layer at the end of training, over
    the seeds of TPT-d (Student's).
    """
    table = roles.discreteness.merge(roles.runs, on="run")
    table = table[(table["variant"] == DISCRETE) & (table["step"] == find_steps(roles)[-1])]
    return {
        f"{sublayer}, layer {layer}": over_seeds(
            [exact(share) for share in place_rows["above_98"]], len(roles.reports)
        )
        for (sublayer, layer), place_rows in table.groupby(["sublayer", "layer"], sort=False)  # type: ignore[misc]
    }


def find_layers(roles: Roles) -> list[int]:
    """The decoder's layers that were probed."""
    fields = [str(report).rpartition(":")[2].split(".") for report in roles.reports]
    return sorted(
        {int(fields_[1]) for fields_ in fields if fields_[0] in TASKS and fields_[1].isdigit()}
    )


def find_steps(roles: Roles) -> list[int]:
    """The steps whose role distributions were measured; empty before a model with a dictionary has
    finished.
    """
    return sorted({int(step) for step in roles.discreteness.get("step", [])})
