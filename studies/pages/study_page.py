"""The page on the effect of binding: the shipped studies, their verdicts, contrasts and tables.

Roles learned or one, crossed with the embedding binding or none, is a 2 × 2 of variants of one start:
roles of one without the embedding binding are the Transformer. An effect is half the sum of the two
differences that have it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from studies.pages.heads_section import attention_evidence, read_heads, summarize_heads
from studies.pages.markdown import share_text, verdict_table
from studies.pages.study_contrasts import contrast_table, draw_contrasts, measure_contrasts
from studies.templates import fill, table
from tprpapers.architectures.transformer import TransformerConfig
from tprpapers.claims import Evidence, judge, load_claims
from tprpapers.study.comparisons import Answers, compare_variants, subsets
from tprpapers.study.plans import Plan, read_plan
from tprpapers.study.records import Study, load_study
from tprprobe.figures.style import Drawing
from tprprobe.files import assets
from tprprobe.models import expand
from tprprobe.statistics import interval_text, read_interval

STUDY, EARLIER = "matched-starts", "matched-arithmetic"
COMPANIONS = ("adam", "longer")  # another optimizer; three times the steps
BASELINE, MODEL, NARROWED, OUTER = "transformer", "tp-transformer", "narrowed", "outer"
STARTED = "transformer-torch"  # a Transformer that starts as the TP-Transformer does
INSIGHTS, FULL_BETTER = "schlag-better-insights", "schlag-full-product-better"
# claim → (variant, reference, set of questions); the baseline is the one that starts alike, if any
COMPARED = {
    "schlag-interpolation": (MODEL, BASELINE, "all"),
    "schlag-same-weights": (NARROWED, BASELINE, "all"),
    "schlag-diagonal-sufficient": (MODEL, BASELINE, "all"),
    FULL_BETTER: (OUTER, MODEL, "all"),
    "schlag-extrapolation": (MODEL, BASELINE, "longer"),
}
ALIKE = "weights that start alike"  # a condition of claims
BOTH_TORCH, ROLES = "TP-Transformer − Transformer, both torch", "roles learned − roles one"
START, PUBLISHED = (
    "Transformer: torch − Xavier",
    "TP-Transformer − Transformer, as published",
)
BINDING, FULL = "embedding binding − none", "full product − its diagonal"
XAVIER = "TP-Transformer − Transformer, both Xavier"
LEVEL = "full product − Transformer, both torch"
FACTORS = {  # (roles learned, embedding binding) → variant
    (False, False): "transformer-torch",
    (True, False): "no-embedding-binding",
    (False, True): "ones",
    (True, True): "tp-transformer",
}
CONTRASTS = {
    BOTH_TORCH: {"tp-transformer": 1.0, "transformer-torch": -1.0},
    "the same, with no more weights": {"narrowed": 1.0, "transformer-torch": -1.0},
    "the same, with no more arithmetic": {"narrowed-compute": 1.0, "transformer-torch": -1.0},
    XAVIER: {"tp-transformer-xavier": 1.0, "transformer": -1.0},
    "the difference: both torch − both Xavier": {
        "tp-transformer": 1.0,
        "transformer-torch": -1.0,
        "tp-transformer-xavier": -1.0,
        "transformer": 1.0,
    },
    PUBLISHED: {"tp-transformer": 1.0, "transformer": -1.0},
    START: {"transformer-torch": 1.0, "transformer": -1.0},
    ROLES: {name: 0.5 if has_roles else -0.5 for (has_roles, _), name in FACTORS.items()},
    BINDING: {name: 0.5 if bound else -0.5 for (_, bound), name in FACTORS.items()},
    "both − each alone (interaction)": {
        name: 0.5 if has_roles == bound else -0.5 for (has_roles, bound), name in FACTORS.items()
    },
    FULL: {"outer": 1.0, "tp-transformer": -1.0},
    LEVEL: {"outer": 1.0, "transformer-torch": -1.0},
}
SETS = ("all", "discordant", "longer")
FIGURE = "images/binding-contrasts.svg"


def make_page(runs: Path) -> str:
    """The page on the studies that ship; nothing is computed anew, so ``runs`` stays empty."""
    return write_page(*read_training(STUDY), read_training(EARLIER), read_heads(), COMPANIONS)


def read_training(folder: str, plan: str = "plan") -> tuple[Study, Plan]:
    """A study that ships, by this plan of its folder; a companion's tables lie in the folder of its name."""
    home = assets.find("studies", folder)
    return load_study(home if plan == "plan" else home / plan), read_plan(home / f"{plan}.toml")


def draw_figures() -> dict[str, Drawing]:
    """The figure of the page by the path under which it shows it."""
    rows = measure_contrasts(read_training(STUDY)[0], CONTRASTS, SETS)
    rows = rows.rename(columns={"contrast": "name", "set": "group"})
    title, label = "Difference in exact match, 95 % interval", "points of exact match"
    return {FIGURE: draw_contrasts(rows, title, label)}


def write_page(
    study: Study,
    plan: Plan,
    earlier: tuple[Study, Plan] | None = None,
    heads: pd.DataFrame | None = None,
    companions: Sequence[str] = (),
) -> str:
    """The page of a study that was run by this plan.

    What only an ``earlier`` study has is judged by its tables; ``heads`` are what ``python -m studies.heads``
    measured of the study's models; ``companions`` are trainings of the study's folder in which one thing is changed.
    """
    trainings = [(study, plan), *([earlier] if earlier else [])]
    evidence = {name: _evidence(trainings, *compared) for name, compared in COMPARED.items()}
    verdicts = [judge(load_claims()[name], of_claim) for name, of_claim in evidence.items()]
    verdicts.append(judge(load_claims()[INSIGHTS], attention_evidence(heads)))
    return fill(
        Path(__file__).parent,
        "study.md.j2",
        **_describe(study, plan),
        companions={name: _companion(*read_training(STUDY, name)) for name in companions},
        heads=summarize_heads(heads),
        verdicts=verdict_table(verdicts),
        joined=_joined(evidence[FULL_BETTER]) if earlier else "",
        contrasts=_contrasts(study),
        scores=_scores(compare_variants(study, BASELINE), find_starts(plan)),
    )


def _joined(evidence: Evidence | None) -> str:
    """The difference that the seeds of both studies show."""
    if evidence is None:
        return ""
    (difference,) = evidence.cases.values()
    return f"{interval_text(difference, '+.3f')} ({evidence.units} seeds)"


def _companion(study: Study, plan: Plan) -> dict[str, Any]:
    """A companion's plan and contrasts."""
    return {
        "recipe": next(iter(plan.runs().values())),
        "hours": study.runs["seconds"].sum() / 3600,
        "contrasts": _contrasts(study),
    }


def find_starts(plan: Plan) -> dict[str, str]:
    """The initialization of every variant's attentions."""
    shared = plan.recipe.get("model", {})
    starts = {}
    for name, variant_settings in plan.variants.items():
        options: dict[str, Any] = {**expand(shared | variant_settings)}
        options.pop("architecture")
        starts[name] = TransformerConfig(**options).start
    return starts


def _describe(study: Study, plan: Plan) -> dict[str, Any]:
    """A description of the variants, their training, and their exact match."""
    recipe = next(iter(plan.runs().values()))
    costs = study.runs.groupby("variant")[["parameters", "gigaflops"]].mean()
    return {
        "study": study.name,
        "figure": FIGURE,
        "cost": [] if OUTER not in costs.index else list(costs.loc[OUTER] / costs.loc[BASELINE]),
        "steps": recipe.steps,
        "batch": recipe.batch_size,
        "optimizer": recipe.optimizer.name,
        "seeds": len(plan.seeds),
        "longest": plan.longest,
        "questions": len(study.examples),
        "longer": int(study.examples["longer"].sum()),
        "hours": study.runs["seconds"].sum() / 3600,
    }


def _evidence(
    trainings: Sequence[tuple[Study, Plan]], variant: str, reference: str, name: str
) -> Evidence | None:
    """The evidence on a difference of two variants, over seeds and questions, of the first study that
    has both, and of all others that trained them alike; None if none has.
    """
    for i, (study, plan) in enumerate(trainings):
        reference_here = (
            STARTED if reference == BASELINE and STARTED in study.variants else reference
        )
        if not ({variant, reference_here} <= set(study.variants) and name in subsets(study)):
            continue
        starts = find_starts(plan)
        for earlier, earlier_plan in trainings[i + 1 :]:
            if _is_repeated(earlier, earlier_plan, plan, (variant, reference_here)):
                study = join_studies(study, earlier)
        seeds, answers = study.seeds(variant, reference_here), Answers(study, subsets(study)[name])
        gates = {"transformer_exact_match": answers.mean(BASELINE)}
        case, alike = f"{variant} − {reference_here}", starts[variant] == starts[reference_here]
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


def _contrasts(study: Study) -> str:
    rows = measure_contrasts(study, CONTRASTS, SETS)
    return contrast_table(rows, "contrast", rows["set"] + rows["n"].map(" (n {:,})".format))


def _scores(scores: pd.DataFrame, starts: Mapping[str, str]) -> str:
    rows = []
    for variant, variant_rows in scores.groupby("variant", sort=False):
        cells = {str(row["set"]): row for row in variant_rows.to_dict("records")}
        row = {"variant": str(variant), "start": starts[str(variant)]}
        row["seeds"] = str(variant_rows["seeds"].iloc[0])
        for name in SETS:
            if name in cells:
                set_scores, n = cells[name], cells[name]["n"]
                row[f"{name} (n {n:,})"] = share_text(read_interval(set_scores, "value"))
                row[f"{name}: gain"] = interval_text(
                    read_interval(set_scores, "difference"), "+.3f"
                )
        rows.append(row)
    return table(rows)
