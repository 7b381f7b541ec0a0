"""The page on summaries: the models of a matched study against each other, over seeds and reports."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from studies.intervals import minus
from studies.pages.deciding import (
    COMPARED,
    CONTINUOUS,
    CONTRASTS,
    DISCRETE,
    DISCRETE_T5,
    PUBLISHED,
    T5,
    decide,
    find_alike,
    find_compared,
)
from studies.pages.markdown import share_text, verdict_table
from studies.pages.study_contrasts import contrast_table, draw_contrasts, measure_contrasts
from studies.pages.verdicts import claims_of
from studies.summary_roles.records import LONGER, STUDY
from studies.templates import fill, table
from tprpapers.claims import Evidence, Verdict
from tprpapers.scoring.baselines import BASELINES, baseline_rows
from tprpapers.scoring.faithfulness import unsupported
from tprpapers.scoring.summaries import mean_scores, score_summaries
from tprpapers.study.comparisons import Answers, subsets
from tprpapers.study.plans import Plan, read_plan
from tprpapers.study.records import EXACT, Study, load_study
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
METRICS = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "meteor": "METEOR"}
MEASURES = METRICS | {
    EXACT: "exact match",
    "grammatical": "grammatical",
    "faithful": "true of the document",
}
DRAWN_MEASURES = ("rougeL", EXACT, "grammatical", "faithful")
TEST, COMPOSITIONAL = SPLITS = ("test", "compositional")

Scores = Mapping[str, Mapping[str, Interval]]  # model → score → mean


def make_page(runs: Path) -> str:
    """The page on the study that ships; no model is run anew, so ``runs`` stays empty."""
    plan = read_plan(assets.find("studies", STUDY) / "plan.toml")
    return write_page(*load_trainings(), plan)


def load_trainings() -> tuple[Study, Study]:
    """The study that ships, and its longer training."""
    folder = assets.find("studies", STUDY)
    return load_study(folder), load_study(folder / LONGER)


def steps_of(study: Study) -> int:
    """The steps for which its runs were trained."""
    return int(study.runs["steps"].max())


def draw_figures() -> dict[str, Drawing]:
    """The figure of the page: the contrasts of both trainings on reports of ``test``, a dot per score."""
    rows = pd.concat(
        measure_contrasts(study, CONTRASTS, (TEST,), DRAWN_MEASURES).assign(steps=steps_of(study))
        for study in reversed(load_trainings())
    )
    name = rows["steps"].map("{:,} steps: ".format) + rows["contrast"]
    rows = rows.assign(name=name, group=rows["measure"].map(MEASURES))
    return {FIGURE: draw_contrasts(rows, "Difference of the scores, 95 % interval", "points")}


def write_page(study: Study, longer: Study, plan: Plan) -> str:
    """The page of a study that was run by this plan, and of its longer training."""
    inside = study.examples["module"] == TEST
    references = study.examples.loc[inside, ["source", "target"]]
    lead = score_lead(references)
    trained = {steps_of(training): training for training in (longer, study)}
    evidence = {steps: gather_evidence(training, lead) for steps, training in trained.items()}
    verdicts = decide(claims_of("summaries"), evidence)
    verdicts = sorted((judge_external(verdict, references) for verdict in verdicts), key=order)
    recipe = next(iter(plan.runs().values()))
    return fill(
        Path(__file__).parent,
        "summaries.md.j2",
        figure=FIGURE,
        study=STUDY,
        steps=recipe.steps,
        batch=recipe.batch_size,
        optimizer=recipe.optimizer.name,
        planned=len(plan.seeds),
        reports={split: int(flags.sum()) for split, flags in subsets(study).items()},
        verdicts=verdict_table(verdicts),
        trained={steps: _tables(training) for steps, training in trained.items()},
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
    """What a study measured, as tables: contrasts and scores by split."""
    rows = measure_contrasts(study, CONTRASTS, SPLITS, tuple(MEASURES))
    split_rows = {split: rows[rows["set"] == split] for split in SPLITS}
    return {
        "contrasts": {
            split: contrast_table(selection, "difference", selection["measure"].map(MEASURES))
            for split, selection in split_rows.items()
        },
        "scores": {split: _means(study, split) for split in SPLITS},
        "hours": study.runs["seconds"].sum() / 3600,
    }


def _means(study: Study, split: str) -> str:
    answers = {name: Answers(study, subsets(study)[split], name) for name in MEASURES}
    return table(
        [
            {"variant": variant, "seeds": str(len(study.seeds(variant)))}
            | {title: share_text(answers[name].mean(variant)) for name, title in MEASURES.items()}
            for variant in study.variants
        ]
    )
