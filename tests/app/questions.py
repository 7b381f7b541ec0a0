"""Six questions of a reader, answered in the dashboard by clicking alone: seconds, and a screenshot each.

python -m tests.app.questions RUNS [FOLDER]   RUNS holds a run of `tprprobe demo` and a store with probes; the
                                               screenshots go to FOLDER; prints a table in Markdown
"""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.app import CHROMIUM, server

MOST = 60  # seconds a question
QUIET = '[data-testid="stApp"][data-test-script-state="notRunning"]'
LEAD = '[class*="st-key-lead"]'


class Reader:
    """A reader in front of the dashboard, who clicks."""

    def __init__(self, page: Any, address: str):
        self.page, self.address = page, address

    def open(self, name: str, store: str) -> None:
        """A page by its link at the left, for a store chosen in the list."""
        self.page.goto(self.address)
        self.settle()
        if self.page.get_by_role("button", name="Leave the tour").count():
            self.click(self.page.get_by_role("button", name="Leave the tour"))
        self.choose("Store", store)
        if name != "Overview":
            self.click(self.page.get_by_role("link", name=name, exact=True).first)

    def settle(self) -> None:
        """Waits until the server has nothing more to draw."""
        self.page.wait_for_selector("h1")
        self.page.wait_for_timeout(700)
        self.page.wait_for_selector(QUIET)

    def click(self, target: Any) -> None:
        target.click()
        self.settle()

    def choose(self, label: str, option: str) -> None:
        """An option of a list, unless it is chosen already."""
        box = self.page.get_by_role("combobox", name=re.compile(label)).first
        if option not in (box.get_attribute("aria-label") or ""):
            box.click()
            self.page.get_by_role("option", name=option, exact=True).click()
            self.settle()

    def read(self, words: str) -> str:
        """The first line that has these words."""
        return self.page.locator(LEAD).filter(has_text=words).first.inner_text(timeout=MOST * 1000)


def ask_heads(reader: Reader, stores: list[str]) -> str:
    reader.open("Overview", stores[0])
    atoms = reader.page.locator('[class*="st-key-atom"] button')
    reader.click(atoms.filter(has_text=re.compile("^denominator$")))
    return reader.read("a role for")


def ask_controls(reader: Reader, stores: list[str]) -> str:
    reader.open("Probes", stores[0])
    return reader.read("Numerator or denominator?")


def ask_decoder(reader: Reader, stores: list[str]) -> str:
    reader.open("Probes", stores[1])
    reader.choose("Task", "pos")
    return reader.read("POS is read best")


def ask_attention(reader: Reader, stores: list[str]) -> str:
    reader.open("Attention", stores[0])
    return reader.read("follows ‘/’ most")


def ask_exchange(reader: Reader, stores: list[str]) -> str:
    reader.open("Ask", stores[0])
    numbers = reader.page.locator(".tokens button").filter(has_text=re.compile(r"^\d"))
    for at in (0, 1):
        reader.click(numbers.nth(at))
    return reader.read("exchanged: the answer")


def ask_difference(reader: Reader, stores: list[str]) -> str:
    reader.open("Compare", stores[0])
    return reader.read("agree by")


QUESTIONS: dict[str, Callable[[Reader, list[str]], str]] = {
    "Which heads of this model have a role for denominators?": ask_heads,
    "Is that more than q, k, v know?": ask_controls,
    "Where in the decoder is POS, beyond the controls?": ask_decoder,
    "Which attention head follows '/'?": ask_attention,
    "What happens to the answer if two numbers exchange roles?": ask_exchange,
    "What differs between these two models?": ask_difference,
}


def main(runs: Path, out: Path) -> None:
    from playwright.sync_api import Error, sync_playwright

    from tprprobe.dashboard.folders import find_runs

    found = find_runs(runs)
    names = found.names("store")
    probed = next((each for each in names if found.beside(found.open(each), "probes")), names[0])
    named = next((each for each in names if found.beside(found.open(each), "names")), names[0])
    out.mkdir(parents=True, exist_ok=True)
    print("| question | answered | s | the page's first line |\n|---|---|---:|---|")
    with sync_playwright() as playwright, server(runs) as (address, _):
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        for number, (question, ask) in enumerate(QUESTIONS.items(), 1):
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            page.set_default_timeout(MOST * 1000)
            start = time.perf_counter()
            try:
                answer = " ".join(ask(Reader(page, address), [named, probed]).split())
            except Error as error:
                answer = f"not answered: {str(error).splitlines()[0]}"
            seconds = time.perf_counter() - start
            page.screenshot(path=out / f"question-{number}.png")
            is_answered = not answer.startswith("not answered") and seconds < MOST
            print(
                f"| {question} | {'yes' if is_answered else 'no'} | {seconds:.0f} | {answer} |",
                flush=True,
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "questions"))
