"""Distributions as pip leaves them, and commands of a process that finds them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

RUN = """
import contextlib, io, json, sys
from tprprobe.cli import main
results = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["tprprobe", *words]
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    results.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(results))
"""  # one process for all commands: starting takes each two seconds


def install(folder: Path, name: str, entry_points: str, **modules: str) -> Path:
    """Writes modules and the metadata of a distribution into a folder of the path."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    return folder


def run_commands(folder: Path, *commands: list[str]) -> list[list[Any]]:
    """The exit code, output and errors of commands with a folder on the path, which is also the working one."""
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    process = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)], cwd=folder, env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(process.stdout.splitlines()[-1])
