"""Claims on the effect of binding: the evidence of the matched studies, over seeds and questions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from studies.heads import HEADS
from studies.intervals import student_mean
from tprpapers.architectures.transformer import TransformerConfig
from tprpapers.claims import Evidence, Verdict, find_claim, judge
from tprpapers.study.comparisons import BASELINE, STARTED, Answers, baseline_of, subsets
from tprpapers.study.plans import Plan, read_plan
from tprpapers.study.records import Study, load_study
from tprprobe.files import assets
from tprprobe.models import expand

STUDY, EARLIER = "matched-starts", "matched-arithmetic"
MODEL, NARROWED, OUTER = "tp-transformer", "narrowed", "outer"
FULL_BETTER, INSIGHTS = "schlag-full-product-better", "schlag-better-insights"
# claim → (variant, reference, set of questions); the baseline is the one that starts alike, if any
COMPARED = {
    "schlag-interpolation": (MODEL, BASELINE, "all"),
    "schlag-same-weights": (NARROWED, BASELINE, "all"),
    "schlag-diagonal-sufficient": (MODEL, BASELINE, "all"),
    FULL_BETTER: (OUTER, MODEL, "all"),
    "schlag-extrapolation": (MODEL, BASELINE, "longer"),
}
ALIKE = "weights that start alike"  # a condition of claims


def decide(_runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on binding, from the studies that ship."""
    evidence = gather_evidence(read_training(STUDY), read_training(EARLIER))
    evidence[INSIGHTS] = attention_evidence()
    for name, of_claim in evidence.items():
        yield "", judge(find_claim(name), of_claim)


def gather_evidence(*trainings: tuple[Study, Plan]) -> dict[str, Evidence | None]:
    """The evidence by claim: what only an earlier study has is judged by its tables."""
    return {name: _evidence(trainings, *compared) for name, compared in COMPARED.items()}


def attention_evidence() -> Evidence:
    """The evidence on the best head's attention: TP-Transformer minus Transformer of equal start."""
    heads = pd.read_csv(HEADS).pivot(index="seed", columns="variant", values="attention")
    differences = (heads[MODEL] - heads[STARTED]).dropna().to_numpy()
    case = {"": student_mean(differences)}
    return Evidence(case, "model seed", len(differences), {}, frozenset({ALIKE}))


def read_training(folder: str, plan: str = "plan") -> tuple[Study, Plan]:
    """A study that ships, by this plan of its folder; a companion's tables lie in the folder of its name."""
    home = assets.find("studies", folder)
    return load_study(home if plan == "plan" else home / plan), read_plan(home / f"{plan}.toml")


def find_starts(plan: Plan) -> dict[str, str]:
    """The initialization of every variant's attentions."""
    shared = plan.recipe.get("model", {})
    starts = {}
    for name, variant_settings in plan.variants.items():
        options: dict[str, Any] = {**expand(shared | variant_settings)}
        options.pop("architecture")
        starts[name] = TransformerConfig(**options).start
    return starts


def _evidence(
    trainings: Sequence[tuple[Study, Plan]], variant: str, reference: str, name: str
) -> Evidence | None:
    """The evidence on a difference of two variants, over seeds and questions, of the first study that
    has both, and of all others that trained them alike; None if none has.
    """
    for i, (study, plan) in enumerate(trainings):
        reference_here = baseline_of(study) if reference == BASELINE else reference
        if not ({variant, reference_here} <= set(study.variants) and name in subsets(study)):
            continue
        starts = find_starts(plan)
        for earlier, earlier_plan in trainings[i + 1 :]:
            if _is_repeated(earlier, earlier_plan, plan, (variant, reference_here)):
                study = join_studies(study, earlier)
        seeds, answers = study.seeds(variant, reference_here), Answers(study, subsets(study)[name])
        gates = {"transformer_exact_match": answers.mean(BASELINE)}
        weights = study.runs.groupby("variant")["parameters"].first()
        pair = (variant, reference_here)
        case = " − ".join(f"{name} ({weights[name]:,} weights)" for name in pair)
        alike = starts[variant] == starts[reference_here]
        return (
            Evidence(
                {case: answers.difference(variant, reference_here)},
                "model seed",
                len(seeds),
                gates,
                frozenset({ALIKE} if alike else ()),
                alternatives={case: answers.difference(variant, reference_here, pooled=False)},
            )
            if len(seeds)
            else None
        )
    return None


def join_studies(study: Study, earlier: Study) -> Study:
    """The runs of two studies on the questions that both answered."""
    runs = pd.concat([earlier.runs, study.runs], ignore_index=True)
    answers = study.examples.set_index("source")[list(study.runs["run"])]
    examples = earlier.examples.join(answers, on="source", how="inner")
    return Study("both", runs, pd.DataFrame(), examples.reset_index(drop=True))


def _is_repeated(study: Study, plan: Plan, later_plan: Plan, variants: Sequence[str]) -> bool:
    """True if a study trained both variants as another one's plan does, from the same starts."""
    if not {*variants} <= {*study.variants} or not later_plan.trains_alike(plan.recipe):
        return False
    starts = (find_starts(plan_) for plan_ in (plan, later_plan))
    return len({tuple(starts_of_plan[name] for name in variants) for starts_of_plan in starts}) == 1
