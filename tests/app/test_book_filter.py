"""What the book does in a browser, from a folder: buttons that show a table's rows of one verdict, and the search."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


BOOK = """site_name: Small
use_directory_urls: false
theme: {{name: material, font: false}}
{of_the_book}
"""


def test_the_search_works_from_a_file_and_asks_no_network(browser, tmp_path: Path):
    """The settings of the book's search, of a book of one page."""
    pytest.importorskip("material")
    errors = pytest.importorskip("playwright.sync_api")
    settings = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    of_the_book = settings[settings.index("extra:\n") : settings.index("  - mkdocstrings")]
    (tmp_path / "mkdocs.yml").write_text(BOOK.format(of_the_book=of_the_book))
    (tmp_path / "docs" / "images").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("# Start\n\n## Gauges\n\nNo scale is an island.\n")
    shutil.copy(DOCS / "images" / "iframe-worker.js", tmp_path / "docs" / "images")
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    subprocess.run(build, cwd=tmp_path, env=quiet, check=True)
    page, requested = browser.new_page(), []
    page.on("request", lambda request: requested.append(request.url))
    page.goto((tmp_path / "site" / "index.html").as_uri())
    query, result = page.locator("input[name=query]"), page.locator(".md-search-result__item").first
    for _ in range(6):  # what is typed before the worker is there is lost
        query.fill("")
        query.press_sequentially("island")
        with contextlib.suppress(errors.TimeoutError):
            result.wait_for(state="attached", timeout=10_000)
            break
    assert "Gauges" in result.inner_text()
    assert {url.partition(":")[0] for url in requested} <= {"file", "data", "blob"}
    page.close()
