"""The page on the effect of binding: the shipped studies, their verdicts, contrasts and tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool

from studies.pages.binding_contrasts import (
    draw_contrasts,
    draw_factors,
    draw_modules,
    measure_contrasts,
    summarize_again,
    summarize_answer,
)
from studies.pages.companions import count_runs, load_with_companions, take_runs
from studies.pages.earlier_seeds import (
    compare_seeds,
    join_studies,
    summarize_seeds,
    summarize_table,
)
from studies.pages.heads_section import attention_evidence, read_heads, summarize_heads
from studies.pages.markdown import share_text, verdict_table
from studies.templates import fill, table
from tprpapers.architectures.transformer import TransformerConfig
from tprpapers.claims import Evidence, judge, load_claims
from tprpapers.study.comparisons import Answers, at_equal_compute, compare_variants, subsets
from tprpapers.study.plans import Plan, read_plan
from tprpapers.study.records import Study, load_study
from tprpapers.study.study_figure import matched_study
from tprprobe.figures.style import Drawing
from tprprobe.files import assets
from tprprobe.models import expand
from tprprobe.statistics import interval_text, read_interval

STUDY, EARLIER = "matched-starts", "matched-arithmetic"
COMPANIONS = {  # what is other in them
    "adam": "Trained by Adam instead of Muon",
    "longer": "Trained three times as long",
}
BASELINE, MODEL, NARROWED, OUTER = "transformer", "tp-transformer", "narrowed", "outer"
STARTED = "transformer-torch"  # a Transformer that starts as the TP-Transformer does
XAVIER = "tp-transformer-xavier"  # a TP-Transformer that starts as the published Transformer does
ONES, UNBOUND = "ones", "no-embedding-binding"
# claim → (variant, reference, set of questions); the baseline is the one that starts alike, if any
COMPARED = {
    "schlag-interpolation": (MODEL, BASELINE, "all"),
    "schlag-same-weights": (NARROWED, BASELINE, "all"),
    "schlag-diagonal-sufficient": (MODEL, BASELINE, "all"),
    "schlag-full-product-better": (OUTER, MODEL, "all"),
    "schlag-extrapolation": (MODEL, BASELINE, "longer"),
}
INSIGHTS = "schlag-better-insights"
ALIKE = "weights that start alike"  # a condition of claims
SETS = {"all": "all", "discordant": "discordant", "longer": "longer"}
FIGURES = {
    "contrasts": "images/binding-contrasts.svg",
    "factors": "images/binding-factors.svg",
    "study": "images/matched-study.svg",
    "modules": "images/binding-modules.svg",
}


def make_page(runs: Path) -> str:
    """The page on the studies that ship; nothing is computed anew, so ``runs`` stays empty."""
    folder, earlier = (assets.find("studies", name) for name in (STUDY, EARLIER))
    study, companions = load_with_companions(STUDY, COMPANIONS)
    return write_page(
        study,
        read_plan(folder / "plan.toml"),
        (load_study(earlier), read_plan(earlier / "plan.toml")),
        read_heads(),
        {
            name: (companion, read_plan(folder / f"{name}.toml"))
            for name, companion in companions.items()
        },
    )


def summarize_study(
    study: Study, companions: Mapping[str, Study], earlier: Study | None = None
) -> list[str]:
    """The answer of the study in sentences, of an earlier one's seeds, and of its companions."""
    answer = summarize_answer(study)
    if answer and earlier:
        answer.append(summarize_seeds(compare_seeds(study, earlier)))
    sentences = (
        summarize_again(COMPANIONS[name], companion, take_runs(study, companion))
        for name, companion in companions.items()
    )
    return [*answer, *filter(None, sentences)]


def draw_figures() -> dict[str, Drawing]:
    """The figures of the page by the paths under which it shows them."""
    study = load_study(assets.find("studies", STUDY))
    figures = {
        "contrasts": draw_contrasts(study),
        "factors": draw_factors(study),
        "study": matched_study(study.curves, study.runs, compare_variants(study, STARTED), STARTED),
        "modules": draw_modules(study),
    }
    return {FIGURES[name]: figure for name, figure in figures.items()}


def write_page(
    study: Study,
    plan: Plan,
    earlier: tuple[Study, Plan] | None = None,
    heads: pd.DataFrame | None = None,
    companions: Mapping[str, tuple[Study, Plan]] | None = None,
) -> str:
    """The page of a study that was run by this plan.

    What only an ``earlier`` study has is judged and shown by its tables; ``heads`` are what
    ``python -m studies.heads`` measured of the study's models; ``companions`` are those of COMPANIONS that
    have finished runs.
    """
    others_by_name = companions or {}
    scores = compare_variants(study, BASELINE)
    sets = subsets(study)
    trainings = [(study, plan), *([earlier] if earlier else [])]
    verdicts = [
        judge(load_claims()[name], _evidence(trainings, *compared))
        for name, compared in COMPARED.items()
    ]
    verdicts.append(judge(load_claims()[INSIGHTS], attention_evidence(heads)))
    starts = find_starts(plan)
    return fill(
        Path(__file__).parent,
        "study.md.j2",
        **_describe(study, plan),
        answer=summarize_study(
            study,
            {name: companion for name, (companion, _) in others_by_name.items()},
            earlier[0] if earlier else None,
        ),
        companions={name: _companion(*companion) for name, companion in others_by_name.items()},
        heads=summarize_heads(heads),
        verdicts=verdict_table(verdicts),
        contrasts=_contrasts(study),
        scores=_scores(scores, starts),
        modules=_modules(scores),
        costs=_costs(study),
        runs=_seeds(study, sets["all"]),
        discordant_runs=_seeds(study, sets["discordant"]) if "discordant" in sets else "",
        earlier=_earlier(study, *earlier) if earlier else {},
    )


def _companion(study: Study, plan: Plan) -> dict[str, Any]:
    """A companion's plan, contrasts and scores."""
    recipe = next(iter(plan.runs().values()))
    return {
        "recipe": recipe,
        "finished": count_runs(study),
        "hours": study.runs["seconds"].sum() / 3600,
        "contrasts": _contrasts(study),
        "scores": _scores(compare_variants(study, STARTED), find_starts(plan))
        if STARTED in study.variants
        else "",
    }


def _earlier(study: Study, earlier: Study, plan: Plan) -> dict[str, str]:
    """An earlier study's name, its contrasts beside the study's, and its scores."""
    return {
        "name": earlier.name,
        "beside": summarize_table(compare_seeds(study, earlier)),
        "scores": _scores(compare_variants(earlier, BASELINE), find_starts(plan)),
    }


def find_starts(plan: Plan) -> dict[str, str]:
    """The initialization of every variant's attentions."""
    shared = plan.recipe.get("model", {})
    settings = {
        name: expand(shared | variant_settings) for name, variant_settings in plan.variants.items()
    }
    options = (
        {k: v for k, v in options_of_variant.items() if k != "architecture"}
        for options_of_variant in settings.values()
    )
    return {
        name: TransformerConfig(**options_of_variant).start
        for name, options_of_variant in zip(settings, options, strict=True)
    }


def _describe(study: Study, plan: Plan) -> dict[str, Any]:
    """A description of the variants, their training, and their exact match."""
    recipe = next(iter(plan.runs().values()))
    return {
        "study": study.name,
        "figures": FIGURES,
        "steps": recipe.steps,
        "batch": recipe.batch_size,
        "optimizer": recipe.optimizer.name,
        "seeds": len(plan.seeds),
        "longest": plan.longest,
        "questions": len(study.examples),
        "longer": int(study.examples["longer"].sum()),
        "finished": count_runs(study),
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


def _is_repeated(study: Study, plan: Plan, later_plan: Plan, variants: Sequence[str]) -> bool:
    """True if a study trained both variants as another one's plan does, from the same starts."""
    if not {*variants} <= {*study.variants} or not later_plan.trains_alike(plan.recipe):
        return False
    starts = (find_starts(plan_) for plan_ in (plan, later_plan))
    return len({tuple(starts_of_plan[name] for name in variants) for starts_of_plan in starts}) == 1


def _contrasts(study: Study) -> str:
    rows = measure_contrasts(study)
    wide: dict[str, dict[str, str]] = {}
    for row in rows.to_dict("records"):
        cell = wide.setdefault(row["contrast"], {"contrast": row["contrast"], "seeds": ""})
        cell["seeds"] = str(row["seeds"])
        cell[f"{row['set']} (n {row['n']:,})"] = interval_text(read_interval(row, "value"), "+.3f")
    return table(list(wide.values()))


def _scores(scores: pd.DataFrame, starts: Mapping[str, str]) -> str:
    rows = []
    for variant, variant_rows in scores.groupby("variant", sort=False):
        cells = {str(row["set"]): row for row in variant_rows.to_dict("records")}
        row = {"variant": str(variant), "start": starts[str(variant)]}
        row["seeds"] = str(variant_rows["seeds"].iloc[0])
        for name, title in SETS.items():
            if name in cells:
                set_scores, n = cells[name], cells[name]["n"]
                row[f"{title} (n {n:,})"] = share_text(read_interval(set_scores, "value"))
                row[f"{title}: gain"] = interval_text(
                    read_interval(set_scores, "difference"), "+.3f"
                )
        rows.append(row)
    return table(rows)


def _modules(scores: pd.DataFrame) -> str:
    modules = scores[~scores["set"].isin(list(SETS))]
    wide = modules.pivot(index="variant", columns="set", values="value")
    wide = wide.loc[list(dict.fromkeys(scores["variant"]))]
    return table(
        [
            {"variant": str(name)}
            | {str(key).removeprefix("arithmetic__"): f"{value:.3f}" for key, value in row.items()}
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
    match_rows = study.runs.assign(value=match[names].to_numpy())
    wide = match_rows.pivot(index="variant", columns="seed", values="value").loc[study.variants]
    return table(
        [
            {"variant": str(name)}
            | {
                f"seed {seed}": "–" if np.isnan(value) else f"{value:.3f}"
                for seed, value in row.items()
            }
            for name, row in wide.iterrows()
        ]
    )
