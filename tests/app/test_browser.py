"""The main path in a real browser: open a run, change the head, select points, export a PDF."""

import re

import pytest
from matplotlib.figure import Figure

from tprprobe.figures.report.page import Section, write_report

WAIT = 90_000  # ms: a shared core may be slow


@pytest.fixture
def page(browser, server):
    """A page of the dashboard that notes every address it asks for."""
    context = browser.new_context(viewport={"width": 1400, "height": 1500}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(WAIT)
    opened.asked = []
    opened.on("request", lambda request: opened.asked.append(request.url))
    yield opened
    context.close()


def settle(page):
    """Waits until the server has nothing more to draw."""
    page.wait_for_timeout(700)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def widths(page, name):
    """The outlines of the cells of a strip chart: marked ones are thick."""
    style = f'[class*="st-key-{name}"] .barlayer .point path'
    return page.eval_on_selector_all(style, "all => all.map(e => e.style.strokeWidth)")


def test_the_main_path(page, server, tmp_path):
    page.goto(f"{server}/roles")
    page.wait_for_selector('[class*="st-key-strips"] .barlayer .point path')
    settle(page)
    assert len(set(widths(page, "strips"))) == 1  # nothing is marked yet

    page.get_by_role("combobox", name=re.compile("Head")).click()
    page.get_by_role("option", name="1", exact=True).click()
    page.wait_for_url("**head=1*")
    settle(page)
    assert page.get_by_text("encoder.1.self.role, head 1, coloured by cluster").count()

    area = page.locator('[class*="st-key-map"] .nsewdrag').first.bounding_box()
    x, y, width, height = (area[key] for key in ("x", "y", "width", "height"))
    page.mouse.move(x + 5, y + 5)
    page.mouse.down()
    for right, down in ((0.9, 0), (0.9, 0.6), (0, 0.6), (0, 0)):
        page.mouse.move(x + 5 + right * width, y + 5 + down * height, steps=4)
    page.mouse.up()
    page.wait_for_url("**mark=*")
    settle(page)
    thick = widths(page, "strips")
    assert len(set(thick)) == 2  # some tokens are marked, the others are still there
    assert page.get_by_text("tokens are marked").count()

    page.locator('[class*="st-key-map"]').first.wait_for()
    page.get_by_role("button", name="Export").first.click()
    with page.expect_download() as begun:
        page.get_by_role("button", name="PDF").first.click()
    file = tmp_path / "map.pdf"
    begun.value.save_as(file)
    assert file.read_bytes().startswith(b"%PDF")
    assert file.stat().st_size > 5000

    shared = page.url
    page.goto(shared)  # what is marked is in the address
    page.wait_for_selector('[class*="st-key-strips"] .barlayer .point path')
    settle(page)
    assert widths(page, "strips") == thick
    outside = [each for each in page.asked if not each.startswith((server, "data:", "blob:"))]
    assert not outside


def test_a_cluster_chosen_in_the_table_is_marked_in_the_strips(page, server):
    page.goto(f"{server}/roles?mark=cluster:0")
    page.wait_for_selector('[class*="st-key-strips"] .barlayer .point path')
    settle(page)
    assert len(set(widths(page, "strips"))) == 2
    page.get_by_role("link", name="Attention").click()
    page.wait_for_selector('[class*="st-key-tokens"] .barlayer .point path')
    settle(page)
    assert len(set(widths(page, "tokens"))) == 2  # the mark went along


def test_tokens_do_nothing_in_the_browser(page, server):
    fired = []
    page.on("dialog", lambda dialog: fired.append(dialog.message) or dialog.dismiss())
    page.goto(f"{server}/roles?mark=<script>alert(1)</script>&store=../../etc&site=<img src=x>")
    page.wait_for_selector("h1")
    settle(page)
    assert not fired
    assert page.get_by_text("coloured by cluster").count()  # the first store is shown


def test_nothing_that_a_report_holds_is_run_or_fetched(browser, tmp_path):
    """Were markup to slip into a report, its own policy would stop it."""
    figure = Figure()
    figure.add_subplot().imshow([[0, 1], [1, 0]])
    file = write_report(tmp_path, "Title", "Lead", [Section("One", "Text", {"A map": figure})])
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(file.as_uri())
    assert not said
    assert page.eval_on_selector("svg image", "image => image.getBBox().width") > 0
    slipped = "<script>document.title = 'run'</script><img src='http://localhost:9/x.png'>"
    file.write_text(file.read_text("utf-8").replace("<main>", f"<main>{slipped}"), "utf-8")
    page.goto(file.as_uri())
    assert page.title() == "Title"
    assert sum("Content Security Policy" in each for each in said) == 2, said
    page.close()
