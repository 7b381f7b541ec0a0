"""A command that a signal stops tidies up, says how to go on, and leaves no process behind."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tprprobe.cli.commands import find_resumption

EXTRACT = ["extract", "--ckpt", "tpt-c-arithmetic", "-n", "400", "--sites", "encoder.*.self.role"]
DRAW = """
from time import sleep
from tprpapers.worlds.parallel_draws import make
examples = make(list, range(10**6), workers=2)
print(next(examples), flush=True)
sleep(60)
"""
WAIT = 60  # seconds, at most


def _processes(group: int) -> list[int]:
    """The processes of a group that run, zombies aside."""
    process_ids = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group, *_ = file.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(process_group) == group and state != "Z":
            process_ids.append(int(file.parent.name))
    return process_ids


def _heed() -> None:
    """A suite that was started in the background ignores SIGINT; its commands would, too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)


def _begin(*words: str) -> subprocess.Popen[str]:
    """A process of a group of its own."""
    return subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"}, start_new_session=True, preexec_fn=_heed,
    )  # fmt: skip


def _stop(process: subprocess.Popen[str], number: int) -> str:
    """What a process says that gets the signal; its whole group gets SIGINT, as from a terminal."""
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, output = process.communicate(timeout=WAIT)
    _until(lambda: not _processes(process.pid))
    assert not _processes(process.pid)
    return output


def soaked(number: signal.Signals) -> Any:
    """A signal that `make soak` tries, too."""
    return pytest.param(number, marks=pytest.mark.soak)


@pytest.mark.parametrize("number", [signal.SIGINT, soaked(signal.SIGTERM)])
def test_a_stopped_extraction_says_how_to_go_on(tmp_path, number):
    out = tmp_path / "store"
    journal = out / "journal.json"
    process = _begin("-m", "tprprobe", *EXTRACT, "--out", str(out))
    _until(lambda: journal.exists() or process.poll() is not None)
    output = _stop(process, number)
    assert process.returncode == 128 + number, output
    assert "Traceback" not in output
    message = output.splitlines()[-1]
    line = shlex.join(["tprprobe", *EXTRACT, "--out", str(out), "--resume"])
    assert message == f"tprprobe: stopped by {signal.Signals(number).name}: go on with `{line}`"
    assert find_resumption(["docs"]) == "the same command starts anew"
    assert not [path for path in tmp_path.rglob("*") if ".partial." in path.name]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_that_make_data_end_with_the_one_that_asks(number):
    process = _begin("-c", DRAW)
    assert process.stdout
    assert process.stdout.readline()
    assert len(_processes(process.pid)) > 2
    _stop(process, number)
