"""Verdicts on what the papers claim, by rules that were written down before the measurements.

``claims.toml`` has the claims; a measurement is an estimate with its 95 % interval [low, high].

1. Nothing measured: undecided, or not decidable here where the claim needs the paper's size, its
   corpora or human raters (OUT_OF_REACH). Measured where a condition of the claim is not met: not
   comparable.
2. A gate (what the model must be able to do first) whose measured lower bound is below what the
   claim asks, or that was not measured: undecided. So too with an interval over another unit than
   the claim's, over fewer units than it asks, or with no interval.
3. Where what a claim must beat leaves less than LEAST_ROOM up to the highest possible score, nothing
   could hold; where the alternative could not have occurred (``void``), nothing could fail: not
   decidable here.
4. One number, against the threshold t:
       greater   holds if low > t              fails if high ≤ t
       less      holds if high < t             fails if low ≥ t
       equal     holds if [low, high] lies within t ± margin, fails if it lies outside
   and is undecided otherwise. A bound that decides by less than ROUNDING (half of the last digit that is
   shown) decides nothing, unless the number is exact. A claim on a difference names the least one that
   ``counts``: an estimate that is nearer to t than that decides nothing either.
5. Of several cases ``every`` holds if all hold and fails if one fails; ``some`` holds if one holds
   and fails if all fail. Where one of m cases decides, intervals are widened from 95 % to 1 − 5 %/m
   (Bonferroni; the bounds' distances from the estimate grow as the quantiles of their distribution).
6. Where the same cases are measured ``beside`` by another estimate of their error (between seeds: that of the
   compared variants alone, Welch, beside that pooled over all) and the two decide otherwise: undecided.

What was measured is shown whatever keeps it from deciding.

So a wider interval never turns undecided into a decision, nor a decision into its opposite.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator
from scipy import stats

from tprprobe.errors import InputError, unknown
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.statistics import Interval, interval_text

FILE = "claims.toml"
PAPERS = ("schlag", "jiang", "huang", "mccoy")
LEVEL = 0.95
SCOPES = {"every": "each", "some": "at least one"}  # as a reason says it
ROUNDING = 0.0005
ROOM, LEAST_ROOM = "room_above_baseline", 0.01  # what the best baseline leaves to beat it by
OUT_OF_REACH = {  # conditions that no small model and no generated world meets
    "56 modules",
    "the paper's size and steps",
    "human raters",
    "six layers",
    "XSum",
    "Wikihow",
    "XSum and Wikihow",
    "XSum, Arxiv, Wikihow and CNN/Daily Mail",
}

Text = Annotated[str, Field(min_length=1)]
Outcome = Literal["holds", "fails", "undecided", "not comparable", "not decidable here"]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class Amendment(Settings, strict=True):
    """A change of a claim after it was written: date, commit and reason."""

    date: Day
    commit: Text
    why: Text


class Claim(Settings, strict=True):
    """One claim of a paper, and what decides it (see the head of ``claims.toml``)."""

    id: Annotated[str, Field(pattern=rf"^({'|'.join(PAPERS)})(-[a-z0-9]+)+$")]
    paper: Literal[
        "schlag2020-final",
        "schlag2019-first",
        "schlag2019-workshop",
        "jiang2021",
        "huang2018",
        "mccoy2019",
    ]
    where: Text
    quotation: Text
    statistic: Text
    direction: Literal["greater", "less", "equal"]
    threshold: float = 0.0
    margin: Annotated[float, Field(ge=0)] | None = None
    counts: Annotated[float, Field(gt=0)] | None = None
    over: Literal["one", "every", "some"] = "one"
    unit: Literal["question", "document", "model seed", "run", "exact"]
    units: Annotated[int, Field(gt=0)] = 1
    gates: dict[str, float] = Field(default_factory=dict)
    conditions: list[Text] = Field(default_factory=list)
    printed: str = ""
    ours: bool = False
    written: Day
    amended: list[Amendment] = Field(default_factory=list)

    @model_validator(mode="after")
    def _consistent(self) -> "Claim":
        if (self.direction == "equal") != (self.margin is not None):
            raise ValueError("a margin belongs to direction 'equal', and to no other")
        if self.direction == "equal" and self.counts is not None:
            raise ValueError(
                "what counts as a difference belongs to directions 'greater' and 'less'"
            )
        if not self.paper.startswith(self.id.partition("-")[0]):
            raise ValueError(f"the id is of another paper than {self.paper}")
        return self


class _File(Settings):
    claim: list[Claim]


@dataclass(frozen=True)
class Evidence:
    """The measurement behind a verdict: one estimate per case, and the unit of its intervals.

    ``beside`` has the same cases with the error of another estimate of it.
    """

    cases: Mapping[str, Interval]
    unit: str
    units: int
    gates: Mapping[str, Interval] = field(default_factory=dict)
    conditions: frozenset[str] = frozenset()
    void: str = ""  # why nothing else could have been measured
    alternatives: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The outcome of judging a claim by its evidence, and the reason."""

    claim: Claim
    outcome: Outcome
    reason: str


def exact(value: float) -> Interval:
    """A number that has no error: it is its own interval."""
    return Interval(value, value, value)


def load_claims(path: Path | None = None) -> dict[str, Claim]:
    """The claims by id, of a file like the ``claims.toml`` that is the default.

    Raises:
        InputError: no TOML, an unknown key, a wrong value, an id twice.
    """
    return _shipped() if path is None else _read(path)


@cache
def _shipped() -> dict[str, Claim]:
    return _read(Path(__file__).with_name(FILE))


def _read(path: Path) -> dict[str, Claim]:
    claims = parse(_File, read_toml(path), path.name).claim
    claims_by_id = {claim.id: claim for claim in claims}
    if len(claims_by_id) != len(claims):
        ids = [claim.id for claim in claims]
        raise InputError(
            f"{path.name} has {max(ids, key=ids.count)!r} twice: an id names one claim"
        )
    return claims_by_id


def find_claim(name: str) -> Claim:
    """The claim of that id.

    Raises:
        InputError: there is none (the nearest is suggested).
    """
    claims = load_claims()
    if name not in claims:
        raise unknown("claim", name, claims)
    return claims[name]


def judge(claim: Claim, evidence: Evidence | None) -> Verdict:
    """The outcome by the rules above, and why.

    Raises:
        InputError: evidence with no case, or with several for a claim about one number.
    """
    if evidence is None:
        return _unmeasured(claim)
    if not evidence.cases or (claim.over == "one" and len(evidence.cases) > 1):
        raise InputError(f"{claim.id} is over {claim.over} case, given {len(evidence.cases)}")
    numbers = _explain(claim, evidence)
    if missing := [
        condition for condition in claim.conditions if condition not in evidence.conditions
    ]:
        reason = f"{numbers}; the claim is about: {', '.join(missing)}"
        return Verdict(claim, "not comparable", reason)
    if unmet := _unmet(claim, evidence):
        return Verdict(claim, "undecided", f"{numbers}; {unmet}")
    if evidence.void:
        return Verdict(claim, "not decidable here", f"{numbers}; {evidence.void}")
    room = evidence.gates.get(ROOM)
    if room is not None and room.value < LEAST_ROOM:
        reason = f"{numbers}; the best baseline leaves {room.value:.3f} to beat it by"
        return Verdict(claim, "not decidable here", reason)
    outcome = _decide(claim, list(evidence.cases.values()))
    if evidence.alternatives and _decide(claim, list(evidence.alternatives.values())) != outcome:
        alternative = _explain(
            claim, Evidence(evidence.alternatives, evidence.unit, evidence.units)
        )
        reason = f"{numbers}; by the spread of the compared variants alone {alternative.rpartition(' (')[0]}"
        return Verdict(claim, "undecided", f"{reason}: the two decide otherwise")
    if outcome == "undecided":
        numbers += _explain_widened(claim, evidence.cases)
        if _decide(claim, list(evidence.cases.values()), 0.0) != outcome:
            rounding = max(claim.counts or 0.0, ROUNDING)
            numbers += f"; what is within {rounding:g} of that decides nothing"
    return Verdict(claim, outcome, numbers)


def _unmeasured(claim: Claim) -> Verdict:
    """The verdict without a measurement."""
    unreachable = [condition for condition in claim.conditions if condition in OUT_OF_REACH]
    if not unreachable:
        return Verdict(claim, "undecided", "not measured")
    return Verdict(claim, "not decidable here", f"not measured: it needs {', '.join(unreachable)}")


def _unmet(claim: Claim, evidence: Evidence) -> str:
    """The condition of a claim that the evidence does not meet; an empty text if it meets all."""
    for name, threshold in claim.gates.items():
        gate, words = evidence.gates.get(name), name.replace("_", " ")
        if gate is None:
            return f"{words} was not measured"
        if not gate.low >= threshold:
            return f"{words} {_show(gate)}, must be at least {threshold:g}"
    if evidence.unit != claim.unit:
        return f"an interval over {evidence.unit}s; it must be over {claim.unit}s"
    if evidence.units < claim.units:
        return f"{evidence.units} {claim.unit}(s), must be at least {claim.units}"
    return ""


def _decide(claim: Claim, cases: list[Interval], rounding: float = ROUNDING) -> Outcome:
    by_all, by_one = ("fails", "holds") if claim.over == "some" else ("holds", "fails")
    if any(_decides_alone(claim, case, len(cases), rounding) for case in cases):
        return by_one
    outcomes = {_compare(claim, case, rounding) for case in cases}
    return by_all if outcomes == {by_all} else "undecided"


def _decides_alone(claim: Claim, case: Interval, cases: int, rounding: float = ROUNDING) -> bool:
    """True for a case that speaks for "some", or against "every" and "one", whatever the others say."""
    outcome = "holds" if claim.over == "some" else "fails"
    return _compare(claim, _widen(case, cases), rounding) == outcome


def _compare(claim: Claim, estimate: Interval, rounding: float) -> Outcome:
    """The verdict on one number; an interval that is NaN or too near to the threshold decides nothing."""
    t, low, high = claim.threshold, estimate.low, estimate.high
    near = rounding if low < high else 0.0
    if claim.margin is not None:
        holds = t - claim.margin + near <= low and high <= t + claim.margin - near
        fails = low > t + claim.margin + near or high < t - claim.margin - near
        return "holds" if holds else "fails" if fails else "undecided"
    counts = (claim.counts or 0.0) if rounding and low < high else 0.0
    value = estimate.value
    if claim.direction == "less":
        t, value, low, high = -t, -value, -high, -low
    holds = low > t + near and value >= t + counts
    fails = high <= t - near and value <= t - counts
    return "holds" if holds else "fails" if fails else "undecided"


def _widen(estimate: Interval, cases: int) -> Interval:
    """The interval at level 1 − 5 %/cases, of the same distribution."""
    wide, plain = stats.t.ppf((1 - LEVEL) / 2 / np.array([cases, 1]), estimate.df)
    factor = wide / plain
    value = estimate.value
    low, high = (value + factor * (bound - value) for bound in (estimate.low, estimate.high))
    return Interval(value, low, high, df=estimate.df)


def _explain_widened(claim: Claim, cases: Mapping[str, Interval]) -> str:
    """The widened intervals of cases that would decide alone if there were no others."""
    decide = {name: case for name, case in cases.items() if _decides_alone(claim, case, 1)}
    widened = [f"{name} {_show(_widen(case, len(cases)))}" for name, case in decide.items()]
    level = f"{100 * (1 - (1 - LEVEL) / len(cases)):.1f} %"
    reason = f"; to decide alone, one of {len(cases)} needs {level}: {'; '.join(widened)}"
    return reason if widened else ""


def _explain(claim: Claim, evidence: Evidence) -> str:
    """The numbers as text: up to three cases, else the least, the most and one that decides alone."""
    target = {"greater": "above", "less": "below", "equal": "equal to"}[claim.direction]
    cases = sorted(evidence.cases.items(), key=lambda case: case[1].value)
    texts = [f"{name} {_show(interval)}".strip() for name, interval in cases]
    if len(texts) > 3:
        deciding = [
            text
            for text, (_, interval) in zip(texts, cases, strict=True)
            if _decides_alone(claim, interval, len(cases))
        ]
        hidden = deciding[:1] if {texts[0], texts[-1]}.isdisjoint(deciding) else []
        between = [f"deciding {text}" for text in hidden]
        texts = [f"least {texts[0]}", *between, f"most {texts[-1]}"]
    numbers = "; ".join(texts)
    scope = f"{SCOPES[claim.over]} of {len(cases)} " if claim.over != "one" else ""
    margin = f" ± {claim.margin:g}" if claim.margin else ""
    return f"{numbers} ({scope}must be {target} {claim.threshold:g}{margin})"


def _show(estimate: Interval) -> str:
    if estimate.low == estimate.high:
        return f"{estimate.value:.4g}"
    return interval_text(estimate)
