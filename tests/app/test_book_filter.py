"""What the book does in a browser, from a folder: buttons that show a table's rows of one verdict."""

from pathlib import Path

from studies.book.executed_pages import DOCS

SCRIPT = DOCS / "images" / "book.js"
PAGE = """<script>const document$ = {{ subscribe: (ready) => addEventListener("load", ready) }}</script>
<article><table><thead><tr><th>claim</th><th>verdict</th></tr></thead><tbody>{rows}</tbody></table>
<table><thead><tr><th>claim</th></tr></thead><tbody><tr><td>no verdict</td></tr></tbody></table></article>
<script src="{script}"></script>"""
VERDICTS = ("holds", "fails", "holds", "undecided")


def test_a_table_of_verdicts_shows_the_rows_of_one(browser, tmp_path: Path):
    rows = "".join(f"<tr><td>{n}</td><td>{verdict}</td></tr>" for n, verdict in enumerate(VERDICTS))
    file = tmp_path / "page.html"
    file.write_text(PAGE.format(rows=rows, script=SCRIPT.as_uri()))
    page = browser.new_page()
    page.goto(file.as_uri())
    buttons = page.locator(".filter button")
    assert buttons.all_inner_texts() == ["all 4", "holds 2", "fails 1", "undecided 1"]
    visible_rows = page.locator("table").first.locator("tbody tr:visible")
    buttons.nth(1).click()
    assert visible_rows.all_inner_texts() == ["0\tholds", "2\tholds"]
    buttons.nth(0).click()
    assert visible_rows.count() == len(VERDICTS)
    page.close()
