"""Commands run one after another, each kept when it ends, so that the next run goes on behind it."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tprpapers.paper.contents import Command
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_file


@dataclass(frozen=True)
class CommandResult:
    """A command that has run: its seconds by the clock, and what it said if it failed."""

    command: Command
    seconds: float
    error: str = ""


def run_command(command: Command, weights: Mapping[str, str]) -> CommandResult:
    """The command, done: run in a process of its own, or found done by an earlier run of the same
    ``weights`` (sha256 of every checkpoint of its paper; what it reads may be made of any of them).

    A failed one says why in its last line, and is run again the next time.
    """
    mark = command.out.with_name(f"{command.out.name}.done.json")
    request = {"command": command.line, "weights": dict(weights)}
    record: dict[str, Any] = read_json(mark) if mark.is_file() and command.out.exists() else {}
    is_same = all(record.get(key) == value for key, value in request.items())
    if is_same and "seconds" in record:
        return CommandResult(command, float(record["seconds"]))
    start, resumed = time.monotonic(), is_same and command.is_resumed
    if not resumed and command.out.exists():
        shutil.rmtree(command.out)
    command.out.parent.mkdir(parents=True, exist_ok=True)
    write_file(mark, json.dumps(request, indent=1) + "\n")
    words = [*command.words, "--out", str(command.out), *(["--resume"] if resumed else [])]
    process = subprocess.run(
        [sys.executable, "-m", "tprprobe", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        text=True,
        check=False,
        close_fds=False,  # so that the paper's lock is held as long as the command runs
    )
    seconds = time.monotonic() - start
    if process.returncode:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        return CommandResult(
            command, seconds, lines[-1] if lines else f"exit code {process.returncode}"
        )
    write_file(mark, json.dumps(request | {"seconds": round(seconds, 1)}, indent=1) + "\n")
    return CommandResult(command, seconds)
