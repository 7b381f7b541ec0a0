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
RECIPE = """
name = "generated"
batch_size = 16
[model]
architecture = "tp-transformer"
d_model = 16
n_heads = 2
n_layers = [1, 1]
d_ff = 16
[[stages]]
steps = 60
learning_rate = 1e-3
mix = [{ data = "mathematics:arithmetic__mixed", split = "train", n = 1000000 }]
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


def _stop(words: list[str], number: int, begun: Callable[[int], bool]) -> str:
    """What a command says that gets the signal once it has begun; its whole group gets SIGINT, as from
    a terminal.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tprprobe", *words], stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"}, start_new_session=True, preexec_fn=_heed,
    )  # fmt: skip
    _until(lambda: begun(process.pid) or process.poll() is not None)
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, output = process.communicate(timeout=WAIT)
    killed = number == signal.SIGKILL
    assert process.returncode == (-number if killed else 128 + number), output
    _until(lambda: not _processes(process.pid))
    assert not _processes(process.pid)
    assert (
        killed or "Traceback" not in output
    )  # a process that was starting misses its killed parent
    return "" if killed else output.splitlines()[-1]


def soaked(number: signal.Signals) -> Any:
    """A signal that `make soak` tries, too."""
    return pytest.param(number, marks=pytest.mark.soak)


@pytest.mark.parametrize("number", [signal.SIGINT, soaked(signal.SIGTERM)])
def test_a_stopped_extraction_says_how_to_go_on(tmp_path, number):
    out = tmp_path / "store"
    journal = out / "journal.json"
    message = _stop([*EXTRACT, "--out", str(out)], number, lambda _: journal.exists())
    line = shlex.join(["tprprobe", *EXTRACT, "--out", str(out), "--resume"])
    assert message == f"tprprobe: stopped by {signal.Signals(number).name}: go on with `{line}`"
    assert find_resumption(["docs"]) == "the same command starts anew"
    assert not [path for path in tmp_path.rglob("*") if ".partial." in path.name]


@pytest.mark.parametrize("number", [soaked(signal.SIGINT), soaked(signal.SIGTERM), signal.SIGKILL])
def test_processes_that_make_data_end_with_the_command(tmp_path, number):
    (tmp_path / "r.toml").write_text(RECIPE)
    words = ["train", str(tmp_path / "r.toml"), "--out", str(tmp_path / "run")]
    message = _stop(words, number, lambda group: len(_processes(group)) > 2)
    assert number == signal.SIGKILL or "--resume" in message
