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
from tprpapers.schlag.binding_drawings import binding_table, demonstration_table
from tprpapers.schlag.hadamard_drawings import capture_table
from tprpapers.schlag.reconstruction_drawings import reconstruction_table
from tprpapers.worlds.mathematics.polarity_tables import COUNTS, heads_table, polarity_table
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.statistics import Interval, interval_text, read_interval, wilson

BEHIND = {
    "adjacent": "right after '/'",
    "surface": "'/', '/(' or '/(-'",
    "distant": "'/' and any brackets",
}
HEADS = ["layer", "head"]
EXACT = "exact"  # the unit of claims that algebra or arithmetic decides, and no measurement


def make_page(runs: Path) -> str:
    """The page; intermediate results are kept in a folder."""
    return write_page(tables.analyse(runs))


def write_page(found: Analyses) -> str:
    """The page."""
    evidence = gather_evidence(found)
    verdicts = [judge(claim, evidence.get(claim.id)) for claim in claims_of("arithmetic")]
    return fill(
        Path(__file__).parent,
        "arithmetic.md.j2",
        **_describe(found, verdicts),
        verdicts=verdict_table(verdicts),
        names=_names(found),
        named=_clusters(found),
        polarity=_polarity(found),
        rules=_rules(found),
        beyond=_beyond(found),
        ones=_ones(found),
        projections=tables.PROJECTIONS,
        nearest=_nearest(found),
        best_below=_best_below(found),
        relations=_relations(found),
        coupling=_coupling(found),
        **_states(found),
    )


def _describe(found: Analyses, verdicts: list[Verdict]) -> dict[str, Any]:
    """A description of the models and questions that were measured."""
    facts = found.naming.facts
    measured = [each for each in verdicts if each.claim.unit != EXACT]
    shown = [each for each in verdicts if each.claim.unit == EXACT]
    return {
        "model": tables.MODEL,
        "baseline": tables.BASELINE,
        "data": tables.DATA,
        "split": tables.SPLIT,
        "seed": tables.SEED,
        "k": tables.K,
        "n": found.n,
        "maps": found.maps,
        "answered": _share(facts["questions"]),
        "discordant": facts["discordant_questions"]["n"],
        "discordant_answered": _share(facts["discordant_questions"]),
        "trained": found.questions["trained"].mean(),
        "untrained_answered": _answered(found.questions[~found.questions["trained"]]),
        "claims": len(verdicts),
        "measured": len(measured),
        "outcomes": _count(measured),
        "shown": len(shown),
        "shown_outcomes": _count(shown),
    }


def _count(verdicts: list[Verdict]) -> str:
    counts = pd.Series([each.outcome for each in verdicts]).value_counts()
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


# ---- names ------------------------------------------------------------------------------------------


def _names(found: Analyses) -> str:
    return table(heads_table(found.naming).cells.loc[:, "layer":"stability (ARI)"])


def _clusters(found: Analyses) -> str:
    """The named clusters of every head, the largest share of tokens first."""
    names = found.naming.clusters
    named = names[names["name"] != UNNAMED]
    order = named.sort_values([*HEADS, "coverage"], ascending=[True, True, False])
    rows = [
        {name: str(row[name]) for name in ("layer", "head", "cluster", "name")}
        | {name: f"{row[name]:.2f}" for name in ("precision", "recall")}
        for row in order.to_dict("records")
    ]
    return table(rows) if rows else "No cluster has a name."


# ---- polarity ---------------------------------------------------------------------------------------


def _polarity(found: Analyses) -> str:
    return table(polarity_table(found.naming).cells.drop(columns=["k", *COUNTS]))


def _rules(found: Analyses) -> str:
    """The gain of the last layer's clusters over each rule, roles by head and controls together."""
    decoding = found.naming.decoding.query(
        "model == 'trained' and layer == @found.last and subset == 'all'"
    )
    gains = decoding[decoding["predictor"].isin([*BEHIND])]
    return table(
        [
            {"vectors": vectors}
            | {
                BEHIND[str(rule)]: _several(rows, "gain")
                for rule, rows in each.groupby("predictor", sort=False)
            }
            for vectors, each in _by_vectors(gains)
        ]
    )


def _beyond(found: Analyses) -> dict[str, int]:
    """How many heads of roles, in the last layer, are beyond each rule (their interval above 0) and
    beyond the best random projection.
    """
    decoding = found.naming.decoding.query(
        "model == 'trained' and layer == @found.last and subset == 'all'"
    )
    gains = decoding[decoding["predictor"].isin([*BEHIND])]
    roles = gains[gains["vectors"] == "role"]
    counts = {
        str(rule): int((rows["gain_low"] > 0).sum()) for rule, rows in roles.groupby("predictor")
    }
    own, random = (
        gains.query("vectors == @name and predictor == 'adjacent'")["gain"]
        for name in ("role", "random")
    )
    return counts | {"heads": len(own), "random": int((own > random.max()).sum())}


def _ones(found: Analyses) -> str:
    """The precision of the best clusters of ones digits, of the same vectors."""
    ones = found.naming.ones.query("model == 'trained' and layer == @found.last")
    return table(
        [
            {"vectors": vectors}
            | {
                f"ones digits of {polarity}s": _several(rows, "precision")
                for polarity, rows in each.groupby("polarity", sort=False)
            }
            for vectors, each in _by_vectors(ones)
        ]
    )


def _by_vectors(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of every head of the roles, then of every control with its heads together."""
    for (vectors, head), each in rows[rows["vectors"] == "role"].groupby(["vectors", "head"]):
        yield f"{vectors}, head {head}", each
    for vectors, each in rows[rows["vectors"] != "role"].groupby("vectors", sort=False):
        yield f"{vectors} (least to most of {len(each.drop_duplicates('head'))})", each


def _several(rows: pd.DataFrame, name: str) -> str:
    """One estimate with its interval, or the mean of several and how far they reach."""
    values = rows[name]
    if len(values) == 1:
        return interval_text(read_interval(rows.iloc[0], name))
    return f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"


# ---- attention --------------------------------------------------------------------------------------


def _nearest(found: Analyses) -> float:
    """The share of digits whose nearest '/' is the gold target."""
    rows = found.relations.query(
        "source == 'nearest' and way == 'rows' and gold == 'net' and score == 'mass' and not untrained"
    )
    return rows["value"].iloc[0]


def _best_below(found: Analyses) -> dict[str, Any]:
    """The head below the last layer that looks most from digits to their '/': its place, its
    scores.
    """
    rows = found.relations.query(
        "source == 'head' and way == 'rows' and gold == 'net' and layer < @found.last and not untrained"
    )
    mass = rows[rows["score"] == "mass"]
    best: Any = mass.iloc[mass["value"].argmax()]
    own = rows[(rows["layer"] == best["layer"]) & (rows["head"] == best["head"])]
    scores = {
        str(row["score"]): interval_text(read_interval(row)) for row in own.to_dict("records")
    }
    return scores | {"layer": best["layer"], "head": best["head"]}


def _relations(found: Analyses) -> str:
    chosen = found.relations[found.relations["score"].isin(["mass", "argmax_accuracy", "skip"])]
    return table(
        [
            {
                "way": str(way),
                "gold": str(gold),
                "score": str(score).replace("_", " "),
                **_heads(rows, found.last),
            }
            for (way, gold, score), rows in chosen.groupby(["way", "gold", "score"], sort=False)
        ]
    )


def _coupling(found: Analyses) -> str:
    return table(
        [
            {
                "layer": str(row["layer"]),
                "head": str(row["head"]),
                "attended": row["attended"],
                "information": interval_text(read_interval(row, "information")),
                "share of entropy": f"{row['share']:.0%}",
                "permuted": f"{row['chance']:.3f}",
                "other heads": f"{row['others']:.3f}",
                "advantage": interval_text(read_interval(row, "advantage")),
                "other pairings": f"{row['pairings']:.0%}",
            }
            for row in found.coupling.to_dict("records")
        ]
    )


def _heads(rows: pd.DataFrame, last: int) -> dict[str, str]:
    trained, twin = rows[~rows["untrained"]], rows[rows["untrained"]]
    heads = trained[trained["source"] == "head"]
    of_last, below = heads[heads["layer"] == last], heads[heads["layer"] < last]
    best: Any = below.iloc[below["value"].argmax()]
    fixed = {
        name: "–" if found.empty else f"{found['value'].iloc[0]:.3f}"
        for name in ("uniform", "offset", "nearest")
        for found in [trained[trained["source"] == name]]
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


# ---- states -----------------------------------------------------------------------------------------


def _states(found: Analyses) -> dict[str, str]:
    shown = {
        "reconstruction": reconstruction_table(found.reconstruction),
        "demonstration": demonstration_table(found.demonstration, found.degrees),
        "pairs": binding_table(found.pairs),
        "captured": capture_table(found.captured),
    }
    return {name: each.markdown().rstrip("\n") for name, each in shown.items()}


# ---- texts ------------------------------------------------------------------------------------------


def _answered(questions: pd.DataFrame) -> str:
    """The share of questions that are answered right."""
    return interval_text(wilson(int(questions["right"].sum()), len(questions)), ".1%")


def _share(fact: Mapping[str, Any]) -> str:
    return interval_text(Interval(fact["exact_match"], *fact["exact_match_interval"]), ".1%")
