"""Every figure is drawn by its name from what lies in a folder; what is wrong is said in a line."""

import re
import subprocess
import sys

import pytest
from matplotlib.figure import Figure
from planted.captions import plant_captions
from planted.cli import run_command
from planted.folders import (
    write_binding,
    write_evaluation,
    write_log,
    write_scores,
    write_summaries,
)
from planted.questions import plant
from planted.relations import plant_relations
from planted.sentences import plant as plant_labelled
from planted.values import plant_values

from tprpapers.claims import load_claims
from tprpapers.verdicts import CLAIMS, HEAD, HERE, add_verdicts, verdicts_of
from tprprobe.errors import InputError
from tprprobe.figures import catalogue, style
from tprprobe.figures.catalogue import registry
from tprprobe.figures.catalogue.loaders import load_evaluations
from tprprobe.figures.tables import Table
from tprprobe.store import open_store


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with a store, evaluations, the log of a training run and a binding probe."""
    run = tmp_path_factory.mktemp("run")
    plant(run / "store", 6, model={"name": "planted"})
    write_evaluation(run / "eval", parameters=570_000)
    write_evaluation(run / "eval", split="extrapolate")
    write_log(run / "training")
    write_binding(run / "binding")
    plant_values(run.parent / "values", questions=110)
    plant_labelled(run.parent / "labelled", 40)
    run_command("name", run.parent / "labelled", "--k", 4, "--out", run.parent / "named")
    plant_relations(run.parent / "related")
    write_summaries(run.parent / "scored")
    plant_captions(run.parent / "captioned" / "store", 60)
    write_scores(run.parent / "captioned" / "eval")
    return run


def find_sources(run, name):
    inputs = catalogue.find_inputs(run)
    if name.startswith(("schlag-sec", "reconstruction")):
        inputs |= {"store": run.parent / "values"}
    if name == "heads":
        inputs |= {"store": run.parent / "related"}
    if name == "names":
        inputs |= catalogue.find_inputs(run.parent / "named")
    if name.startswith("jiang-"):
        inputs |= catalogue.find_inputs(run.parent / "scored")
    if name == "jiang-discreteness":
        inputs |= {"store": run.parent / "labelled"}
    if name.startswith("huang-"):
        inputs |= catalogue.find_inputs(run.parent / "captioned")
    return {key: inputs[key] for key in catalogue.find_figure(name).inputs}


def test_a_folder_shows_what_it_holds(run, tmp_path):
    assert catalogue.find_inputs(run) == {
        "store": run / "store",
        "evaluations": [run / "eval"],
        "runs": [run / "training"],
        "bindings": [run / "binding"],
    }
    assert catalogue.find_inputs(run / "store") == {"store": run / "store"}
    assert catalogue.find_inputs(tmp_path) == {}


def test_a_folder_that_records_sources_is_drawn_of_these(tmp_path):
    (tmp_path / "schlag-fig4.json").write_text('{"sources": ["made/eval"]}')
    scores = {"exact_match": 0.01, "exact_match_interval": [0, 0.05], "n": 80}
    write_evaluation(tmp_path / "made" / "eval", modules={"arithmetic__mul": scores})
    write_evaluation(tmp_path / "beside", "other")  # found by a search of subfolders
    assert [entry.name for entry in catalogue.list_drawable(tmp_path)] == ["schlag-fig4"]
    assert {*catalogue.draw("schlag-fig4", tmp_path).scene.tabulate()["group"]} == {"tiny"}
    path = catalogue.write_figure("schlag-fig4", sources=[tmp_path], out=tmp_path / "a.csv")
    assert "other" not in path.read_text()


ELSEWHERE = {  # figures of these are drawn in their tests
    *("behaviors", "probes", "study", "sweeps", "swaps", "substitutions", "unbindings"),
    *(
        "decompositions",
        "operations",
        "patchings",
        "roles",
        "examined_states",
        "examined_heads",
        "examined_decoder",
    ),
}


@pytest.mark.parametrize(
    "name", [entry.name for entry in catalogue.list_figures() if not ELSEWHERE & {*entry.inputs}]
)
def test_every_figure_is_drawn_from_what_it_is_made_of(run, name):
    figure = catalogue.draw(name, **find_sources(run, name))
    assert isinstance(figure, Figure)
    assert figure.axes


DECIDED = {  # figures whose own numbers decide claims
    "schlag-sec6.1-table": {"schlag-full-information", "schlag-learned-projection"},
    "schlag-sec7-table": {"schlag-hadamard-optimal"},
    "jiang-discreteness": {"jiang-discrete"},
}


@pytest.mark.parametrize("name", DECIDED)
def test_claims_are_judged_on_what_is_shown(run, name):
    drawing = add_verdicts(catalogue.make(name, **find_sources(run, name)), CLAIMS.get(name, ()))
    assert {verdict.claim.id for verdict in verdicts_of(drawing)} == DECIDED[name]
    below = drawing.caption if isinstance(drawing, Table) else drawing.texts[-1].get_text()
    judgements = below.partition(HERE)[2].partition(HEAD)[0]  # not those of the results pages
    for verdict in verdicts_of(drawing):
        sentence = f" (“{verdict.claim.quotation}”)" if isinstance(drawing, Table) else ""
        assert f"{verdict.claim.id}{sentence}: {verdict.outcome}." in " ".join(judgements.split())
        assert below.count(f"{verdict.claim.id}{sentence[:3]}") == 1


CLAIMED = re.compile("|".join([*load_claims(), "verdicts?", "papers? claims"]))


@pytest.mark.parametrize("name", ["schlag-fig2", "schlag-sec7-table", "schlag-sec6.1"])
def test_a_figure_of_a_run_says_nothing_of_claims(run, tmp_path, monkeypatch, name):
    monkeypatch.setitem(style.FILES, "svg.fonttype", "none")  # words stay words
    options = {"k": 3} if name == "schlag-fig2" else {}
    for kind in ("svg", "md", "tex", "csv") if name.endswith("-table") else ("svg",):
        store = find_sources(run, name)["store"]
        path = catalogue.write_figure(name, store, (), options, tmp_path / f"figure.{kind}")
        assert not CLAIMED.search(path.read_text("utf-8")), kind


def test_the_command_shows_wrong_answers_and_chosen_positions(run, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(registry, "save", lambda figure, path: drawn.append(figure) or path)

    def texts(*options):
        files = ["--store", str(run / "store"), "--out", str(tmp_path / "f.pdf")]
        run_command("figure", *options, *files)
        figure = drawn[-1]
        every = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
        return " ".join(text.get_text() for text in every)

    assert "✗" not in texts("schlag-fig2", "--k", "3")
    assert "✗" in texts("schlag-fig2", "--k", "3", "--every")
    options = ["schlag-fig3", "--sample", "1", "--head", "1"]
    text_on_figure = texts(*options, "--position", "2", "--position", "5")
    assert [f"at {position}" in text_on_figure for position in (2, 5, 6)] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("schlag-fig22", {}, "unknown figure 'schlag-fig22'; did you mean 'schlag-fig2'"),
        ("schlag-fig2", {}, "schlag-fig2 is made of a store: give --store"),
        ("schlag-fig2", {"store": "nowhere"}, "no store at nowhere"),
        ("schlag-fig2", {"store": "", "heads": 1}, "unknown option of schlag-fig2 'heads'"),
        ("schlag-fig4", {"evaluations": ["empty"]}, "empty holds no evaluation"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, monkeypatch, name, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "other.json").write_text("[1, 2")
    with pytest.raises(InputError, match=message) as error:
        catalogue.make(name, **options)
    assert "\n" not in str(error.value)


def test_an_evaluation_of_pairs_is_one_row(tmp_path):
    score = {"exact_match": 0.9, "exact_match_interval": [0.8, 1.0], "n": 80}
    write_evaluation(tmp_path, modules={}, data="pairs.tsv", **score)
    rows = load_evaluations([tmp_path])
    assert rows[["module", "n", "exact_match"]].to_numpy().tolist() == [["pairs.tsv", 80, 0.9]]


def test_no_division_no_attention_figure(run):
    store = open_store(run / "store")
    worded = store.tokens.assign(question="Where does it go?")
    store.__dict__["tokens"] = worded
    with pytest.raises(InputError, match="not the characters of its questions"):
        catalogue.make("schlag-fig3", store=store)
    assert isinstance(catalogue.make("schlag-fig3", store=store, sample=1, head=0), Figure)


def cells(table, column, value):
    (row,) = table.cells[table.cells[column] == value].to_dict("records")
    return row


def test_tables_of_unbinding_vectors_bear_verdicts_and_recomputed_shares(run):
    store = run.parent / "captioned" / "store"
    table = catalogue.make("huang-table2", store=store)
    assert cells(table, "category", "noun")["share (printed)"] == "0.9660"  # printed: 0.969
    assert "huang-nominal-verbal (“" in add_verdicts(table, ()).caption
    interpretation = catalogue.make("huang-table3", store=store)
    assert (interpretation.cells["from"] == "printed").sum() == 10
    assert "huang-first-position (“" in add_verdicts(interpretation, ()).caption
    four_clusters = add_verdicts(catalogue.make("huang-table3", store=store, k=4), ())
    assert "huang-" not in four_clusters.caption  # the claims are about ten clusters
    nouns = catalogue.make("huang-fig4", store=store, method="pca").scene.tabulate()
    assert {*nouns["value"]} == {"noun", "not noun"}
    assert nouns.groupby("word")["value"].nunique().max() == 1  # a word has the class of its tag


SCRIPT = """
import sys
from tprprobe.cli import app
from tprprobe.figures import catalogue

for entry in catalogue.list_figures():
    if entry.inputs == ["store"]:
        entry.make  # which imports what makes it
store, out = sys.argv[1:]
for command in (
    ["inspect", store],
    ["cluster", store, "--site", "encoder.-1.self.role", "--head", "0", "--k", "3"],
    ["figure", "schlag-fig2", "--store", store, "--k", "3", "--out", f"{out}/two.png"],
):
    app(command, standalone_mode=False)
    assert "torch" not in sys.modules, command
"""


def test_a_store_is_inspected_clustered_and_drawn_without_torch(run, tmp_path):
    subprocess.run([sys.executable, "-c", SCRIPT, run / "store", tmp_path], check=True)
