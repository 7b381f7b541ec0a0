"""A run that a demo would leave, small, and the dashboard's server over it."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from planted.questions import LAST, plant

from tprprobe.analyses.clustering import cluster, save_clusters
from tprprobe.analyses.decomposition import decompose_all
from tprprobe.extraction import extract
from tprprobe.interventions import Recipe, sweep
from tprprobe.models.architectures import fingerprint
from tprprobe.models.checkpoint import save_pretrained

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"


@pytest.fixture(scope="session")
def runs(tmp_path_factory, fluent, make_data) -> Path:
    """A folder with one run, ``demo``: a store with its control, clusters, a sweep of a model."""
    root = tmp_path_factory.mktemp("app") / "runs"
    recipe = {"n": 12, "reference": 6, "clusters": [2]}
    manifest = {"name": fluent.name, "sha256": fingerprint(fluent)}
    store = plant(root / "demo" / "store", 24, model=manifest)
    plant(root / "demo" / "store" / "untrained", 24, noise=1.0)
    roles = cluster(store, LAST, head=0, k=6, n_seeds=2)
    save_clusters([roles], root / "demo" / "clusters", store)
    pairs = [(f"{a}+{b}", "1" if a % 2 else "2") for a in range(1, 7) for b in range(2, 5)]
    sites, edits = ["encoder.*.self.role"], ["zero", "mean", "snap"]
    for name, heads in (("heads", "each"), ("layers", "all")):
        sweep_recipe = Recipe(**recipe, sites=sites, edits=edits, heads=heads)
        sweep(fluent, make_data(pairs), sweep_recipe, root / "demo" / name)
    return root


@pytest.fixture(scope="session")
def decomposed(tmp_path_factory, fluent, make_data) -> Path:
    """A folder with a tiny model, a store of what it makes of 60 questions, and their decompositions."""
    root = tmp_path_factory.mktemp("decomposed") / "runs"
    save_pretrained(fluent, root / "tiny")
    rng = np.random.default_rng(0)
    data = make_data([("".join(rng.choice(list("abc"), 4)), "a") for _ in range(60)])
    store = extract(fluent, data, ["encoder.0.hidden"], root / "store", control=False)
    options = {"rank": "4x2", "withheld": 0.0}
    decompose_all(store, "encoder.0.hidden", ["left", "bag"], root / "decomposition", **options)
    return root


@pytest.fixture(scope="session")
def asked_runs(tmp_path_factory, fluent, make_data) -> Path:
    """A folder with a tiny model, and a store of its roles and attention on questions."""
    root = tmp_path_factory.mktemp("asked") / "runs"
    save_pretrained(fluent, root / "tiny")
    data = make_data([("12/(3-45)", "-2/7"), *((f"{a}/2-{a}*3", "1") for a in range(2, 10))])
    extract(fluent, data, ["*.role", "*.attention"], root / "asked", control=False)
    return root


@contextmanager
def serve(runs: Path) -> Iterator[str]:
    """The address of a dashboard over the runs, started as its users start it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tprprobe", "app", str(runs), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    while process.poll() is None:  # however long a busy machine takes
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            break
        except OSError:
            time.sleep(0.25)
    assert process.poll() is None, "the dashboard ended before it answered"
    yield address
    process.terminate()
    assert process.wait(20) is not None
    assert not Path(f"/proc/{process.pid}").exists() or os.name == "nt"


@pytest.fixture(scope="session")
def served(runs, asked_runs, tmp_path_factory) -> Path:
    """A folder of the run and, behind it, of a store whose model can be asked."""
    folder = Path(shutil.copytree(runs, tmp_path_factory.mktemp("served") / "runs"))
    shutil.copytree(asked_runs, folder / "later")
    return folder


@pytest.fixture(scope="session")
def server(served) -> Iterator[str]:
    """The address of a dashboard over them."""
    with serve(served) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path(CHROMIUM).exists():
        pytest.skip("no chromium here: apt-get install chromium")
    with api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()
