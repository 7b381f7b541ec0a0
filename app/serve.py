"""The dashboard's server: Streamlit, and what pages compute with, imported while the first page still loads."""

import importlib
import sys
import threading
import time

from streamlit.runtime import Runtime
from streamlit.web.cli import main

NEEDED = (
    "zarr",
    "tprprobe.dashboard.browser_payload",
    "tprprobe.dashboard.headlines",
    "tprprobe.dashboard.folders",
)


def prepare() -> None:
    while not Runtime.exists():
        time.sleep(0.05)
    for name in NEEDED:
        importlib.import_module(name)


if __name__ == "__main__":
    threading.Thread(target=prepare, daemon=True).start()
    sys.exit(main(prog_name="streamlit"))
