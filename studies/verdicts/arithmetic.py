"""Claims on roles of arithmetic: the evidence, made of tables, is estimates with intervals, one per case.

Where a difference is of two numbers whose intervals were found separately, its own has the sum of
their half-widths, which is no narrower than it would be if they were paired.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from studies.intervals import minus
from studies.verdicts.arithmetic_tables import Analyses, analyse
from studies.verdicts.table import claims_of
from tprpapers.claims import ROOM, Evidence, Verdict, exact, judge
from tprpapers.schlag.claim_cases import (
    mean,
    of_capture,
    of_demonstration,
    of_reconstruction,
)
from tprprobe.statistics import Interval, read_interval

RIVALS = ("uniform", "offset", "nearest")
CONTROLS = ("query", "key", "filler", "random")
PAIRINGS = "other_pairings_that_fail"
GATE, PAIR_GATE = "discordant_exact_match", "pair_exact_match"

Cases = dict[str, Interval]


def decide(runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on roles of arithmetic; intermediate results are kept in a folder."""
    evidence = gather_evidence(analyse(runs))
    for claim in claims_of("arithmetic"):
        yield "", judge(claim, evidence.get(claim.id))


def gather_evidence(analyses: Analyses) -> dict[str, Evidence]:
    """The evidence for the claims, by their ids."""
    right = analyses.naming.facts["discordant_questions"]
    gates = {GATE: Interval(right["exact_match"], *right["exact_match_interval"])}
    halves = analyses.n // 2  # what is held out of the questions; of reconstruction, a quarter
    roles = {name: (cases, halves) for name, cases in _of_roles(analyses).items()}
    of_states = of_reconstruction(analyses.reconstruction) | of_capture(analyses.captured)
    states = {name: (cases, halves // 2) for name, cases in of_states.items()}
    rooms = _rooms(analyses) | {"schlag-role-signifies-relation": _pairings(analyses)}
    evidence = {
        name: Evidence(cases, "question", units, gates | rooms.get(name, {}))
        for name, (cases, units) in (roles | _of_attention(analyses) | states).items()
        if cases
    }
    exact_evidence = {name: Evidence(cases, "exact", 1) for name, cases in _exact(analyses).items()}
    return evidence | exact_evidence | {"schlag-binding-trained": _pairs(analyses)}


# ---- roles ------------------------------------------------------------------------------------------


def _of_roles(analyses: Analyses) -> dict[str, Cases]:
    decoding = analyses.naming.decoding.query("model == 'trained' and layer == @analyses.last")
    roles = decoding[decoding["vectors"] == "role"]

    def heads(subset: str, predictor: str, name: str) -> Cases:
        rows = roles.query("subset == @subset and predictor == @predictor")
        return {f"head {row['head']}": read_interval(row, name) for row in rows.to_dict("records")}

    accuracy = {
        kind: mean([read_interval(row, "accuracy") for row in rows.to_dict("records")])
        for kind, rows in decoding.query("subset == 'all' and predictor == 'clusters'").groupby(
            "vectors"
        )
    }
    best = max(
        (accuracy[vectors] for vectors in CONTROLS if vectors in accuracy), key=lambda e: e.value
    )
    return {
        "schlag-polarity-clusters": heads("all", "adjacent", "gain"),
        "schlag-fractions-of-fractions": heads("discordant", "clusters", "accuracy"),
        "schlag-structural-clusters": heads("all", "majority", "gain"),
        "schlag-ones-digit-roles": _ones(analyses),
        "schlag-role-specific": {"": minus(accuracy["role"], best)},
    }


def _ones(analyses: Analyses) -> Cases:
    """The best cluster of ones digits in every head; of the two polarities the worse."""
    rows = analyses.naming.ones.query(
        "model == 'trained' and vectors == 'role' and layer == @analyses.last"
    )
    return {
        f"head {head}": min(
            (read_interval(row, "precision") for row in polarities.to_dict("records")),
            key=lambda estimate: estimate.low,
        )
        for head, polarities in rows.groupby("head")
    }


# ---- attention --------------------------------------------------------------------------------------


def _of_attention(analyses: Analyses) -> dict[str, tuple[Cases, int]]:
    """The evidence on attention: its cases, and the number of questions."""
    coupled = analyses.coupling.query("layer == @analyses.last")
    advantages = {
        f"head {row['head']}": read_interval(row, "advantage") for row in coupled.to_dict("records")
    }
    return {
        "schlag-role-signifies-relation": (advantages, analyses.maps),
        "schlag-second-argument-to": _scores(analyses, "rows", "mass", beyond=True),
        "schlag-second-argument-of": _scores(analyses, "columns", "mass", beyond=True),
        "schlag-good-approximation": _scores(analyses, "rows", "argmax_accuracy"),
        "schlag-skipped-numerator": _scores(analyses, "rows", "skip"),
        "schlag-skipped-beyond-offset": _scores(analyses, "rows", "skip", beyond=True),
    }


def _pairings(analyses: Analyses) -> Cases:
    """The share of other pairings of heads in which the claim would fail."""
    coupled = analyses.coupling.query("layer == @analyses.last")
    return {PAIRINGS: exact(1 - float(coupled["pairings"].iloc[0]))}


def _scores(analyses: Analyses, way: str, score: str, beyond: bool = False) -> tuple[Cases, int]:
    """The last layer's heads on the net gold structure: their scores beyond the best baseline."""
    rows = analyses.relations.query(
        "way == @way and score == @score and gold == 'net' and not untrained"
    ).copy()
    estimates: list[Any] = [*map(Interval, rows["value"], rows["low"], rows["high"])]
    rows["estimate"] = pd.Series(estimates, rows.index)
    heads = rows[(rows["source"] == "head") & (rows["layer"] == analyses.last)]
    cases = {f"head {row['head']}": row["estimate"] for row in heads.to_dict("records")}
    if beyond:
        best = max(
            rows.loc[rows["source"].isin(RIVALS), "estimate"], key=lambda estimate: estimate.value
        )
        cases = {name: minus(name_, best) for name, name_ in cases.items()}
    return cases, int(heads["n_questions"].max()) if cases else 0


def _rooms(analyses: Analyses) -> dict[str, dict[str, Interval]]:
    """The room that the best baseline leaves up to 1, for claims that ask a head to beat it."""
    baselines = analyses.relations.query("gold == 'net' and not untrained and source in @RIVALS")
    best = baselines.groupby(["way", "score"])["value"].max()
    place_of = {
        "schlag-second-argument-to": ("rows", "mass"),
        "schlag-second-argument-of": ("columns", "mass"),
        "schlag-skipped-beyond-offset": ("rows", "skip"),
    }
    return {
        name: {ROOM: exact(1 - float(best[place]))}
        for name, place in place_of.items()
        if place in best.index
    }


# ---- states -----------------------------------------------------------------------------------------


def _pairs(analyses: Analyses) -> Evidence:
    """The evidence on two models of one recipe, with one seed each: shown, but it decides nothing."""
    rows = analyses.pairs.query("bar == 'middle' and not untrained").sort_values("depth")
    deepest = {row["model"]: row for row in rows.to_dict("records")}
    tp, transformer = deepest["tp"], deepest["transformer"]
    difference = minus(
        read_interval(tp, "paired_accuracy"), read_interval(transformer, "paired_accuracy")
    )
    able = min(
        (read_interval(row, "exact_match") for row in (tp, transformer)), key=lambda e: e.low
    )
    return Evidence({"": difference}, "model seed", 1, {PAIR_GATE: able})


# ---- exact ------------------------------------------------------------------------------------------


def _exact(analyses: Analyses) -> dict[str, Cases]:
    degree = analyses.degrees[analyses.degrees["layer"] == 3].set_index("attention")["degree"]
    weights = {name: count / 1e6 for name, count in analyses.weights.items()}
    return of_demonstration(analyses.demonstration) | {
        "schlag-polynomial-degree": {"": exact(float(degree["tp"] - degree["standard"]))},
        "schlag-crucial-property": {
            row["binding"]: exact(row["equal"]) for row in analyses.swaps.to_dict("records")
        },
        "schlag-weights-b": {"": exact(weights["transformer"] - weights["tp-transformer-b"])},
        "schlag-weights-c": {"": exact(weights["tp-transformer-c"])},
    }
