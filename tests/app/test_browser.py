"""The main path in a real browser: open a run, change the head, select points, export a PDF."""

import re
from itertools import pairwise

import pytest
from matplotlib.figure import Figure

from tprprobe.figures.labels import site_label
from tprprobe.figures.report.page import Section, write_report

WAIT = 90_000  # ms: a shared core may be slow
CHOSEN = "document.querySelector('.st-key-scored-heads').querySelector('.squares [aria-pressed=true]')?.name"


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


def marked(page):
    """The rows of the marked tokens in the strips."""
    return page.eval_on_selector_all(".strips .marked", "all => all.map(e => e.row)")


def lasso(page, corners):
    """Drags a lasso over the map through corners, shares of its width and height."""
    area = page.locator(".over").bounding_box()
    x, y, width, height = (area[key] for key in ("x", "y", "width", "height"))
    page.mouse.move(x + 5, y + 5)
    page.mouse.down()
    for right, down in corners:
        page.mouse.move(x + 5 + right * width, y + 5 + down * height, steps=4)
    page.mouse.up()


def test_the_main_path(page, server, tmp_path):
    page.goto(f"{server}/roles")
    page.wait_for_selector(".strips .sign")
    settle(page)
    assert not marked(page)  # nothing is marked yet

    page.get_by_role("combobox", name=re.compile("Head")).click()
    page.get_by_role("option", name="1", exact=True).click()
    page.wait_for_url("**head=1*")
    settle(page)
    assert page.get_by_text("layer 1, role, head 1, colored by cluster").count()

    lasso(page, ((0.9, 0), (0.9, 0.6), (0, 0.6), (0, 0)))
    page.wait_for_url("**mark=*")
    settle(page)
    rows = marked(page)
    assert 0 < len(rows) < page.locator(".strips .sign").count()
    assert page.locator(".tally").inner_text().endswith("tokens are marked")
    assert page.get_by_text("Marked tokens").count()

    page.get_by_role("button", name="Export").first.click()
    with page.expect_download() as begun:
        page.get_by_role("button", name="PDF", exact=True).first.click()
    file = tmp_path / "map.pdf"
    begun.value.save_as(file)
    assert file.read_bytes().startswith(b"%PDF")
    assert file.stat().st_size > 5000

    outside = [url for url in page.asked if not url.startswith((server, "data:", "blob:"))]
    assert not outside


def test_a_mark_is_painted_before_the_server_knows_and_then_in_the_address(page, server):
    page.goto(f"{server}/roles?k=6")
    page.wait_for_selector(".strips .sign")
    settle(page)
    painted = page.locator("td button").first.evaluate(
        """button => {
            const find = name => [...document.querySelectorAll(`.st-key-linked-${name} *`)].find(e => e.shadowRoot).shadowRoot;
            const before = find("map").querySelector("canvas").toDataURL();
            button.click();
            return {
                cells: find("strips").querySelectorAll(".marked").length,
                rows: find("map").querySelectorAll("tr.marked").length,
                tally: find("map").querySelector(".tally").textContent,
                map: find("map").querySelector("canvas").toDataURL() !== before,
                address: location.search,
            };
        }"""
    )  # one task of the browser: no server could have answered
    assert painted["cells"] > 0
    assert painted["rows"] == 1
    assert "tokens are marked" in painted["tally"]
    assert painted["map"]
    assert "mark=" not in painted["address"]
    page.wait_for_url("**mark=cluster*0*")
    settle(page)
    assert len(marked(page)) == painted["cells"]

    page.locator(".tokens button").nth(2).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_url("**mark=source*2-3*")
    assert marked(page) == [2, 3]
    page.keyboard.press("Escape")
    page.wait_for_function("!location.search.includes('mark=')")
    assert not marked(page)


def test_a_mark_goes_along_to_another_page_where_the_head_of_a_square_is_shown(page, server):
    page.goto(f"{server}/roles?mark=source:0")
    page.wait_for_selector(".strips .marked")
    settle(page)
    page.get_by_role("link", name="Attention").click()
    page.wait_for_url("**/attention*")
    page.wait_for_selector(".column .marked")  # the mark went along
    settle(page)
    assert 0 < page.locator(".column .marked").count() < page.locator(".column button").count()
    square = page.locator(".squares button[aria-pressed=false]").last
    site, _, head = square.get_attribute("name").partition(":")
    square.click()
    page.get_by_text(f"{site_label(site, int(head))}, sample 0").first.wait_for()
    settle(page)
    chosen = page.locator(".squares [aria-pressed=true]")
    assert chosen.get_attribute("name") == f"{site}:{head}"
    page.get_by_role("link", name=re.compile("Show layer")).click()  # to this very page
    page.wait_for_function(f"name => {CHOSEN} !== name", arg=f"{site}:{head}")
    settle(page)
    assert not page.locator('[data-testid="stException"]').count()


def test_the_address_of_a_link_reopens_what_is_seen(page, server):
    choices = "site=encoder.0.self.role&head=1&k=5&slice=correct%3DTrue&mark=cluster:2"
    page.goto(f"{server}/roles?link=1&store=demo/store&{choices}")
    page.wait_for_selector(".strips .marked")
    settle(page)
    clusters = page.locator("tr:has(td button)").all_inner_texts()
    assert len(clusters) == 5
    assert "link=" not in page.url
    seen = page.get_by_text("layer 0, role, head 1, colored by cluster")
    assert seen.count()
    rows = marked(page)
    page.goto(page.url)
    page.wait_for_selector(".strips .marked")
    settle(page)
    assert seen.count()
    assert page.locator("tr:has(td button)").all_inner_texts() == clusters
    assert marked(page) == rows
    assert page.get_by_text("The slice ‘correct=True’ chooses samples").count()


def test_tokens_do_nothing_in_the_browser(page, server):
    fired = []
    page.on("dialog", lambda dialog: fired.append(dialog.message) or dialog.dismiss())
    page.goto(f"{server}/roles?mark=<script>alert(1)</script>&store=../../etc&site=<img src=x>")
    page.wait_for_selector("h1")
    settle(page)
    assert not fired
    assert page.get_by_text("colored by cluster").count()  # of the first store, as a line says
    assert page.get_by_text("No store ../../etc here").count()


def test_two_tokens_and_a_head_are_clicked_and_the_first_line_answers(browser, server):
    context = browser.new_context(viewport={"width": 400, "height": 900})
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.goto(f"{server}/ask?tour=0&store=later/asked")
    lead = page.locator('[class*="st-key-lead"]').first
    lead.filter(has_text="the exact answer is -2/7").wait_for()
    tokens = page.locator(".tokens button")
    boxes = [tokens.nth(i).bounding_box() for i in range(11)]
    for box, next_box in pairwise(boxes):  # side by side, or in the next line
        assert next_box["x"] >= box["x"] + box["width"] - 1 or next_box["y"] >= box["y"] + 20
    tokens.nth(2).click()
    tokens.nth(8).click()
    lead.filter(has_text="Roles of ‘12’ (1) and ‘45’ (7) exchanged").wait_for()
    assert "Arithmetic gives ‘-5’" in lead.inner_text()
    pressed = "all => all.flatMap((e, i) => e.getAttribute('aria-pressed') === 'true' ? [i] : [])"
    assert page.eval_on_selector_all(".tokens button", pressed) == [1, 2, 7, 8]
    page.locator(".maps button").nth(1).click()
    lead.filter(has_text="Layer 0, head 1 replaced by 0").wait_for()
    settle(page)
    assert page.eval_on_selector_all(".tokens button", pressed) == []
    assert "picked=encoder.0.self.role" in page.url
    page.get_by_role("button", name="Without the edit").click()
    lead.filter(has_text="tiny answers").wait_for()
    settle(page)
    assert page.locator('[data-testid="stDataFrame"]').count() == 2  # what was tried stays
    context.close()


def test_nothing_that_a_report_holds_is_run_or_fetched(browser, tmp_path):
    """Were markup to slip into a report, its own policy would stop it."""
    figure = Figure()
    figure.add_subplot().imshow([[0, 1], [1, 0]])
    file = write_report(tmp_path, "Title", "Lead", [Section("One", "Text", {"A map": figure})])
    page = browser.new_page()
    messages = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(file.as_uri())
    assert not messages
    assert page.eval_on_selector("svg image", "image => image.getBBox().width") > 0
    slipped = "<script>document.title = 'run'</script><img src='http://localhost:9/x.png'>"
    file.write_text(file.read_text("utf-8").replace("<main>", f"<main>{slipped}"), "utf-8")
    page.goto(file.as_uri())
    assert page.title() == "Title"
    assert sum("Content Security Policy" in text for text in messages) == 2, messages
    page.close()
