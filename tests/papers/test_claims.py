"""Claims: quotations are the papers' words; verdicts follow from intervals, and only from these."""

import hashlib
import itertools
import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tprpapers.claims import ROOM, Claim, Evidence, exact, judge, load_claims
from tprprobe.errors import InputError
from tprprobe.statistics import Interval

numbers = st.floats(-2, 2).map(lambda x: round(x, 3))
widths = st.floats(0, 2).map(lambda x: round(x, 3))


def claim(**changes: object) -> Claim:
    fields = {"id": "schlag-test", "paper": "schlag2020-final", "where": "Sec. 5"}
    fields |= {"quotation": "words", "statistic": "a number", "direction": "greater"}
    fields |= {"unit": "question", "written": "2026-01-01"}
    return Claim.model_validate(fields | changes)


@st.composite
def claims(draw: st.DrawFn, over: tuple[str, ...] = ("one", "every", "some")) -> Claim:
    direction = draw(st.sampled_from(["greater", "less", "equal"]))
    margin = draw(widths) if direction == "equal" else None
    return claim(
        direction=direction,
        margin=margin,
        threshold=draw(numbers),
        over=draw(st.sampled_from(over)),
    )


@st.composite
def estimates(draw: st.DrawFn) -> Interval:
    value = draw(numbers)
    return Interval(value, value - draw(widths), value + draw(widths))


def outcome(judged_claim: Claim, *cases: Interval, **changes: object) -> str:
    fields = {"unit": judged_claim.unit, "units": 500} | changes
    evidence = Evidence({str(i): case for i, case in enumerate(cases)}, **fields)  # pyright: ignore
    return judge(judged_claim, evidence).outcome


def wider(estimate: Interval, below: float, above: float) -> Interval:
    return Interval(estimate.value, estimate.low - below, estimate.high + above)


# ---- the file ---------------------------------------------------------------------------------------


def letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def test_every_quotation_is_in_its_paper(shared: Path):
    texts = {
        paper: letters((shared / "papers" / f"{paper}.txt").read_text("utf-8"))
        for paper in {a_claim.paper for a_claim in load_claims().values()}
        if (shared / "papers" / f"{paper}.txt").is_file()
    }
    assert {"schlag2020-final", "jiang2021", "huang2018"} <= texts.keys()
    for name, a_claim in load_claims().items():
        if a_claim.paper not in texts:
            continue
        for passage in a_claim.quotation.split("…"):
            assert letters(passage), name
            assert letters(passage) in texts[a_claim.paper], (name, passage)


def digest(digested: Claim) -> str:
    """What a change of anything that decides a claim changes."""
    fields = digested.model_dump(exclude={"id", "where", "printed", "ours", "written", "amended"})
    if fields["counts"] is None:  # a field that claims on differences got later
        del fields["counts"]
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]


def test_no_claim_is_changed_silently():
    """Every version of a claim stands in the file of versions, and every change in the claim."""
    versions = json.loads((Path(__file__).parent / "claims_versions.json").read_text("utf-8"))
    claims = load_claims()
    assert versions.keys() <= claims.keys()
    for name, a_claim in claims.items():
        assert digest(a_claim) in versions.get(name, [])[-1:], (
            f"{name} is new or was changed: say a change under `amended`, and add the digest {digest(a_claim)} "
            "to claims_versions.json"
        )
        assert len(versions[name]) == 1 + len(a_claim.amended), name
    assert {name for name, a_claim in claims.items() if a_claim.amended} >= {
        "schlag-structural-clusters",
        "schlag-hadamard-optimal",
        "schlag-ones-digit-roles",
    }


def write(path: Path, **changes: object) -> Path:
    rows = (
        claim().model_dump(exclude_none=True, exclude={"gates", "conditions", "amended"}) | changes
    )
    text = "\n".join(f"{key} = {_toml(value)}" for key, value in rows.items())
    path.write_text(f"[[claim]]\n{text}\n", "utf-8")
    return path


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


@pytest.mark.parametrize(
    "changes",
    [
        {"margin": 0.1},
        {"direction": "equal"},
        {"id": "jiang-test"},
        {"id": "other-test"},
        {"quotation": ""},
        {"treshold": 0.1},
        {"unit": "token"},
    ],
)
def test_what_is_no_claim_is_refused(tmp_path: Path, changes: dict[str, object]):
    assert load_claims(write(tmp_path / "good.toml"))
    with pytest.raises(InputError, match=r"bad\.toml"):
        load_claims(write(tmp_path / "bad.toml", **changes))


def test_a_file_that_is_no_toml_or_has_an_id_twice_is_refused(tmp_path: Path):
    (tmp_path / "no.toml").write_text("[[claim")
    with pytest.raises(InputError, match="not TOML"):
        load_claims(tmp_path / "no.toml")
    text = write(tmp_path / "one.toml").read_text("utf-8")
    (tmp_path / "two.toml").write_text(text * 2, "utf-8")
    with pytest.raises(InputError, match="'schlag-test' twice"):
        load_claims(tmp_path / "two.toml")


# ---- the rules --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "low", "high", "expected"),
    [
        ({}, 0.1, 0.2, "holds"),
        ({}, -0.2, -0.1, "fails"),
        ({}, -0.1, 0.1, "undecided"),
        ({"threshold": 0.5}, 0.1, 0.2, "fails"),
        ({"direction": "less"}, -0.2, -0.1, "holds"),
        ({"direction": "less"}, 0.1, 0.2, "fails"),
        ({"direction": "equal", "margin": 0.3}, -0.2, 0.2, "holds"),
        ({"direction": "equal", "margin": 0.1}, 0.2, 0.4, "fails"),
        ({"direction": "equal", "margin": 0.1}, -0.2, 0.2, "undecided"),
        ({}, math.nan, math.nan, "undecided"),
    ],
)
def test_one_number_is_judged_by_its_interval(
    changes: dict[str, object], low: float, high: float, expected: str
):
    assert outcome(claim(**changes), Interval((low + high) / 2, low, high)) == expected


@pytest.mark.parametrize(
    ("counts", "value", "low", "high", "expected"),
    [
        (None, -0.007, -0.0138, -0.0000178, "undecided"),  # within rounding of the threshold
        (None, -0.007, -0.0138, -0.0006, "fails"),
        (None, 0.007, 0.0004, 0.0138, "undecided"),
        (None, 0.007, 0.0006, 0.0138, "holds"),
        (0.005, 0.004, 0.003, 0.005, "undecided"),  # a difference that does not count
        (0.005, 0.006, 0.003, 0.009, "holds"),
        (0.005, -0.004, -0.005, -0.003, "undecided"),
        (0.005, -0.006, -0.009, -0.003, "fails"),
    ],
)
def test_what_is_too_near_to_the_threshold_decides_nothing(counts, value, low, high, expected):
    near_claim = claim(counts=counts)
    estimate = Interval(value, low, high)
    assert outcome(near_claim, estimate) == expected
    mirrored = claim(counts=counts, direction="less")
    assert outcome(mirrored, Interval(-value, -high, -low)) == expected
    reason = judge(near_claim, Evidence({"": estimate}, "question", 9)).reason
    assert ("decides nothing" in reason) == (expected == "undecided")


def test_two_estimates_of_the_error_that_decide_otherwise_decide_nothing():
    pooled, variants_only = Interval(0.021, 0.008, 0.034), Interval(0.021, -0.0005, 0.042)
    verdict = judge(
        claim(), Evidence({"a": pooled}, "question", 9, alternatives={"a": variants_only})
    )
    assert verdict.outcome == "undecided"
    assert verdict.reason.endswith(
        "; by the spread of the compared variants alone a 0.021 [-0.001, 0.042]: the two decide otherwise"
    )
    agreeing = judge(claim(), Evidence({"a": pooled}, "question", 9, alternatives={"a": pooled}))
    assert agreeing == judge(claim(), Evidence({"a": pooled}, "question", 9))
    assert agreeing.outcome == "holds"


@given(claims(("every", "some")), st.lists(estimates(), min_size=1, max_size=5), widths, widths)
def test_wider_intervals_decide_nothing_new(
    a_claim: Claim, cases: list[Interval], below: float, above: float
):
    after = outcome(a_claim, *(wider(case, below, above) for case in cases))
    assert after in {outcome(a_claim, *cases), "undecided"}


@given(claims(("every", "some")), st.lists(estimates(), min_size=1, max_size=4))
def test_the_order_of_cases_does_not_matter(a_claim: Claim, cases: list[Interval]):
    assert len({outcome(a_claim, *order) for order in itertools.permutations(cases)}) == 1


@given(claims(("one",)), estimates(), estimates(), st.floats(-1, 1))
def test_an_unmet_gate_leaves_it_undecided(
    a_claim: Claim, estimate: Interval, gate: Interval, threshold: float
):
    gated = a_claim.model_copy(update={"gates": {"skill": threshold}})
    assert outcome(gated, estimate) == "undecided"
    verdict = outcome(gated, estimate, gates={"skill": gate})
    assert verdict == (outcome(a_claim, estimate) if gate.low >= threshold else "undecided")


@given(claims(), estimates())
def test_a_wrong_unit_or_too_few_leave_it_undecided(a_claim: Claim, estimate: Interval):
    seeds = a_claim.model_copy(update={"unit": "model seed", "units": 3})
    assert outcome(seeds, estimate, unit="question") == "undecided"
    assert outcome(seeds, estimate, unit="model seed", units=2) == "undecided"


@given(claims(), estimates())
def test_another_setting_is_not_comparable(a_claim: Claim, estimate: Interval):
    limited = a_claim.model_copy(update={"conditions": ["XSum", "human raters"]})
    assert outcome(limited, estimate, conditions=frozenset({"XSum"})) == "not comparable"
    met = outcome(limited, estimate, conditions=frozenset({"XSum", "human raters"}))
    assert met == outcome(a_claim, estimate)


def test_one_of_many_cases_needs_a_narrower_interval():
    almost = Interval(0.2, 0.01, 0.39)
    existential = claim(over="some")
    assert outcome(existential, almost) == "holds"
    assert outcome(existential, almost, *[Interval(-1, -2, 0.5)] * 19) == "undecided"
    assert outcome(existential, Interval(0.2, 0.15, 0.25), *[Interval(-1, -2, 0.5)] * 19) == "holds"
    cases = {"a": Interval(-0.2, -0.39, -0.01)} | {
        str(i): Interval(0.2, -0.1, 0.5) for i in range(5)
    }
    reason = judge(claim(over="every"), Evidence(cases, "question", 9)).reason
    ending = "; to decide alone, one of 6 needs 99.2 %: a -0.200 [-0.456, 0.056]"
    assert reason.endswith(ending)  # 0.19 · 2.638 / 1.960
    cases["a"] = Interval(-0.2, -0.39, 0.01)
    assert "alone" not in judge(claim(over="every"), Evidence(cases, "question", 9)).reason


def test_several_cases_for_one_number_are_refused():
    with pytest.raises(InputError, match="over one case, given 2"):
        outcome(claim(), exact(1), exact(2))
    with pytest.raises(InputError, match="given 0"):
        outcome(claim(over="every"))


def test_a_baseline_at_ceiling_leaves_nothing_to_decide():
    below = Interval(-0.9, -0.95, -0.85)
    assert outcome(claim(), below) == "fails"
    assert outcome(claim(), below, gates={ROOM: exact(0.002)}) == "not decidable here"
    assert outcome(claim(), below, gates={ROOM: exact(0.4)}) == "fails"


def test_what_needs_the_papers_size_or_human_raters_is_not_decidable_unless_it_is_measured():
    votes = load_claims()["jiang-human-metrics"]
    verdict = judge(votes, None)
    assert verdict.outcome == "not decidable here"
    assert verdict.reason == "not measured: it needs human raters, XSum and Wikihow"
    rated = Evidence({"": exact(0.4)}, votes.unit, votes.units, {}, frozenset(votes.conditions))
    assert judge(votes, rated).outcome == "holds"
    assert judge(claim(), None).outcome == "undecided"
