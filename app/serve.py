"""The dashboard's server: Streamlit behind a doorkeeper, and what pages compute with, imported while the first
page still loads.
"""

import importlib
import sys
import threading
import time
from pathlib import Path
from typing import Any

import streamlit
from doorkeeper import Doorkeeper
from streamlit import env_util
from streamlit.runtime import Runtime
from streamlit.web.cli import main
from streamlit.web.server.starlette import starlette_server

WHERE = b"<script>window.__streamlit = {BACKEND_BASE_URL: location.origin}</script>"  # not sought below every page
NEEDED, LATER = ("contents", "folders", "run_summary"), ("scene", "role_fits", "plots")
FIRST = 4  # seconds that the first page is left alone
HURRY = threading.Event()  # a page is asked for that needs the rest at once


def prepare() -> None:
    """Imports what the first page needs, then what the others need."""
    while not Runtime.exists():
        time.sleep(0.05)
    importlib.import_module("zarr")
    for name in NEEDED:
        importlib.import_module(f"tprprobe.dashboard.{name}")
    HURRY.wait(FIRST)
    for name in LATER:
        importlib.import_module(f"tprprobe.dashboard.{name}")


def hear(path: str) -> None:
    """Takes note of a page that is asked for."""
    if path != "/":
        HURRY.set()


def is_repl() -> bool:
    """False: this is a server. Streamlit asks in the first view, and reads the source of all modules for it."""
    return False


def keep_doors() -> None:
    """Puts the doorkeeper in front of the application that Streamlit serves."""
    server: Any = starlette_server
    create = server.create_starlette_app
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_bytes()
    page = page.replace(b"<head>", b"<head>" + WHERE, 1)
    server.create_starlette_app = lambda runtime: Doorkeeper(create(runtime), page, hear)


if __name__ == "__main__":
    keep_doors()
    env_util.is_repl = is_repl
    threading.Thread(target=prepare, daemon=True).start()
    sys.exit(main(prog_name="streamlit"))
