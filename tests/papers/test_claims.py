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

from tprpapers.claims import ROOM, ROUNDING, Claim, Evidence, exact, find_claim, judge, load_claims
from tprprobe.errors import InputError
from tprprobe.statistics import Interval

DECISIONS = {"holds", "fails"}
OPPOSITE = {"holds": "fails", "fails": "holds"}
numbers = st.floats(-2, 2).map(lambda x: round(x, 3))
widths = st.floats(0, 2).map(lambda x: round(x, 3))


def claim(**changes: object) -> Claim:
    fields = {
        "id": "schlag-test",
        "paper": "schlag2020-final",
        "where": "Sec. 5",
        "quotation": "words",
        "statistic": "a number",
        "direction": "greater",
        "unit": "question",
        "written": "2026-01-01",
    }
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


def outcome(about: Claim, *cases: Interval, **changes: object) -> str:
    fields = {"unit": about.unit, "units": 500} | changes
    evidence = Evidence({str(i): case for i, case in enumerate(cases)}, **fields)  # pyright: ignore
    return judge(about, evidence).outcome


def wider(estimate: Interval, more: float, on_top: float) -> Interval:
    return Interval(estimate.value, estimate.low - more, estimate.high + on_top)


# ---- the file ---------------------------------------------------------------------------------------


def letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def test_every_quotation_is_in_its_paper(shared: Path):
    texts = {
        paper: letters((shared / "papers" / f"{paper}.txt").read_text("utf-8"))
        for paper in {each.paper for each in load_claims().values()}
        if (shared / "papers" / f"{paper}.txt").is_file()
    }
    assert {"schlag2020-final", "jiang2021", "huang2018"} <= texts.keys()
    for name, each in load_claims().items():
        if each.paper not in texts:
            continue
        for part in each.quotation.split("…"):
            assert letters(part), name
            assert letters(part) in texts[each.paper], (name, part)


def test_all_papers_make_claims():
    papers = [name.partition("-")[0] for name in load_claims()]
    least = {"schlag": 10, "jiang": 10, "huang": 10, "mccoy": 8}
    assert {paper: papers.count(paper) >= least[paper] for paper in papers} == dict.fromkeys(
        least, True
    )


def test_claims_on_architectures_ask_for_three_seeds():
    compared = [
        each
        for each in load_claims().values()
        if re.search(r"TP-Transformer.* minus (the )?Transformer|TPT-d minus", each.statistic)
        and "human raters" not in each.conditions
    ]
    assert len(compared) > 5
    for each in compared:
        per_document = each.unit == "document"  # the vote on 71 references, of two models
        assert per_document or (each.unit == "model seed" and each.units >= 3), each.id


def test_claims_on_numerators_ask_for_discordant_questions():
    about = [each for each in load_claims().values() if re.search(r"denominator", each.statistic)]
    assert len(about) > 5
    for each in about:
        assert each.gates.get("discordant_exact_match", 0) >= 0.5, each.id


def digest(about: Claim) -> str:
    """What a change of anything that decides a claim changes."""
    fields = about.model_dump(exclude={"id", "where", "printed", "ours", "written", "amended"})
    if fields["counts"] is None:  # a field that claims on differences got later
        del fields["counts"]
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]


def test_no_claim_is_changed_silently():
    """Every version of a claim stands in the file of versions, and every change in the claim."""
    versions = json.loads((Path(__file__).parent / "claims_versions.json").read_text("utf-8"))
    known = load_claims()
    assert versions.keys() == known.keys()
    for name, each in known.items():
        assert digest(each) == versions[name][-1], f"{name} was changed: say it under `amended`"
        assert len(versions[name]) == 1 + len(each.amended), name
    assert {name for name, each in known.items() if each.amended} >= {
        "schlag-structural-clusters",
        "schlag-hadamard-optimal",
        "schlag-ones-digit-roles",
    }


def test_every_claim_on_a_difference_says_what_counts():
    """A difference that is smaller than this makes nothing better or worse."""
    for name, each in load_claims().items():
        differs = re.search(r"\bminus\b|\bgain\b", each.statistic) and each.direction != "equal"
        wanted = 0.005 if differs and each.unit != "exact" and each.threshold >= 0 else None
        assert each.counts == wanted, name


def test_a_changed_claim_has_another_digest():
    assert digest(claim()) == digest(claim(ours=True))
    for changes in ({"threshold": 0.1}, {"statistic": "another"}, {"units": 2}):
        assert digest(claim(**changes)) != digest(claim())


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
        {"direction": "bigger"},
        {"id": "jiang-test"},
        {"id": "other-test"},
        {"quotation": ""},
        {"treshold": 0.1},
        {"threshold": "much"},
        {"unit": "token"},
        {"units": 0},
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


def test_an_unknown_claim_suggests_the_nearest():
    with pytest.raises(InputError, match="did you mean 'schlag-used'"):
        find_claim("schlag-usd")


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
    about = claim(counts=counts)
    estimate = Interval(value, low, high)
    assert outcome(about, estimate) == expected
    mirrored = claim(counts=counts, direction="less")
    assert outcome(mirrored, Interval(-value, -high, -low)) == expected
    told = judge(about, Evidence({"": estimate}, "question", 9)).reason
    assert ("decides nothing" in told) == (expected == "undecided")


def test_two_estimates_of_the_error_that_decide_otherwise_decide_nothing():
    pooled, alone = Interval(0.021, 0.008, 0.034), Interval(0.021, -0.0005, 0.042)
    found = judge(claim(), Evidence({"a": pooled}, "question", 9, alternatives={"a": alone}))
    assert found.outcome == "undecided"
    assert found.reason.endswith(
        "; by the spread of the compared variants alone a 0.021 [-0.001, 0.042]: the two decide otherwise"
    )
    same = judge(claim(), Evidence({"a": pooled}, "question", 9, alternatives={"a": pooled}))
    assert same == judge(claim(), Evidence({"a": pooled}, "question", 9))
    assert same.outcome == "holds"


@given(claims(("one",)), estimates(), widths, widths)
def test_a_wider_interval_decides_nothing_new(
    about: Claim, estimate: Interval, below: float, above: float
):
    before, after = (
        outcome(about, estimate),
        outcome(about, wider(estimate, below, above)),
    )
    assert after in {before, "undecided"}


@given(claims(("every", "some")), st.lists(estimates(), min_size=1, max_size=5), widths, widths)
def test_nor_do_wider_intervals_of_several_cases(
    about: Claim, cases: list[Interval], below: float, above: float
):
    after = outcome(about, *(wider(case, below, above) for case in cases))
    assert after in {outcome(about, *cases), "undecided"}


@given(claims(("every", "some")), st.lists(estimates(), min_size=1, max_size=4))
def test_the_order_of_cases_does_not_matter(about: Claim, cases: list[Interval]):
    assert len({outcome(about, *order) for order in itertools.permutations(cases)}) == 1


@given(claims(("one",)), estimates())
def test_one_case_is_judged_as_one_number(about: Claim, case: Interval):
    alone = outcome(about, case)
    for over in ("every", "some"):
        assert outcome(about.model_copy(update={"over": over}), case) == alone


@given(st.lists(estimates(), min_size=2, max_size=5), numbers)
def test_every_and_some_are_opposites(cases: list[Interval], threshold: float):
    """Not every number is above t exactly where some number is not."""
    every = outcome(claim(over="every", threshold=threshold), *cases)
    mirrored = [Interval(-case.value, -case.high, -case.low) for case in cases]
    some = outcome(claim(over="some", threshold=-threshold), *mirrored)
    edges = [edge for case in cases for edge in (case.low, case.high)]
    on_edge = any(abs(threshold - edge) <= ROUNDING for edge in edges)
    assert on_edge or some == OPPOSITE.get(every, every)


@given(claims(("one",)), estimates(), estimates(), st.floats(-1, 1))
def test_an_unmet_gate_leaves_it_undecided(
    about: Claim, estimate: Interval, gate: Interval, least: float
):
    gated = about.model_copy(update={"gates": {"skill": least}})
    assert outcome(gated, estimate) == "undecided"
    found = outcome(gated, estimate, gates={"skill": gate})
    assert found == (outcome(about, estimate) if gate.low >= least else "undecided")


@given(claims(), estimates())
def test_a_wrong_unit_or_too_few_leave_it_undecided(about: Claim, estimate: Interval):
    seeds = about.model_copy(update={"unit": "model seed", "units": 3})
    assert outcome(seeds, estimate, unit="question") == "undecided"
    assert outcome(seeds, estimate, unit="model seed", units=2) == "undecided"


@given(claims(), estimates())
def test_another_setting_is_not_comparable(about: Claim, estimate: Interval):
    limited = about.model_copy(update={"conditions": ["XSum", "human raters"]})
    assert outcome(limited, estimate, conditions=frozenset({"XSum"})) == "not comparable"
    met = outcome(limited, estimate, conditions=frozenset({"XSum", "human raters"}))
    assert met == outcome(about, estimate)


@given(claims())
def test_what_is_not_measured_is_undecided(about: Claim):
    assert judge(about, None).outcome == "undecided"


def test_one_of_many_cases_needs_a_narrower_interval():
    almost = Interval(0.2, 0.01, 0.39)
    some = claim(over="some")
    assert outcome(some, almost) == "holds"
    assert outcome(some, almost, *[Interval(-1, -2, 0.5)] * 19) == "undecided"
    assert outcome(some, Interval(0.2, 0.15, 0.25), *[Interval(-1, -2, 0.5)] * 19) == "holds"


def test_several_cases_for_one_number_are_refused():
    with pytest.raises(InputError, match="over one case, given 2"):
        outcome(claim(), exact(1), exact(2))
    with pytest.raises(InputError, match="given 0"):
        outcome(claim(over="every"))


def test_the_reason_has_the_numbers_and_what_they_are_held_against():
    found = judge(claim(threshold=0.5), Evidence({"": Interval(0.6, 0.55, 0.65)}, "question", 9))
    assert found.reason == "0.600 [0.550, 0.650] (must be above 0.5)"


def test_the_reason_of_many_cases_has_the_least_and_the_most():
    cases = {f"head {i}": exact(value) for i, value in enumerate((0.3, 0.1, 0.2, 0.4))}
    few = dict(list(cases.items())[:3])
    told = [
        judge(claim(over="some"), Evidence(each, "question", 9)).reason for each in (cases, few)
    ]
    assert told[0] == "least head 1 0.1; most head 3 0.4 (at least one of 4 must be above 0)"
    assert told[1].startswith("head 1 0.1; head 2 0.2; head 0 0.3 (at least one of 3 ")


def test_the_reason_of_many_cases_has_one_that_decides_alone():
    wide = Interval(-0.02, -0.1, 0.06)
    cases = {"a": wide, "b": Interval(-0.01, -0.012, -0.008), "c": wide, "d": Interval(0.1, 0, 0.2)}
    found = judge(claim(over="every"), Evidence(cases, "question", 9))
    assert found.outcome == "fails"
    assert "; deciding b -0.010 [-0.012, -0.008]; most d" in found.reason


def test_a_baseline_at_ceiling_leaves_nothing_to_decide():
    below = Interval(-0.9, -0.95, -0.85)
    assert outcome(claim(), below) == "fails"
    assert outcome(claim(), below, gates={ROOM: exact(0.002)}) == "not decidable here"
    assert outcome(claim(), below, gates={ROOM: exact(0.4)}) == "fails"


def test_what_needs_the_papers_size_or_human_raters_is_not_decidable_unless_it_is_measured():
    votes = load_claims()["jiang-human-metrics"]
    told = judge(votes, None)
    assert told.outcome == "not decidable here"
    assert told.reason == "not measured: it needs human raters, XSum and Wikihow"
    rated = Evidence({"": exact(0.4)}, votes.unit, votes.units, {}, frozenset(votes.conditions))
    assert judge(votes, rated).outcome == "holds"
    assert judge(claim(), None).outcome == "undecided"


def test_what_was_measured_is_shown_though_it_decides_nothing():
    few = judge(
        claim(unit="model seed", units=3),
        Evidence({"": Interval(-0.06, -0.09, -0.03)}, "document", 9),
    )
    assert few.outcome == "undecided"
    assert few.reason.startswith("-0.060 [-0.090, -0.030]")
    assert few.reason.endswith("an interval over documents; it must be over model seeds")
