"""The demo: what it leaves, and the dashboard over it."""

import re

import pytest

from tprpapers.demo import run_demo
from tprprobe.errors import InputError
from tprprobe.store import open_store


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder that `tprprobe demo` leaves."""
    return run_demo(tmp_path_factory.mktemp("runs") / "demo").parent


def test_the_demo_leaves_a_report_its_figures_and_a_store(demo):
    out = demo
    report = (out / "report.html").read_text()
    assert {"schlag-fig2.pdf", "schlag-fig3.pdf"} <= {file.name for file in out.iterdir()}
    assert "<svg" in report
    assert "://" not in report.replace("http://www.w3.org", "")
    store = open_store(out / "store")
    assert store.samples == 128
    assert store.control is not None


def test_the_dashboard_shows_the_run_that_the_demo_made(demo, open_page):
    """Its store is found, its clusters have names, its attention is drawn."""
    overview = open_page(demo.parent)
    assert not overview.exception
    assert "were answered right" in overview.markdown[0].value
    roles = open_page(demo.parent, "roles")
    assert not roles.exception
    lead = next(text.value for text in roles.markdown if "of 20 clusters" in text.value)
    match = re.search(r"(\d+) of 20 clusters .*precision (0\.9\d|1\.00)", lead.replace("\\", ""))
    assert match, lead
    assert int(match[1]) >= 3
    attention = open_page(demo.parent, "attention")
    assert not attention.exception
    assert attention.get("bidi_component")


def test_the_demo_replaces_no_folder_that_is_not_its_own(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not empty"):
        run_demo(tmp_path)
    assert (tmp_path / "thesis.txt").exists()
