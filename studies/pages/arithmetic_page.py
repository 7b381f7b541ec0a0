"""The page on roles in arithmetic: tables and verdicts, every number from the analyses."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from studies.pages import arithmetic_tables as tables
from studies.pages.arithmetic_estimates import gather_evidence
from studies.pages.arithmetic_tables import Analyses
from studies.pages.markdown import verdict_table
from studies.pages.verdicts import claims_of
from studies.templates import fill, table
from tprpapers.claims import Verdict, judge
from tprprobe.statistics import Interval, interval_text, read_interval, wilson

BEHIND = {
    "adjacent": "right after '/'",
    "surface": "'/', '/(' or '/(-'",
    "distant": "'/' and any brackets",
}
EXACT = "exact"  # the unit of claims that algebra or arithmetic decides, and no measurement


def make_page(runs: Path) -> str:
    """The page; intermediate results are kept in a folder."""
    return write_page(tables.analyse(runs))


def write_page(analyses: Analyses) -> str:
    """The page."""
    evidence = gather_evidence(analyses)
    verdicts = [judge(claim, evidence.get(claim.id)) for claim in claims_of("arithmetic")]
    return fill(
        Path(__file__).parent,
        "arithmetic.md.j2",
        **_describe(analyses, verdicts),
        verdicts=verdict_table(verdicts),
        rules=_rules(analyses),
        beyond=_beyond(analyses),
        projections=tables.PROJECTIONS,
        nearest=_nearest(analyses),
        best_below=_best_below(analyses),
        relations=_relations(analyses),
    )


def _describe(analyses: Analyses, verdicts: list[Verdict]) -> dict[str, Any]:
    """A description of the models and questions that were measured."""
    facts = analyses.naming.facts
    measured = [verdict for verdict in verdicts if verdict.claim.unit != EXACT]
    exact_verdicts = [verdict for verdict in verdicts if verdict.claim.unit == EXACT]
    return {
        "model": tables.MODEL,
        "baseline": tables.BASELINE,
        "data": tables.DATA,
        "split": tables.SPLIT,
        "seed": tables.SEED,
        "k": tables.K,
        "n": analyses.n,
        "maps": analyses.maps,
        "answered": _share(facts["questions"]),
        "discordant": facts["discordant_questions"]["n"],
        "discordant_answered": _share(facts["discordant_questions"]),
        "trained": analyses.questions["trained"].mean(),
        "untrained_answered": _answered(analyses.questions[~analyses.questions["trained"]]),
        "claims": len(verdicts),
        "measured": len(measured),
        "outcomes": _count(measured),
        "shown": len(exact_verdicts),
        "shown_outcomes": _count(exact_verdicts),
    }


def _count(verdicts: list[Verdict]) -> str:
    counts = pd.Series([verdict.outcome for verdict in verdicts]).value_counts()
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def _rules(analyses: Analyses) -> str:
    """The gain of the last layer's clusters over each rule, roles by head and controls together."""
    decoding = analyses.naming.decoding.query(
        "model == 'trained' and layer == @analyses.last and subset == 'all'"
    )
    gains = decoding[decoding["predictor"].isin([*BEHIND])]
    return table(
        [
            {"vectors": vectors}
            | {
                BEHIND[str(rule)]: _several(rows, "gain")
                for rule, rows in of_vectors.groupby("predictor", sort=False)
            }
            for vectors, of_vectors in _by_vectors(gains)
        ]
    )


def _beyond(analyses: Analyses) -> dict[str, int]:
    """How many heads of roles, in the last layer, are beyond each rule (their interval above 0) and
    beyond the best random projection.
    """
    decoding = analyses.naming.decoding.query(
        "model == 'trained' and layer == @analyses.last and subset == 'all'"
    )
    gains = decoding[decoding["predictor"].isin([*BEHIND])]
    roles = gains[gains["vectors"] == "role"]
    counts = {
        str(rule): int((rows["gain_low"] > 0).sum()) for rule, rows in roles.groupby("predictor")
    }
    role_gains, random = (
        gains.query("vectors == @name and predictor == 'adjacent'")["gain"]
        for name in ("role", "random")
    )
    return counts | {"heads": len(role_gains), "random": int((role_gains > random.max()).sum())}


def _by_vectors(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of every head of the roles, then of every control with its heads together."""
    for (vectors, head), group in rows[rows["vectors"] == "role"].groupby(["vectors", "head"]):
        yield f"{vectors}, head {head}", group
    for vectors, group in rows[rows["vectors"] != "role"].groupby("vectors", sort=False):
        yield f"{vectors} (least to most of {len(group.drop_duplicates('head'))})", group


def _several(rows: pd.DataFrame, name: str) -> str:
    """One estimate with its interval, or the mean of several and how far they reach."""
    values = rows[name]
    if len(values) == 1:
        return interval_text(read_interval(rows.iloc[0], name))
    return f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"


# ---- attention --------------------------------------------------------------------------------------


def _nearest(analyses: Analyses) -> float:
    """The share of digits whose nearest '/' is the gold target."""
    rows = analyses.relations.query(
        "source == 'nearest' and way == 'rows' and gold == 'net' and score == 'mass' and not untrained"
    )
    return rows["value"].iloc[0]


def _best_below(analyses: Analyses) -> dict[str, Any]:
    """The head below the last layer that looks most from digits to their '/': its place, its
    scores.
    """
    rows = analyses.relations.query(
        "source == 'head' and way == 'rows' and gold == 'net' and layer < @analyses.last and not untrained"
    )
    mass = rows[rows["score"] == "mass"]
    best: Any = mass.iloc[mass["value"].argmax()]
    head_rows = rows[(rows["layer"] == best["layer"]) & (rows["head"] == best["head"])]
    scores = {
        str(row["score"]): interval_text(read_interval(row)) for row in head_rows.to_dict("records")
    }
    return scores | {"layer": best["layer"], "head": best["head"]}


def _relations(analyses: Analyses) -> str:
    selected = analyses.relations[
        analyses.relations["score"].isin(["mass", "argmax_accuracy", "skip"])
    ]
    return table(
        [
            {
                "way": str(way),
                "gold": str(gold),
                "score": str(score).replace("_", " "),
                **_heads(rows, analyses.last),
            }
            for (way, gold, score), rows in selected.groupby(["way", "gold", "score"], sort=False)
        ]
    )


def _heads(rows: pd.DataFrame, last_layer: int) -> dict[str, str]:
    trained, twin = rows[~rows["untrained"]], rows[rows["untrained"]]
    heads = trained[trained["source"] == "head"]
    of_last, below = heads[heads["layer"] == last_layer], heads[heads["layer"] < last_layer]
    best: Any = below.iloc[below["value"].argmax()]
    fixed = {
        name: "–" if baseline_rows.empty else f"{baseline_rows['value'].iloc[0]:.3f}"
        for name in ("uniform", "offset", "nearest")
        for baseline_rows in [trained[trained["source"] == name]]
    }
    null = trained[trained["source"] == "shuffled"]
    best_twin = twin.loc[twin["source"] == "head", "value"].max()
    return {
        **{
            f"head {row['head']}": interval_text(read_interval(row))
            for row in of_last.to_dict("records")
        },
        "best below": interval_text(read_interval(best)),
        **fixed,
        "shuffled heads, 97.5 %": f"{null['high'].iloc[0]:.3f}",
        "best untrained": "–" if twin.empty else f"{best_twin:.3f}",
    }


# ---- texts ------------------------------------------------------------------------------------------


def _answered(questions: pd.DataFrame) -> str:
    """The share of questions that are answered right."""
    return interval_text(wilson(int(questions["right"].sum()), len(questions)), ".1%")


def _share(fact: Mapping[str, Any]) -> str:
    return interval_text(Interval(fact["exact_match"], *fact["exact_match_interval"]), ".1%")
