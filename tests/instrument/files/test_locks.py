"""Locks between processes."""

import signal
import subprocess
import sys

import pytest

import tprprobe as tp
from tprprobe.analyses.decomposition import decompose_all
from tprprobe.errors import InputError
from tprprobe.files.writing import alone

KILLED = """
import os, pathlib, signal, sys
from tprprobe.files.writing import alone
with alone(pathlib.Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_second_writer_of_a_run_is_refused_and_a_dead_ones_lock_is_not(tmp_path):
    lines = [f"{i % 10} {i // 10}\t{i}.5 {i % 7} 1\n" for i in range(60)]
    (tmp_path / "v.txt").write_text("".join(lines))
    store = tp.import_store(tmp_path / "v.txt", tmp_path / "store", "tpdn")
    out = tmp_path / "out"
    with alone(out), pytest.raises(InputError, match="out is being written by another process"):
        decompose_all(store, "encoding", out=out, family="additive")
    assert not out.exists()
    (tmp_path / ".out.lock").touch()  # as a killed process leaves it
    decompose_all(store, "encoding", out=out, family="additive")
    assert {path.name for path in tmp_path.iterdir()} == {"v.txt", "store", "out"}


def test_a_lock_ends_with_a_killed_process(tmp_path):
    process = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "out")], check=False)
    assert process.returncode == -signal.SIGKILL
    assert (tmp_path / ".out.lock").exists()
    with alone(tmp_path / "out"):
        pass
    assert not list(tmp_path.iterdir())
