"""The report is one file that needs nothing else, and shows texts as they are."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from planted.captions import plant_captions
from planted.folders import write_evaluation, write_log
from planted.questions import LAST, plant

from tprprobe.analyses.clustering import cluster, save_clusters
from tprprobe.analyses.naming import name_all
from tprprobe.errors import InputError
from tprprobe.figures.report.page import report_run, write_report
from tprprobe.figures.report.sections import Section
from tprprobe.figures.style import drawing
from tprprobe.figures.tables import Table

VOID = {"meta", "br", "link", "img", "hr"}


class Page(HTMLParser):
    """What a browser would find: ids, references, elements that load, visible text; well nested."""

    def __init__(self, file):
        super().__init__()
        self.ids, self.references, self.loaded, self.open, self.text = [], [], [], [], []
        self.feed(file.read_text("utf-8"))
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in VOID else [tag]
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href", "src"):
                (self.references if value.startswith("#") else self.loaded).append(value)
            if "url(" in (value or ""):
                self.references.append("#" + value.split("url(#")[1].split(")")[0])
        if tag in ("script", "link", "iframe", "object"):
            self.loaded.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def shown(self):
        return " ".join(" ".join(self.text).split())


def line(values):
    figure = drawing(2, 1)
    figure.add_subplot().plot(values, marker="o")
    return figure


@pytest.fixture
def sections():
    table = pd.DataFrame(
        {"question": ["1 < 2 & <b>?"], "n": [3], "share": [0.123456], "f": [np.nan]}
    )
    return [
        Section(
            "First <i>", "Two\nlines & more.", {"A line": line([1, 2]), "Another": line([2, 1])}
        ),
        Section("Second", tables=[table, Table(pd.DataFrame({"a": ["x"], "b": ["7"]}), "T")]),
    ]


def test_report_is_self_contained_and_well_formed(tmp_path, sections):
    file = write_report(
        tmp_path / "new", "Title & co", "A lead <script>alert(1)</script>.", sections
    )
    assert file == tmp_path / "new" / "report.html"
    page = Page(file)
    assert page.loaded == []
    assert len(page.ids) == len(set(page.ids))
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert file.read_text("utf-8").count("<svg ") == 2
    for text in (
        "Title & co",
        "A lead <script>alert(1)</script>.",
        "First <i>",
        "Two lines & more.",
    ):
        assert text in page.shown
    assert "1 < 2 & <b>?" in page.shown


def test_numbers_are_rounded_and_set_to_the_right(tmp_path, sections):
    html = write_report(tmp_path, "T", "L", sections).read_text("utf-8")
    for text in ("3", "0.1235", "–", "7"):
        assert f'<td class="number short">{text}</td>' in html
    assert '<th class="number">share</th>' in html
    assert '<td class="short">x</td>' in html


def test_report_of_a_run_has_every_figure_of_it(tmp_path):
    plant(tmp_path / "run" / "store", 6, model={"name": "planted", "sha256": "of planted"})
    write_evaluation(tmp_path / "run" / "eval", sha256="of planted")
    write_log(tmp_path / "run" / "training")
    file = report_run(tmp_path / "run")
    page = Page(file)
    assert file.parent == tmp_path / "run"
    for text in (
        "encoder.1.self.role",
        "Role clusters",
        "Attention",
        "printed (final)",
        "Training loss",
    ):
        assert text in page.shown
    assert "Not drawn: unknown split 'extrapolate'" in page.shown  # nothing of it was evaluated
    assert page.loaded == []


def test_report_of_a_store_leaves_out_what_is_of_others(tmp_path):
    run = tmp_path / "runs"
    model = {"name": "own", "sha256": "of own"}
    store, second_store = plant(run / "a", 6, model=model), plant(run / "b", 6, seed=1)
    for name, planted in (("clusters-a", store), ("clusters-b", second_store)):
        save_clusters([cluster(planted, LAST, head=0, k=4, n_seeds=2)], run / name, planted)
    write_evaluation(run / "eval-a", "own", sha256="of own")
    write_evaluation(run / "eval-b", "other", sha256="of other")
    write_evaluation(run / "eval-old", "unsaid")
    text = Page(report_run(run)).shown
    assert "Left out, as they are of other stores: clusters-b, eval-b." in text
    assert "Left out, as they do not say of which store they are: eval-old." in text
    assert text.count("stability (ARI of seeds)") == 1
    assert "other" not in text.split("Exact match averaged")[1].split("Role clusters")[0]
    assert "own" in text


def test_figures_that_do_not_concern_a_store_are_not_listed(tmp_path):
    plant_captions(tmp_path / "store", 60)
    text = Page(report_run(tmp_path)).shown
    assert "Unbinding vectors of nouns" in text
    assert "unknown site" not in text
    assert "Role clusters" not in text


def test_report_of_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no store, no evaluation and no log"):
        report_run(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        write_report(tmp_path / "file", "T", "L", [])


def test_the_report_of_a_run_tells_its_clusters_and_their_names(tmp_path):
    store = plant(tmp_path / "run" / "store", 80)
    save_clusters(
        [cluster(store, LAST, head=0, k=6, n_seeds=2)], tmp_path / "run" / "clusters", store
    )
    naming = name_all(store, LAST, k=6, out=tmp_path / "run" / "names")
    page = Page(report_run(tmp_path / "run"))
    names = naming.names.query("vectors == 'role' and head == 0 and name != 'unnamed'")["name"]
    assert len(names) >= 3
    for name in names:
        assert name in page.shown
    assert "Controls that this run does not have: query, key, filler, " in page.shown
    assert "nan" not in page.shown.lower()


def test_the_page_of_examine_stays(tmp_path):
    (tmp_path / "examination.json").write_text("{}")
    (tmp_path / "report.html").write_text("the page")
    with pytest.raises(InputError, match=r"is the page of `tprprobe examine`: give --out"):
        report_run(tmp_path)
    assert (tmp_path / "report.html").read_text() == "the page"
