"""Claims on summaries: the models of a matched study against each other, over seeds and reports."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd

from studies.intervals import minus
from studies.summary_roles.records import LONGER, STUDY
from studies.verdicts.deciding import (
    COMPARED,
    CONTINUOUS,
    DISCRETE,
    DISCRETE_T5,
    PUBLISHED,
    T5,
    find_alike,
    find_compared,
    judge_trainings,
)
from studies.verdicts.table import claims_of
from tprpapers.claims import Evidence, Verdict
from tprpapers.scoring.baselines import BASELINES, baseline_rows
from tprpapers.scoring.faithfulness import unsupported
from tprpapers.scoring.summaries import mean_scores, score_summaries
from tprpapers.study.comparisons import Answers, subsets
from tprpapers.study.records import Study, load_study
from tprprobe.files import assets
from tprprobe.statistics import Interval, read_interval

EXTERNAL = "jiang-external-facts"
TITLES_OF_OTHERS = {  # than TPT-c, which starts as T5 does
    T5: "T5",
    DISCRETE: "TPT-d as published",
    DISCRETE_T5: "TPT-d of T5's start",
}
METRICS = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "meteor": "METEOR"}
TEST, COMPOSITIONAL = SPLITS = ("test", "compositional")

Scores = Mapping[str, Mapping[str, Interval]]  # model → score → mean


def decide(_runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on summaries: of the study that ships, and of its longer training."""
    folder = assets.find("studies", STUDY)
    studies = load_study(folder / LONGER), load_study(folder)
    study = studies[-1]
    references = study.examples.loc[study.examples["module"] == TEST, ["source", "target"]]
    lead = score_lead(references)
    evidence = {int(s.runs["steps"].max()): gather_evidence(s, lead) for s in studies}
    for verdict in judge_trainings(claims_of("summaries"), evidence):
        yield "", judge_external(verdict, references)


def score_lead(references: pd.DataFrame) -> dict[str, Interval]:
    """The scores of the first sentences of documents."""
    scores = mean_scores(score_summaries(baseline_rows(references, BASELINES[0]), english=True))
    return {str(name): read_interval(row, "value") for name, row in scores.iterrows()}


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
