"""Ten questions of a reader, answered in the dashboard by clicking alone: seconds, and a screenshot each.

python -m tests.app.questions RUNS [FOLDER]   RUNS holds stores with probes, a decomposition, attention maps, edits of pairs, and
                                               the folders of their models; screenshots go to FOLDER; prints Markdown
"""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.app import CHROMIUM, server

MAX_SECONDS = 60  # seconds a question
QUIET = '[data-testid="stApp"][data-test-script-state="notRunning"]'
LEAD = '[class*="st-key-lead"]'
TEXT = "The capital of France is Paris and the capital of Italy is"


class Reader:
    """A reader in front of the dashboard, who clicks."""

    def __init__(self, page: Any, address: str):
        self.page, self.address = page, address

    def open(self, name: str, store: str) -> None:
        """A page by its link at the left, for a store chosen in the list."""
        self.page.goto(self.address)
        self.settle()
        self.choose("Store", store)
        if name != "Overview":
            self.click(self.page.get_by_role("link", name=name, exact=True).first)

    def settle(self) -> None:
        """Waits until the server has nothing more to draw."""
        self.page.wait_for_selector("h1")
        self.page.wait_for_timeout(500)
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

    def write(self, label: str, text: str) -> None:
        self.page.get_by_label(label, exact=True).fill(text)
        self.page.keyboard.press("Control+Enter")
        self.settle()

    def read(self, words: str) -> str:
        """The first line that has these words."""
        return (
            self.page.locator(LEAD)
            .filter(has_text=words)
            .first.inner_text(timeout=MAX_SECONDS * 1000)
        )


def ask_layer(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Layers", stores["probes"])
    return reader.read("DEP F1")


def ask_beyond(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Probes", stores["probes"])
    reader.choose("Task", "dep")
    return reader.read("Above every control")


def ask_mistakes(reader: Reader, stores: dict[str, str]) -> str:
    ask_beyond(reader, stores)
    reader.click(reader.page.get_by_text("Confused labels"))
    return reader.read("most frequent mistake")


def ask_bindings(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Decomposition", stores["decompositions"])
    return reader.read("bindings add")


def ask_words(reader: Reader, stores: dict[str, str]) -> str:
    ask_bindings(reader, stores)
    reader.click(reader.page.get_by_text("Fit these roles"))
    return reader.page.get_by_text("does not explain").inner_text(timeout=MAX_SECONDS * 1000)


def ask_object(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Attention", stores["maps"])
    reader.choose("Relation", "obj")
    return reader.read("(obj)")


def ask_roles(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Roles", stores["probes"])
    return reader.read("a name that holds")


def ask_exchange(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Ask", stores["behaviors"])
    reader.click(reader.page.get_by_role("button", name=re.compile("^Load")))
    reader.write("Text", TEXT)
    for word in ("Paris", "Italy"):
        reader.click(reader.page.locator(".tokens button").filter(has_text=word).first)
    return reader.read("exchanged: the next word")


def ask_pairs(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Interventions", stores["behaviors"])
    return reader.read("expected next")


def ask_difference(reader: Reader, stores: dict[str, str]) -> str:
    reader.open("Compare", stores["probes"])
    return reader.read("agree by")


QUESTIONS: dict[str, Callable[[Reader, dict[str, str]], str]] = {
    "Which layer knows DEP best?": ask_layer,
    "Beyond what?": ask_beyond,
    "Confused labels?": ask_mistakes,
    "Does a layer bind beyond addition?": ask_bindings,
    "Which words of a sentence are worst explained?": ask_words,
    "Which head follows the object relation?": ask_object,
    "What is the surest role?": ask_roles,
    "What becomes of the next word when Paris and Italy change places?": ask_exchange,
    "Where do edits of pairs move what is expected next?": ask_pairs,
    "What differs from the permuted twin?": ask_difference,
}


def find_stores(runs: Path) -> dict[str, str]:
    """By kind of result the name of a store that has one; of ``maps`` one with labels and attention maps."""
    from tprprobe.dashboard.contents import list_contents, list_maps
    from tprprobe.dashboard.folders import find_runs

    run_folders = find_runs(runs)
    stores = {name: run_folders.open(name) for name in run_folders.names("store")}
    kinds = ("probes", "decompositions", "behaviors")
    has = {
        kind: [n for n, store in stores.items() if run_folders.beside(store, kind)]
        for kind in kinds
    }
    has["maps"] = [n for n, s in stores.items() if list_maps(s) and list_contents(s).labels]
    return {kind: names[0] for kind, names in has.items() if names}


def main(runs: Path, out: Path) -> None:
    from playwright.sync_api import Error, sync_playwright

    stores = find_stores(runs)
    out.mkdir(parents=True, exist_ok=True)
    print("| question | answered | s | the page's first line |\n|---|---|---:|---|")
    with sync_playwright() as playwright, server(runs) as (address, _):
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        for number, (question, ask) in enumerate(QUESTIONS.items(), 1):
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            page.set_default_timeout(MAX_SECONDS * 1000)
            start = time.perf_counter()
            try:
                answer = " ".join(ask(Reader(page, address), stores).split())
            except Error as error:
                answer = f"not answered: {str(error).splitlines()[0]}"
            seconds = time.perf_counter() - start
            page.screenshot(path=out / f"question-{number}.png")
            is_answered = not answer.startswith("not answered") and seconds < MAX_SECONDS
            verdict = "yes" if is_answered else "no"
            print(f"| {question} | {verdict} | {seconds:.0f} | {answer} |", flush=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "questions"))
