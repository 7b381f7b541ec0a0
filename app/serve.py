"""The dashboard's server: Streamlit behind a doorkeeper; what pages compute with is imported while the first one loads."""

import importlib
import sys
import threading
import time
from pathlib import Path
from typing import Any

import state
import streamlit
from doorkeeper import Doorkeeper
from streamlit import env_util
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime import Runtime
from streamlit.web import bootstrap
from streamlit.web.cli import main
from streamlit.web.server.starlette import starlette_server

from tprprobe import plugins

WHERE = b"<script>window.__streamlit = {BACKEND_BASE_URL: location.origin}</script>"  # not sought below every page
STARTING = b'<p style="font: 1.1rem sans-serif; padding: 3rem">The dashboard starts.</p>'  # until it is drawn
AT_ONCE = tuple(f"dashboard.{name}" for name in ("contents", "folders", "run_summary"))
LATER = ("dashboard.scene", "dashboard.decompositions", "figures.charts")
QUIET = 2  # seconds in which the browser draws the first page


def prepare() -> None:
    """Imports what the first page needs, and once it is drawn, what the others need."""
    while not Runtime.exists():
        time.sleep(0.05)
    importlib.import_module("zarr")
    for name in AT_ONCE:
        importlib.import_module(f"tprprobe.{name}")
    state.FIRST_PAGE.wait()
    time.sleep(QUIET)
    for name in LATER:
        importlib.import_module(f"tprprobe.{name}")


def keep_doors() -> None:
    server: Any = starlette_server
    create = server.create_starlette_app
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_bytes()
    page = page.replace(b"<head>", b"<head>" + WHERE, 1)
    page = page.replace(b'<div id="root">', b'<div id="root">' + STARTING, 1)
    quiet: Any = bootstrap
    quiet._print_url = lambda _: None  # the command has said it
    server.create_starlette_app = lambda runtime: Doorkeeper(create(runtime), page)


if __name__ == "__main__":
    keep_doors()
    if not plugins.find("pages"):  # else theirs may have parts that other packages bring
        manifest_scanner.scan_component_manifests = list  # reads a file of every package
    env_util.is_repl = lambda: False  # else the first view searches all modules for the answer
    threading.Thread(target=prepare, daemon=True).start()
    sys.exit(main(prog_name="streamlit"))
