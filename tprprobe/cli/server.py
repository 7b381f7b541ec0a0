"""The server of the dashboard: this process becomes it, bound to this machine only."""

import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

from tprprobe.console import stderr
from tprprobe.errors import InputError, check_extra
from tprprobe.files import assets

ADDRESS, PORT, MAX_PORTS = "127.0.0.1", 8501, 50
SETTINGS = {
    "server.address": ADDRESS,
    "server.headless": "true",
    "server.fileWatcherType": "none",
    "server.enableStaticServing": "false",
    "server.enableCORS": "true",
    "server.enableXsrfProtection": "true",
    "server.allowedHosts": ADDRESS,
    "browser.gatherUsageStats": "false",
    "browser.serverAddress": ADDRESS,
    "client.toolbarMode": "minimal",
    "global.disableWidgetStateDuplicationWarning": "true",  # a link chooses, in place of a first choice
    "runner.postScriptGC": "false",  # a fifth of a second after every run; Python collects by itself
    "client.showErrorDetails": "none",
    "logger.level": "warning",
    "client.showErrorLinks": "false",
}


def serve(runs: str | os.PathLike[str], port: int | None = None) -> NoReturn:
    """Replaces this process by the dashboard over the folder ``runs``."""
    root = Path(runs)
    if not root.is_dir():
        raise InputError(f"no folder {root}: give a folder with runs, or make one: tprprobe demo")
    for package in ("streamlit", "plotly"):
        check_extra(package, "app", "the dashboard")
    free_port = find_port(port)
    stderr.print(f"dashboard: http://{ADDRESS}:{free_port} (Ctrl-C stops it)", highlight=False)
    command = arguments(root.resolve(), free_port)
    environment = {**os.environ, "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE")}
    os.execve(command[0], command, environment)


def arguments(root: Path, port: int) -> list[str]:
    flags = [word for name, value in SETTINGS.items() for word in (f"--{name}", value)]
    scripts = [folder / "main.py" for folder in assets.roots("app")]
    if not (script := next(filter(Path.is_file, scripts), None)):
        raise InputError("the dashboard's files are not installed: install tprprobe again")
    begun = [sys.executable, str(script.with_name("serve.py")), "run", str(script)]
    return [*begun, *flags, "--server.port", str(port), "--", str(root)]


def find_port(port: int | None) -> int:
    ports = [port] if port is not None else list(range(PORT, PORT + MAX_PORTS))
    for candidate in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ADDRESS, candidate))
            except (OSError, OverflowError):
                continue
        return candidate
    raise InputError(f"port {ports[0]} cannot be used: give another --port, or none")
