"""A paper's folder: contents, commands that go on, files in four formats, verdicts."""

import json
from pathlib import Path

import pytest

from tprpapers.paper import commands, contents, judgements, making
from tprprobe.cli import main
from tprprobe.errors import InputError
from tprprobe.figures import catalogue

OUTCOMES = {"holds", "fails", "undecided", "not comparable", "no claim", "missing"}
SMALL = {
    "checkpoints": ["tpt-c-arithmetic"],
    "architectures": ["tp-transformer"],
    "commands": {"broken": "inspect nowhere", "binding": "binding --seed 1"},
    "recipes": {},
    "figures": {"schlag-sec6.2": ["binding"], "schlag-fig2": ["broken"], "jiang-table3": ["votes"]},
    "people": {"votes": "tprprobe sheet"},
}


@pytest.mark.parametrize("paper", contents.PAPERS)
def test_a_paper_has_all_of_its_figures_and_what_they_need(paper):
    paper_contents = contents.read_contents(paper)
    names = {entry.name for entry in catalogue.list_figures()}
    assert {n for n in names if n.startswith(f"{paper}-")} <= paper_contents.figures.keys()
    for figure, needs in paper_contents.figures.items():
        assert bool(needs) or set(catalogue.entries.find_figure(figure).inputs) <= {"study"}
        assert set(needs) <= paper_contents.commands.keys() | paper_contents.people.keys()
    needed_names = {need for needs in paper_contents.figures.values() for need in needs}
    command_lines = " ".join(paper_contents.commands.values())
    names = paper_contents.commands.keys() - needed_names
    assert not [name for name in names if f"made/{name}" not in command_lines]
    run_parts = making._list_parts(
        paper_contents, contents.list_commands(paper_contents, ["x"], Path())
    )
    start = next(i for i, part in enumerate(run_parts) if isinstance(part, tuple))
    assert start < sum(
        not isinstance(part, tuple) for part in run_parts
    )  # drawn before all is made
    recipes = [n for n, line in paper_contents.commands.items() if contents.RECIPE_FILE in line]
    assert {*recipes} == paper_contents.recipes.keys()


def test_checkpoints_go_to_the_papers_of_their_architectures(tmp_path):
    shared = contents.share_checkpoints(contents.PAPERS, ["t5-english", "cnn-lstm-scenes"])
    assert shared["jiang"] == ["t5-english"]
    assert shared["huang"] == ["cnn-lstm-scenes"]
    assert shared["schlag"] == contents.read_contents("schlag").checkpoints
    with pytest.raises(InputError, match="t5-english is a t5, which is not of schlag"):
        contents.share_checkpoints(["schlag"], ["t5-english"])
    with pytest.raises(InputError, match=r"no checkpoint of tprprobe \(accepted: tpgn, cnn-lstm\)"):
        contents.share_checkpoints(["huang"], [str(tmp_path)])
    with pytest.raises(InputError, match="paper"):
        contents.read_contents("smolensky")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(making, "read_contents", lambda name: contents.Contents(**SMALL))
    monkeypatch.setattr(contents, "PAPERS", ("schlag",))


def test_a_paper_is_made_and_goes_on(small, tmp_path, monkeypatch, capsys):
    out = tmp_path / "paper"
    monkeypatch.setattr("sys.argv", ["tprprobe", "paper", "schlag", "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "holds, judged on what is shown here (1): schlag-sec6.2" in capsys.readouterr().err
    items = {name: json.loads((out / f"{name}.json").read_text()) for name in SMALL["figures"]}
    assert {item["verdict"] for item in items.values()} <= OUTCOMES
    assert items["schlag-sec6.2"]["verdict"] == "holds"  # exact algebra
    claims = items["schlag-sec6.2"]["claims"]
    assert [claim["verdict"] for claim in claims] == ["holds"] * 6
    sources = [claim["judged_on"] for claim in claims]  # on this item, and on the results pages
    assert sources == [judgements.ON_FIGURE] * 3 + [judgements.ON_PAGES] * 3
    assert all(claim["quotation"] and claim["rule"] and claim["here"] for claim in claims)
    assert items["schlag-sec6.2"]["missing"] is None
    for kind in ("pdf", "svg", "csv", "tex", "md"):
        assert (out / f"schlag-sec6.2.{kind}").stat().st_size > 100
    broken = items["schlag-fig2"]
    assert broken["verdict"] == "missing"
    assert "nowhere" in broken["missing"]
    assert broken["claims"]
    assert "tprprobe inspect nowhere" in broken["commands"][0]
    assert items["jiang-table3"]["missing"] == "no command makes it: people do"
    html, text = ((out / f"report.{kind}").read_text("utf-8") for kind in ("html", "md"))
    for name in SMALL["figures"]:
        assert f"{name}: " in html
        assert f"## {name}: " in text
    assert "[SVG](schlag-sec6.2.svg)" in text
    assert "[TEX](schlag-sec6.2.tex)" in text
    assert [entry.name for entry in catalogue.list_drawable(out)] == ["schlag-sec6.2"]
    assert "sha256" in html

    with pytest.raises(InputError, match="is not empty: give another --out, or --resume"):
        making.make_papers("schlag", out=out)
    ran = []

    def watch(words, **options):  # what fails need not start again to fail
        ran.append(words)
        return commands.subprocess.CompletedProcess(words, 2, stderr="nowhere: no such folder")

    monkeypatch.setattr(commands.subprocess, "run", watch)
    making.make_papers("schlag", out=out, resume=True)
    assert ["inspect" in words for words in ran] == [True]  # what failed, and nothing else
    monkeypatch.setattr(making, "hash_weights", lambda ckpt: "trained again")
    ran.clear()
    making.make_papers("schlag", out=out, resume=True)
    assert ["inspect" in words for words in ran] == [True, False]  # all: nothing mixes weights


def test_the_least_favourable_claim_is_the_verdict():
    def of(*outcomes, is_made=True):
        return judgements.combine_verdicts(
            [{"verdict": outcome, "decides": True} for outcome in outcomes], is_made
        )

    assert of("holds", "undecided", "fails") == "fails"
    assert of("holds", "not decidable here") == "undecided"
    assert of("holds", "not comparable") == "not comparable"
    assert (of("holds"), of(), of("holds", is_made=False)) == ("holds", "no claim", "missing")


def test_a_claim_counts_once_by_what_is_shown_here():
    def row(claim, verdict, judged_on=judgements.ON_PAGES):
        return {"claim": claim, "verdict": verdict, "judged_on": judged_on, "decides": True}

    items = [
        [row("a", "holds"), row("b", "holds"), row("b", "fails")],
        [row("a", "fails", judgements.ON_FIGURE), row("c", "undecided")],
        [row("a", "holds"), row("c", "undecided") | {"decides": False}],
    ]
    described = [judgements.describe(rows, True) for rows in items]
    assert judgements.count_verdicts(described) == "fails 2, undecided 1"
    shared = judgements.describe([], True, "huang-regions")
    assert shared["verdict"] == "no claim"
    assert judgements.word_verdict(shared) == "no claim of its own; see huang-regions"
    assert judgements.word_verdict(judgements.describe([], False, "x")) == "missing"


def test_items_without_a_claim_of_their_own_name_one_that_is_judged():
    claim_names = making.CLAIMS.keys() | making.OWN_CLAIMS.keys()
    assert not making.JUDGED_BY.keys() & claim_names
    assert {*making.JUDGED_BY.values()} <= claim_names
