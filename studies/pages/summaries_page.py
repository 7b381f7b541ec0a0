"""The page on summaries: the models of a matched study against each other, over seeds and reports."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from studies.pages.arithmetic_estimates import minus
from studies.pages.companions import count_runs, load_with_companions, take_runs
from studies.pages.deciding import (
    COMPARED,
    CONTINUOUS,
    DISCRETE,
    DISCRETE_T5,
    PUBLISHED,
    T5,
    decide,
    find_alike,
    find_compared,
    find_longest,
)
from studies.pages.differences import steps_of
from studies.pages.markdown import share_text, verdict_table
from studies.pages.seed_tables import summarize_one_hot, summarize_snapped
from studies.pages.summary_contrasts import (
    CONTRASTS,
    DRAWN_MEASURES,
    MEASURES,
    METRICS,
    SPLITS,
    TEST,
    draw_contrasts,
    measure_contrasts,
    summarize_again,
    summarize_answer,
    summarize_before,
)
from studies.pages.verdicts import claims_of
from studies.summary_roles.records import COMPANIONS, LONGER, SIX, STUDY, Roles, load_roles
from studies.templates import fill, table
from tprpapers.claims import Evidence, Verdict
from tprpapers.scoring.baselines import BASELINES, baseline_rows
from tprpapers.scoring.faithfulness import unsupported
from tprpapers.scoring.summaries import mean_scores, score_summaries
from tprpapers.study.comparisons import Answers, subsets
from tprpapers.study.plans import Plan, read_plan
from tprpapers.study.records import Study
from tprprobe.figures.style import Drawing
from tprprobe.files import assets
from tprprobe.statistics import Interval, interval_text, read_interval

EXTERNAL = "jiang-external-facts"
TITLES_OF_OTHERS = {  # than TPT-c, which starts as T5 does
    T5: "T5",
    DISCRETE: "TPT-d as published",
    DISCRETE_T5: "TPT-d of T5's start",
}
FIGURE = "images/summaries-contrasts.svg"

Scores = Mapping[str, Mapping[str, Interval]]  # model → score → mean


def make_page(runs: Path) -> str:
    """The page on the study that ships; no model is run anew, so ``runs`` stays empty."""
    plan = read_plan(assets.find("studies", STUDY) / "plan.toml")
    study, companions = load_with_companions(STUDY, COMPANIONS)
    return write_page(study, plan, load_roles(), companions)


def summarize_study(study: Study, companions: Mapping[str, Study]) -> list[str]:
    """The answer of the study that decides in sentences, and those of the others."""
    longest = find_longest(study, companions)
    answer = summarize_answer(measure_contrasts(longest), steps_of(longest))
    if longest is not study:
        answer.append(summarize_before(measure_contrasts(study), steps_of(study)))
    sentences = (
        summarize_again(
            COMPANIONS[name], *map(measure_contrasts, (companion, take_runs(study, companion)))
        )
        for name, companion in companions.items()
        if companion is not longest
    )
    return [*answer, *filter(None, sentences)]


def draw_figures() -> dict[str, Drawing]:
    """The figure of the page by the path under which it shows it."""
    study, companions = load_with_companions(STUDY, COMPANIONS)
    longest = find_longest(study, companions)
    return {FIGURE: draw_contrasts(*dict.fromkeys([longest, study]))}


def write_page(
    study: Study, plan: Plan, roles: Roles, companions: Mapping[str, Study] | None = None
) -> str:
    """The page of a study that was run by this plan, of the roles of its models, and of its companions
    by their names.
    """
    companion_studies = companions or {}
    six, longer = (companion_studies.get(name) for name in (SIX, LONGER))
    inside = study.examples["module"] == TEST
    references = study.examples.loc[inside, ["source", "target"]]
    lead = score_lead(references)
    trained = {
        steps_of(training): training for training in ([longer, study] if longer else [study])
    }
    evidence = {steps: gather_evidence(training, lead) for steps, training in trained.items()}
    verdicts = decide(claims_of("summaries"), evidence, {})
    verdicts = sorted((judge_external(verdict, references) for verdict in verdicts), key=order)
    recipe = next(iter(plan.runs().values()))
    return fill(
        Path(__file__).parent,
        "summaries.md.j2",
        answer=summarize_study(study, companion_studies),
        figure=FIGURE,
        study=STUDY,
        steps=recipe.steps,
        batch=recipe.batch_size,
        optimizer=recipe.optimizer.name,
        planned=len(plan.seeds),
        reports={split: int(flags.sum()) for split, flags in subsets(study).items()},
        verdicts=verdict_table(verdicts),
        longer=bool(longer),
        trained={steps: _tables(training) for steps, training in trained.items()},
        six={split: _means(six, split) for split in SPLITS} if six else {},
        lengths=_lengths(study, longer) if longer else "",
        snapped=summarize_snapped(roles),
        one_hot=summarize_one_hot(roles),
        measured=len(roles.reports),
        lead=interval_text(lead["rougeL"]),
    )


def score_lead(references: pd.DataFrame) -> dict[str, Interval]:
    """The scores of the first sentences of documents."""
    scores = mean_scores(score_summaries(baseline_rows(references, BASELINES[0]), english=True))
    return {str(name): read_interval(row, "value") for name, row in scores.iterrows()}


# ---- claims -----------------------------------------------------------------------------------------


def gather_evidence(study: Study, lead: Mapping[str, Interval]) -> dict[str, Evidence]:
    """The evidence for the claims that scores speak about; no case of variants without a common seed.

    A claim on every metric has to hold as published and started alike, the one on TPT-c among models of
    both starts; one on a single number is decided by models that start alike.
    """
    sets = subsets(study)

    def answers(measure: str, split: str = TEST) -> Answers:
        return Answers(study, sets[split], measure)

    better, worst, unpooled_cases = {}, {}, {}
    compared, alike = find_compared(study), COMPARED[find_alike(study)]
    for split in SPLITS:
        for name, title in METRICS.items():
            measured = answers(name, split)
            for start in compared:
                case = f"{title}, {split}, {start}"
                better[case] = measured.contrast(COMPARED[start])
                unpooled_cases[case] = measured.contrast(COMPARED[start], pooled=False)
            for variant, words in TITLES_OF_OTHERS.items():
                if study.seeds(variant, CONTINUOUS):
                    case = f"{title}, {split}, {words}"
                    worst[case] = measured.difference(variant, CONTINUOUS)
                    unpooled_cases[case] = measured.difference(variant, CONTINUOUS, pooled=False)
    number, unpooled = (
        {
            name: {"": answers(name).contrast(alike, pooled)} if study.seeds(*alike) else {}
            for name in ("grammatical", "faithful")
        }
        for pooled in (True, False)
    )
    published = [COMPARED[PUBLISHED], alike]
    cases = {
        "jiang-table2-better": (better, published),
        "jiang-table2-cnndm": (better, published),
        "jiang-tptc-worst": (
            worst,
            [(variant, CONTINUOUS) for variant in _beside_continuous(study)],
        ),
        "jiang-grammatical": (number["grammatical"], [alike]),
        "jiang-factual": (number["faithful"], [alike]),
    }
    gates = {"transformer_beats_lead": minus(answers("rougeL").mean(T5), lead["rougeL"])}
    seeds = {
        name: min(len(study.seeds(*variant)) for variant in contrasts)
        for name, (_, contrasts) in cases.items()
    }
    unpooled = {
        f"jiang-{'grammatical' if name == 'grammatical' else 'factual'}": case_intervals
        for name, case_intervals in unpooled.items()
    }
    return {
        name: Evidence(
            case_intervals,
            "model seed",
            seeds[name],
            gates,
            alternatives=unpooled.get(
                name,
                {case: unpooled_cases[case] for case in case_intervals if case in unpooled_cases},
            ),
        )
        for name, (case_intervals, _) in cases.items()
        if case_intervals
    }


def _beside_continuous(study: Study) -> list[str]:
    """What TPT-c is compared with: T5 and TPT-d, of T5's start too where that was trained."""
    return [name for name in TITLES_OF_OTHERS if name in (T5, DISCRETE) or study.seeds(name)]


def judge_external(verdict: Verdict, references: pd.DataFrame) -> Verdict:
    """The verdict; of the claim on facts that references have and documents lack, why there are none to match."""
    if verdict.claim.id != EXTERNAL:
        return verdict
    pairs = zip(references["source"], references["target"], strict=True)
    having = sum(bool(unsupported(*pair)) for pair in pairs)
    reason = f"{having} of {len(references):,} references of the generated English have such facts"
    return verdict if having else Verdict(verdict.claim, "not decidable here", reason)


def order(verdict: Verdict) -> int:
    """What speaks against a claim first, then what is undecided, what holds, and what was not measured."""
    outcomes = ("fails", "undecided", "holds", "not comparable", "not decidable here")
    return outcomes.index(verdict.outcome)


# ---- tables -----------------------------------------------------------------------------------------


def _tables(study: Study) -> dict[str, Any]:
    """What a study measured, as tables: contrasts and scores by split, every run, and its loss."""
    rows = measure_contrasts(study)
    return {
        "contrasts": {split: _contrasts(rows[rows["split"] == split]) for split in SPLITS},
        "scores": {split: _means(study, split) for split in SPLITS},
        "runs": _runs(study),
        "curve": _curve(study),
        "finished": count_runs(study),
        "hours": study.runs["seconds"].sum() / 3600,
    }


def _contrasts(rows: pd.DataFrame) -> str:
    wide: dict[str, dict[str, str]] = {name: {"difference": name} for name in CONTRASTS}
    for row in rows.to_dict("records"):
        cells = wide[row["contrast"]]
        cells["seeds"] = str(row["seeds"])
        cells[MEASURES[row["measure"]]] = interval_text(read_interval(row, "value"), "+.3f")
    return table([cells for cells in wide.values() if "seeds" in cells])


def _means(study: Study, split: str) -> str:
    answers = {name: Answers(study, subsets(study)[split], name) for name in MEASURES}
    return table(
        [
            {"variant": variant, "seeds": str(len(study.seeds(variant)))}
            | {title: share_text(answers[name].mean(variant)) for name, title in MEASURES.items()}
            for variant in study.variants
        ]
    )


def _runs(study: Study) -> str:
    rows = []
    for run in study.runs["run"]:
        cells = {"run": str(run)}
        for split in SPLITS:
            inside = study.examples["module"] == split
            for name in ("rougeL", "exact_match", "faithful"):
                cells[f"{MEASURES[name]}, {split}"] = (
                    f"{study.scores(name)[run][inside].mean():.3f}"
                )
        rows.append(cells)
    return table(rows)


def _curve(study: Study) -> str:
    """The loss on held-out reports along the training, mean over seeds."""
    losses = study.curves[study.curves["metric"] == "held_out_loss"]
    wide = losses.pivot_table(index="variant", columns="step", values="value")
    return table(
        [
            {"variant": name}
            | {f"{step:,}": f"{value:.3f}" for step, value in wide.loc[name].items()}
            for name in study.variants
        ]
    )


def _lengths(study: Study, longer: Study) -> str:
    """The contrasts of the longer training's seeds after either number of steps, on reports of ``test``."""
    values_by_steps = {}
    for training in (take_runs(study, longer), longer):
        rows = measure_contrasts(training)
        values = rows[rows["split"] == TEST].set_index(["contrast", "measure"])["value"]
        values_by_steps[steps_of(training)] = values
    return table(
        [
            {"difference": name}
            | {
                f"{MEASURES[measure]}, {steps:,} steps": f"{values[name, measure]:+.3f}"
                for measure in DRAWN_MEASURES
                for steps, values in values_by_steps.items()
            }
            for name in CONTRASTS
            if all(name in values for values in values_by_steps.values())
        ]
    )
