"""The page on the effect of binding: the shipped matched study, its verdicts and its tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from studies.pages.markdown import verdict_table
from studies.templates import fill, table
from tprprobe.claims import Evidence, judge, load_claims
from tprprobe.files import assets
from tprprobe.models import expand
from tprprobe.models.transformer import TransformerConfig
from tprprobe.statistics import interval_text, read_interval
from tprprobe.training.study.comparisons import Answers, at_equal_compute, compare_variants, subsets
from tprprobe.training.study.plans import Plan, read_plan
from tprprobe.training.study.records import Study, load_study

STUDY, FIGURE = "matched-arithmetic", "images/matched-study.svg"
BASELINE, MODEL, NARROWED, OUTER = "transformer", "tp-transformer", "narrowed", "outer"
STARTED = "transformer-torch"  # a Transformer that starts as the TP-Transformer does
# claim → (variant, reference, set of questions); the baseline is the one that starts alike, if any
COMPARED = {
    "schlag-interpolation": (MODEL, BASELINE, "all"),
    "schlag-same-weights": (NARROWED, BASELINE, "all"),
    "schlag-diagonal-sufficient": (MODEL, BASELINE, "all"),
    "schlag-full-product-better": (OUTER, MODEL, "all"),
    "schlag-extrapolation": (MODEL, BASELINE, "longer"),
}
ALIKE = "weights that start alike"  # a condition of claims
SETS = {"all": "all", "discordant": "discordant", "longer": "longer"}


def make_page(runs: Path) -> str:
    """The page on the study that ships; nothing is computed anew, so ``runs`` stays empty."""
    folder = assets.find("studies", STUDY)
    return write_page(load_study(folder), read_plan(folder / "plan.toml"))


def write_page(study: Study, plan: Plan) -> str:
    """The page of a study that was run by this plan."""
    scores = compare_variants(study, BASELINE)
    sets = subsets(study)
    answers = {name: Answers(study, rows) for name, rows in sets.items() if name in SETS}
    starts = find_starts(plan)
    verdicts = [
        judge(load_claims()[name], _evidence(study, starts, answers, *compared))
        for name, compared in COMPARED.items()
    ]
    return fill(
        Path(__file__).parent,
        "study.md.j2",
        **_describe(study, plan),
        verdicts=verdict_table(verdicts),
        scores=_scores(scores, starts),
        modules=_modules(scores),
        costs=_costs(study),
        runs=_seeds(study, sets["all"]),
    )


def find_starts(plan: Plan) -> dict[str, str]:
    """The initialization of every variant's attentions."""
    shared = plan.recipe.get("model", {})
    settings = {name: expand(shared | own) for name, own in plan.variants.items()}
    options = ({k: v for k, v in each.items() if k != "architecture"} for each in settings.values())
    return {
        name: TransformerConfig(**each).start for name, each in zip(settings, options, strict=True)
    }


def _describe(study: Study, plan: Plan) -> dict[str, Any]:
    """A description of the variants, their training, and their exact match."""
    recipe = next(iter(plan.runs().values()))
    finished = study.runs.groupby("variant", sort=False).size()
    return {
        "study": study.name,
        "alike": STARTED in study.variants,
        "figure": FIGURE,
        "steps": recipe.steps,
        "batch": recipe.batch_size,
        "optimizer": recipe.optimizer.name,
        "seeds": len(plan.seeds),
        "longest": plan.longest,
        "questions": len(study.examples),
        "longer": int(study.examples["longer"].sum()),
        "finished": ", ".join(f"{name} {count}" for name, count in finished.items()),
    }


def _evidence(
    study: Study,
    starts: Mapping[str, str],
    answers: Mapping[str, Answers],
    variant: str,
    reference: str,
    name: str,
) -> Evidence | None:
    """The evidence on a difference of two variants over seeds and questions; None if one has no
    run.
    """
    if reference == BASELINE and STARTED in study.variants:
        reference = STARTED
    seeds = study.seeds(variant, reference) if {variant, reference} <= set(study.variants) else []
    if len(seeds) == 0 or name not in answers:
        return None
    found = answers[name]
    gates = {"transformer_exact_match": found.mean(BASELINE)}
    cases = {f"{variant} − {reference}": found.difference(variant, reference)}
    alike = frozenset({ALIKE} if starts[variant] == starts[reference] else ())
    return Evidence(cases, "model seed", len(seeds), gates, alike)


def _scores(scores: pd.DataFrame, starts: Mapping[str, str]) -> str:
    rows = []
    for variant, part in scores.groupby("variant", sort=False):
        cells = {str(row["set"]): row for row in part.to_dict("records")}
        row = {"variant": str(variant), "start": starts[str(variant)]}
        row["seeds"] = str(part["seeds"].iloc[0])
        for name, title in SETS.items():
            if name in cells:
                own, n = cells[name], cells[name]["n"]
                row[f"{title} (n {n:,})"] = interval_text(read_interval(own, "value"))
                row[f"{title}: gain"] = interval_text(read_interval(own, "difference"), "+.3f")
        rows.append(row)
    return table(rows)


def _modules(scores: pd.DataFrame) -> str:
    modules = scores[~scores["set"].isin(list(SETS))]
    wide = modules.pivot(index="variant", columns="set", values="value")
    wide = wide.loc[list(dict.fromkeys(scores["variant"]))]
    return table(
        [
            {"variant": str(name)}
            | {str(key).removeprefix("arithmetic__"): f"{each:.3f}" for key, each in row.items()}
            for name, row in wide.iterrows()
        ]
    )


def _costs(study: Study) -> str:
    means = at_equal_compute(study, BASELINE).groupby("variant")[["step", "exact_match"]].mean()
    equal: dict[Any, Any] = means.to_dict("index")
    runs = study.runs.groupby("variant", sort=False).agg(
        weights=("parameters", "first"),
        gigaflops=("gigaflops", "first"),
    )
    return table(
        [
            {
                "variant": str(name),
                "weights": f"{row['weights']:,.0f}",
                "GFLOP a step": f"{row['gigaflops']:.2f}",
                "at equal arithmetic: step": f"{equal[name]['step']:,.0f}",
                "exact match (curve, 600 questions)": f"{equal[name]['exact_match']:.3f}",
            }
            for name, row in runs.iterrows()
        ]
    )


def _seeds(study: Study, rows: Bool[np.ndarray, " question"]) -> str:
    names = list(study.runs["run"])
    match = study.examples.loc[rows, names].mean()
    each = study.runs.assign(value=match[names].to_numpy())
    wide = each.pivot(index="variant", columns="seed", values="value").loc[study.variants]
    return table(
        [
            {"variant": str(name)} | {f"seed {seed}": f"{value:.3f}" for seed, value in row.items()}
            for name, row in wide.iterrows()
        ]
    )
