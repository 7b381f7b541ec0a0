"""The page on summaries: the shipped models against each other, from the scores beside them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from studies.pages.arithmetic_estimates import minus
from studies.pages.markdown import verdict_table
from studies.pages.verdicts import claims_of
from studies.templates import fill, table
from tprprobe.claims import Claim, Evidence, Verdict, judge
from tprprobe.data import load_data
from tprprobe.files import assets, hub
from tprprobe.scoring.baselines import BASELINES, baseline_rows
from tprprobe.scoring.faithfulness import unsupported
from tprprobe.scoring.summaries import mean_scores, score_summaries
from tprprobe.statistics import Interval, interval_text, read_interval

CONTINUOUS, TRANSFORMER, DISCRETE = MODELS = ("tpt-c", "t5", "tpt-d")
ENGLISH = "english"
TITLES = Path(__file__).parents[1] / "titles"  # models that do not ship, and what they scored
SENTENCES = ("first sentence", "random sentence")
SCORES = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L", "meteor": "METEOR"}
EXTERNAL = "jiang-external-facts"
JUDGED = {"grammatical": "grammatical", "faithful": "true of the document"}
SHOWN = SCORES | {"exact_match": "exact match"} | JUDGED

Scores = Mapping[str, Mapping[str, Interval]]  # model → score → mean


def make_page(runs: Path) -> str:
    """The page; no model is run anew, so ``runs`` stays empty."""
    found = {
        name: _read(assets.find("models", f"{name}-{ENGLISH}") / hub.EXPECTED) for name in MODELS
    }
    recompute = found[TRANSFORMER]["recompute"]
    splits = {split: _scores(found, split) for split in _splits(found)}
    titles = {name: _read(TITLES / f"{name}.json") for name in MODELS}
    documents = load_data(recompute["data"], split=recompute["split"], n=1000)
    texts = pd.DataFrame([{"source": each.source, "target": each.target} for each in documents])
    sentences = _read(TITLES / "baselines.json")["scores"]
    return write_page(
        splits,
        score_lead(texts),
        _scores(titles, "test"),
        [sentences[name] for name in SENTENCES],
        texts,
    )


def write_page(
    splits: Mapping[str, Scores],
    lead: Mapping[str, Interval],
    titles: Scores,
    sentences: Sequence[Mapping[str, Any]],
    references: pd.DataFrame,
) -> str:
    """The page of the English models' scores by split, the first sentences' and the titles', which stand
    beside those of an abstract's sentences.

    ``references`` are the documents (source) with their summaries (target).
    """
    first, random = (interval_text(read_interval(each["rougeL"], "value")) for each in sentences)
    evidence = gather_evidence(splits, lead)
    claims = sorted(claims_of("summaries"), key=lambda each: order(each, evidence.get(each.id)))
    judged = [judge(each, evidence.get(each.id)) for each in claims]
    judged = [judge_external(each, references) for each in judged]
    return fill(
        Path(__file__).parent,
        "summaries.md.j2",
        models=MODELS,
        verdicts=verdict_table(judged),
        splits=[{"name": name, "table": _table(found)} for name, found in splits.items()],
        lead=interval_text(lead["rougeL"]),
        titles=_table(titles),
        first=first,
        random=random,
    )


def _read(scores: Path) -> dict[str, Any]:
    return json.loads(scores.read_text("utf-8"))


def _splits(found: Mapping[str, Any]) -> list[str]:
    return list(found[TRANSFORMER]["scores"])


def _scores(found: Mapping[str, Any], split: str) -> Scores:
    return {
        model: {name: read_interval(row, "value") for name, row in each["scores"][split].items()}
        for model, each in found.items()
    }


def score_lead(references: pd.DataFrame) -> dict[str, Interval]:
    """The scores of the first sentences of documents."""
    found = mean_scores(score_summaries(baseline_rows(references, BASELINES[0]), english=True))
    return {str(name): read_interval(row, "value") for name, row in found.iterrows()}


# ---- claims -----------------------------------------------------------------------------------------


def gather_evidence(
    splits: Mapping[str, Scores], lead: Mapping[str, Interval]
) -> dict[str, Evidence]:
    """The evidence for the claims that the scores speak about: one seed of every model."""
    test = splits["test"]
    own, other = test[DISCRETE], test[TRANSFORMER]
    better = {
        f"{title}, {split}": minus(found[DISCRETE][name], found[TRANSFORMER][name])
        for split, found in splits.items()
        for name, title in SCORES.items()
    }
    worst = {
        f"{title}, {split}": minus(
            min((found[each][name] for each in (DISCRETE, TRANSFORMER)), key=lambda e: e.value),
            found[CONTINUOUS][name],
        )
        for split, found in splits.items()
        for name, title in SCORES.items()
    }
    cases = {
        "jiang-table2-better": better,
        "jiang-table2-cnndm": better,
        "jiang-tptc-worst": worst,
        "jiang-grammatical": {"": minus(own["grammatical"], other["grammatical"])},
        "jiang-factual": {"": minus(own["faithful"], other["faithful"])},
    }
    gates = {"transformer_beats_lead": minus(other["rougeL"], lead["rougeL"])}
    return {name: Evidence(each, "model seed", 1, gates) for name, each in cases.items()}


def judge_external(verdict: Verdict, references: pd.DataFrame) -> Verdict:
    """The verdict; of the claim on facts that references have and documents lack, why there are none to match."""
    if verdict.claim.id != EXTERNAL:
        return verdict
    pairs = zip(references["source"], references["target"], strict=True)
    having = sum(bool(unsupported(*pair)) for pair in pairs)
    told = f"{having} of {len(references):,} references of the generated English have such facts"
    return verdict if having else Verdict(verdict.claim, "not decidable here", told)


def order(claim: Claim, evidence: Evidence | None) -> int:
    """0 for a claim that some measured case speaks against, 1 where all speak for it, 2 unmeasured."""
    if evidence is None or not evidence.conditions.issuperset(claim.conditions):
        return 2
    return int(all(each.value > claim.threshold for each in evidence.cases.values()))


# ---- tables -----------------------------------------------------------------------------------------


def _table(found: Scores) -> str:
    """Every model's scores, and the differences from the Transformer."""
    rows = []
    for name, title in SHOWN.items():
        if name in found[TRANSFORMER]:
            own = {model: each[name] for model, each in found.items()}
            cells = {model: interval_text(each) for model, each in own.items()}
            differences = {
                f"{model} − {TRANSFORMER}": interval_text(
                    minus(own[model], own[TRANSFORMER]), "+.3f"
                )
                for model in (DISCRETE, CONTINUOUS)
            }
            rows.append({"score": title} | cells | differences)
    return table(rows)
