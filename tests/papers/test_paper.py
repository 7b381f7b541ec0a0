"""A paper's folder: contents, commands that go on, files in four formats, verdicts."""

import json

import numpy as np
import pandas as pd
import pytest

from tprpapers.claims import Evidence, exact, find_claim, judge
from tprpapers.paper import commands, contents, judgements, making
from tprpapers.paper.drawn_numbers import tabulate_drawn
from tprprobe.cli import main
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.figures.style import drawing

OUTCOMES = {"holds", "fails", "undecided", "not comparable", "not found", "missing"}
SMALL = {
    "checkpoints": ["tpt-c-arithmetic"],
    "architectures": ["tp-transformer"],
    "commands": {"broken": "inspect nowhere", "binding": "binding --seed 1"},
    "recipes": {},
    "figures": {
        "schlag-sec6.2": ["binding"],
        "schlag-fig2": ["broken"],
        "jiang-table3": ["votes"],
        "matched-study": [],
    },
    "people": {"votes": "tprprobe sheet"},
}


@pytest.mark.parametrize("paper", contents.PAPERS)
def test_a_paper_has_all_of_its_figures_and_what_they_need(paper):
    read = contents.read_contents(paper)
    named = {each.name for each in catalogue.list_figures() if each.name.startswith(f"{paper}-")}
    assert named <= read.figures.keys()
    for figure, needs in read.figures.items():
        assert bool(needs) or set(catalogue.entries.find_figure(figure).inputs) <= {"study"}
        assert set(needs) <= read.commands.keys() | read.people.keys()
    used = {need for needs in read.figures.values() for need in needs}
    made = " ".join(read.commands.values())
    assert {
        each for each in read.commands if each not in used and f"made/{each}" not in made
    } == set()
    asked = {name for name, line in read.commands.items() if contents.RECIPE_FILE in line}
    assert asked == read.recipes.keys()


def test_checkpoints_go_to_the_papers_of_their_architectures():
    shared = contents.share_checkpoints(contents.PAPERS, ["t5-english", "cnn-lstm-scenes"])
    assert shared["jiang"] == ["t5-english"]
    assert shared["huang"] == ["cnn-lstm-scenes"]
    assert shared["schlag"] == contents.read_contents("schlag").checkpoints
    with pytest.raises(InputError, match="t5-english is a t5, which is not of schlag"):
        contents.share_checkpoints(["schlag"], ["t5-english"])
    with pytest.raises(InputError, match="paper"):
        contents.read_contents("smolensky")


def test_commands_name_their_folders(tmp_path):
    found = contents.list_commands(contents.read_contents("jiang"), ["a", "m/b"], tmp_path)
    assert [each.out.name for each in found["summaries"]] == ["0-a", "1-b"]
    assert found["probes"][0].words == ("probe", "all", str(tmp_path / "store"))
    assert found["store"][0].line.startswith("tprprobe extract --ckpt a ")


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
    about = {name: json.loads((out / f"{name}.json").read_text()) for name in SMALL["figures"]}
    assert {each["verdict"] for each in about.values()} <= OUTCOMES
    assert about["schlag-sec6.2"]["verdict"] == "holds"  # exact algebra
    claims = about["schlag-sec6.2"]["claims"]
    assert [each["verdict"] for each in claims] == ["holds"] * 6
    judged = [each["judged_on"] for each in claims]  # on this item, and on the results pages
    assert judged == [judgements.ON_FIGURE] * 3 + [judgements.ON_PAGES] * 3
    assert all(each["quotation"] and each["rule"] and each["here"] for each in claims)
    for name in ("schlag-sec6.2", "matched-study"):
        for kind in ("pdf", "svg", "csv"):
            assert (out / f"{name}.{kind}").stat().st_size > 100
        assert about[name]["missing"] is None
    broken = about["schlag-fig2"]
    assert broken["verdict"] == "missing"
    assert "nowhere" in broken["missing"]
    assert broken["claims"]
    assert "tprprobe inspect nowhere" in broken["commands"][0]
    assert about["jiang-table3"]["missing"] == "no command makes it: people do"
    html, text = ((out / f"report.{kind}").read_text("utf-8") for kind in ("html", "md"))
    for name in SMALL["figures"]:
        assert f"{name}: " in html
        assert f"## {name}: " in text
    assert "[SVG](schlag-sec6.2.svg)" in text
    assert '<a href="#section-2">schlag-sec6.2</a>' in html
    assert "[schlag-sec6.2](#schlag-sec6.2)" in text
    assert '<a id="schlag-sec6.2"></a>' in text
    folded = "<summary>Claims about it: holds 3 (6 in all)</summary>"  # three of them decide
    assert folded in html
    assert folded in text
    assert "tprprobe inspect nowhere" in html
    assert "sha256" in html

    with pytest.raises(InputError, match="is not empty: give another --out, or --resume"):
        making.make_papers("schlag", out=out)
    ran = []
    run = commands.subprocess.run

    def watch(words, **options):  # what fails need not start again to fail
        ran.append(words)
        failed = commands.subprocess.CompletedProcess(words, 2, stderr="nowhere: no such folder")
        return failed if "inspect" in words else run(words, **options)

    monkeypatch.setattr(commands.subprocess, "run", watch)
    making.make_papers("schlag", out=out, resume=True)
    assert ["inspect" in words for words in ran] == [True]  # what failed, and nothing else
    monkeypatch.setattr(making, "hash_weights", lambda ckpt: "trained again")
    ran.clear()
    making.make_papers("schlag", out=out, resume=True)
    assert ["inspect" in words for words in ran] == [True, False]  # all: nothing mixes weights


def test_the_least_favourable_claim_is_the_verdict():
    def of(*outcomes, made=True):
        return judgements.combine_verdicts(
            [{"verdict": each, "decides": True} for each in outcomes], made
        )

    assert of("holds", "undecided", "fails") == "fails"
    assert of("holds", "not decidable here") == "undecided"
    assert of("holds", "not comparable") == "not comparable"
    assert (of("holds"), of(), of("holds", made=False)) == ("holds", "not found", "missing")


def test_what_is_shown_decides_then_the_pages_on_these_models_then_the_others():
    name = "huang-pos-prediction"
    own = judge(find_claim(name), Evidence({"": exact(-1.0)}, "document", 100))
    for given, decided in (
        (([own], ["tpgn-scenes"]), [True, False, False]),
        (([], ["tpgn-scenes"]), [True, False]),
        (([], []), [True, True]),
    ):
        rows = judgements.list_judgements([name], *given)
        assert [each["decides"] for each in rows] == decided
    assert (
        judgements.combine_verdicts(
            judgements.list_judgements([name], [own], ["tpgn-scenes"]), True
        )
        == "fails"
    )
    assert (
        judgements.combine_verdicts(judgements.list_judgements([name], [], ["tpgn-scenes"]), True)
        == "holds"
    )


def test_numbers_are_read_from_what_is_drawn():
    figure = drawing(4, 3)
    first, second = figure.subplots(1, 2)
    first.set_title("left", loc="left")
    first.plot([1, 2], [3, 4], label="line")
    first.scatter([5], [6], label="points")
    first.bar([7], [8], label="bars")
    second.imshow(np.array([[0.5, np.nan]]))
    second.barh([1.0], [9.0])
    second.text(0, 1, "said")
    found = tabulate_drawn(figure)
    rows = {(row.mark, row.series): (row.x, row.y) for row in found.itertuples()}
    assert rows["line", "line"] == (2, 4)
    assert rows["point", "points"] == (5, 6)
    assert rows["bar", "bars"] == (7, 8)
    assert rows["bar", "0"] == (9, 1)
    assert set(found["panel"]) == {"0 left", "1"}
    cells = found[found["mark"] == "cell"]
    assert cells["value"].tolist()[0] == 0.5
    assert pd.isna(cells["value"].tolist()[1])
    assert "said" in found["text"].tolist()
