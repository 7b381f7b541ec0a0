"""The dashboard on stores of 10k, 100k and 1M tokens, in a headless Chromium: seconds and memory.

python benchmarks/app.py [TOKENS…]    prints a table in Markdown
"""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.cli.server import find_port
from tprprobe.store import SiteSpec, StoreWriter

TOKENS = (10_000, 100_000, 1_000_000)
MARKS = 5  # the median is reported
LENGTH, BLOCK, N_MAPPED = 20, 2500, 32  # tokens of a sample, samples of a block and with attention
CHROMIUM = "/usr/bin/chromium"
ROLE, MAPS = "encoder.0.self.role", "encoder.0.self.attention"
SITES = {
    ROLE: SiteSpec(("source", "head", "d_head"), (2, 16)),
    MAPS: SiteSpec(("source_source", "head"), (2,)),
}
COLUMNS = (
    "tokens",
    "cold view",
    "its CPU",
    "warm view",
    "Roles, cold",
    "Roles, its CPU",
    "Roles, warm",
    "head",
    "head, its CPU",
    "mark, painted (ms)",
    "mark, in the address (ms)",
    "GB",
)
CELL = ".strips .sign"
WATCH = """() => {
  window.seen = {};
  window.addEventListener("pointerup", (event) => { window.seen.event = event.timeStamp; }, true);
  const part = (name) =>
    [...document.querySelectorAll(`.st-key-linked-${name} *`)].find((each) => each.shadowRoot).shadowRoot;
  const [map, strips] = [part("map"), part("strips")];
  const look = (now) => {
    const { seen } = window;
    if (seen.event && !seen.painted && strips.querySelector(".marked") && /[1-9].* marked/.test(map.querySelector(".tally").textContent))
      requestAnimationFrame(() => { seen.painted = performance.now(); });  // the next frame: this one is on the screen
    if (seen.event && !seen.address && location.search.includes("mark=")) seen.address = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


def write(path: Path, tokens: int) -> None:
    """A store of random vectors around 12 centers."""
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(12, 2, 16))
    writer = StoreWriter.create(path, SITES, {"model": {"name": "made"}, "data": {"name": "made"}})
    for start in range(0, tokens // LENGTH, BLOCK):
        samples = np.arange(start, min(start + BLOCK, tokens // LENGTH))
        kinds = rng.integers(12, size=len(samples) * LENGTH)
        table = pd.DataFrame(
            {
                "side": "source",
                "sample": np.repeat(samples, LENGTH),
                "position": np.tile(np.arange(LENGTH), len(samples)),
                "token": np.array(list("abcdefghijkl"))[kinds],
                "question": np.repeat([f"sample {sample}" for sample in samples], LENGTH),
                "answer": "1",
                "prediction": "1",
                "correct": np.repeat(samples % 3 > 0, LENGTH),
            }
        )
        values = centers[kinds] + rng.normal(size=(len(kinds), 2, 16))
        mapped = range(min(N_MAPPED, len(samples)) if start == 0 else 0)
        maps = [rng.dirichlet(np.ones(LENGTH), (2, LENGTH)).astype("float32") for _ in mapped]
        writer.append({ROLE: values}, table, {MAPS: maps} if maps else {})
    writer.finish()


@contextmanager
def server(runs: Path) -> Iterator[tuple[str, int]]:
    """The address of a fresh dashboard, and its process."""
    port = find_port(None)
    command = [sys.executable, "-m", "tprprobe", "app", str(runs), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    while True:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    yield address, process.pid
    process.terminate()
    process.wait()


def measure(browser, runs: Path) -> list[float]:
    """Seconds, in the order of COLUMNS, and the server's memory."""
    view, seconds = '[class*="st-key-lead"] p', []
    with server(runs) as (address, pid):
        page = browser.new_page(viewport={"width": 1400, "height": 1400})
        page.set_default_timeout(300_000)
        seconds.append(visit(page, address, view))
        seconds.append(processor(pid))
        seconds.append(visit(page, address, view))
        page.close()
    with server(runs) as (address, pid):
        page = browser.new_page(viewport={"width": 1400, "height": 1400})
        page.set_default_timeout(300_000)
        seconds.append(visit(page, f"{address}/roles", CELL))
        settle(page)
        seconds.append(processor(pid))
        seconds.append(visit(page, f"{address}/roles", CELL))
        settle(page)
        before = processor(pid)
        seconds.append(clock(lambda: choose_head(page)))
        settle(page)
        seconds.append(processor(pid) - before)
        page.evaluate(WATCH)
        marks = [mark(page) for _ in range(MARKS)]
        seconds += np.median(marks, axis=0).tolist()
        seconds.append(memory(pid))
        page.close()
    return seconds


def settle(page) -> None:
    """Waits until the server has nothing more to send, and the browser has drawn it."""
    page.wait_for_timeout(300)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def visit(page, address: str, awaited: str) -> float:
    return clock(lambda: (page.goto(address), page.wait_for_selector(awaited)))


def processor(pid: int) -> float:
    """Seconds that the processor worked for a process: what waiting for others does not lengthen."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def clock(act) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def choose_head(page) -> None:
    page.get_by_role("combobox", name="Head").first.click()
    page.get_by_role("option", name="1", exact=True).click()
    page.locator('canvas[aria-label*="head 1,"]').wait_for()


def mark(page) -> list[float]:
    """Milliseconds from the end of a lasso on the map to marked tokens, painted, and to the address."""
    page.keyboard.press("Escape")
    settle(page)
    page.evaluate("() => { window.seen = {}; }")
    area = page.locator(".over").bounding_box()
    page.mouse.move(area["x"] + 5, area["y"] + 5)
    page.mouse.down()
    for right, down in ((0.6, 0), (0.6, 0.6), (0, 0.6), (0, 0)):
        x, y = area["x"] + 5 + right * area["width"], area["y"] + 5 + down * area["height"]
        page.mouse.move(x, y, steps=10)
    page.mouse.up()
    page.wait_for_function("window.seen.painted && window.seen.address")
    times = page.evaluate("window.seen")
    return [times[name] - times["event"] for name in ("painted", "address")]


def memory(pid: int) -> float:
    """Most memory that the process has held, in GB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1e6


def main(sizes: list[int]) -> None:
    from playwright.sync_api import sync_playwright

    print("| " + " | ".join(COLUMNS) + " |\n" + "|---:" * len(COLUMNS) + "|")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        for tokens in sizes:
            runs = Path(folder) / str(tokens)
            write(runs / "store", tokens)
            measured = zip(COLUMNS[1:], measure(browser, runs), strict=True)
            cells = [
                f"{value:.0f}" if "(ms)" in name else f"{value:.1f}" for name, value in measured
            ]
            print("| " + " | ".join([f"{tokens:,}", *cells]) + " |", flush=True)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or list(TOKENS))
