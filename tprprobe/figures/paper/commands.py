"""Commands run one after another, each kept when it ends, so that the next run goes on behind it."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from tprprobe.figures.paper.contents import Command
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_file


@dataclass(frozen=True)
class Done:
    """A command that has run: its seconds by the clock, and what it said if it failed."""

    command: Command
    seconds: float
    error: str = ""


def run_command(command: Command) -> Done:
    """The command, done: run in a process of its own, or found done by an earlier run.

    A failed one says why in its last line, and is run again the next time.
    """
    mark = command.out.with_name(f"{command.out.name}.done.json")
    if mark.is_file() and command.out.exists():
        kept: dict[str, Any] = read_json(mark)
        if kept.get("command") == command.line:
            return Done(command, float(kept["seconds"]))
    began, resumed = time.monotonic(), command.is_resumed and command.out.exists()
    if not resumed and command.out.exists():
        shutil.rmtree(command.out)
    command.out.parent.mkdir(parents=True, exist_ok=True)
    words = [*command.words, "--out", str(command.out), *(["--resume"] if resumed else [])]
    ended = subprocess.run(
        [sys.executable, "-m", "tprprobe", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        text=True,
        check=False,
        close_fds=False,  # so that the paper's lock is held as long as the command runs
    )
    seconds = time.monotonic() - began
    if ended.returncode:
        lines = [line for line in ended.stderr.splitlines() if line.strip()]
        return Done(command, seconds, lines[-1] if lines else f"exit code {ended.returncode}")
    kept = {"command": command.line, "seconds": round(seconds, 1)}
    write_file(mark, json.dumps(kept, indent=1) + "\n")
    return Done(command, seconds)
