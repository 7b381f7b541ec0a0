"""Locks between processes, and a package that can be imported where there is no fcntl (Windows)."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import tprprobe as tp
from tprprobe.analyses.decomposition import decompose_all
from tprprobe.errors import InputError
from tprprobe.files.locks import alone, held

WITHOUT = """
import sys
sys.modules["fcntl"] = None
from tprprobe.files import locks
"""

KILLED = """
import os, pathlib, signal, subprocess, sys
from tprprobe.files.locks import alone
with alone(pathlib.Path(sys.argv[1]), inherited=True):
    quiet = subprocess.DEVNULL
    print(subprocess.Popen(["sleep", "60"], close_fds=False, stdout=quiet, stderr=quiet).pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_lock_is_one_holders(tmp_path):
    path = tmp_path / "runs" / "lock"
    with held(path) as mine:
        assert mine
        with held(path, wait=False) as other:
            assert not other
    with held(path, wait=False) as free:
        assert free


def test_only_the_module_of_locks_imports_fcntl_and_it_does_without():
    sources = Path(tp.__file__).parent.rglob("*.py")
    assert [each.name for each in sources if "fcntl" in each.read_text("utf-8")] == ["locks.py"]
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_second_writer_of_a_run_is_refused_and_a_dead_ones_lock_is_not(tmp_path):
    lines = [f"{i % 10} {i // 10}\t{i}.5 {i % 7} 1\n" for i in range(60)]
    (tmp_path / "v.txt").write_text("".join(lines))
    store = tp.import_store(tmp_path / "v.txt", tmp_path / "store", "tpdn")
    out = tmp_path / "out"
    with alone(out), pytest.raises(InputError, match="out is being written by another process"):
        decompose_all(store, "encoding", out=out)
    assert not out.exists()
    (tmp_path / ".out.lock").touch()  # as a killed process leaves it
    decompose_all(store, "encoding", out=out)
    assert {path.name for path in tmp_path.iterdir()} == {"v.txt", "store", "out"}


def test_a_lock_ends_with_the_last_process_that_inherited_it(tmp_path):
    path = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with pytest.raises(InputError, match="being written"), alone(path):
        pass
    os.kill(int(done.stdout), signal.SIGKILL)
    for _ in range(1000):
        with suppress(InputError), alone(path):
            return
        time.sleep(0.01)
    raise AssertionError("the lock of a dead process is held")
