"""Locks between processes, and a package that can be imported where there is no fcntl (Windows)."""

import subprocess
import sys

from tprprobe.files.locks import held

IMPORT_ALL = """
import importlib, pkgutil, sys
sys.modules["fcntl"] = None
import tprprobe.training.study.runner
for module in pkgutil.walk_packages(tprprobe.__path__, "tprprobe."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def test_a_lock_is_one_holders(tmp_path):
    path = tmp_path / "runs" / "lock"
    with held(path) as mine:
        assert mine
        with held(path, wait=False) as other:
            assert not other
    with held(path, wait=False) as free:
        assert free


def test_every_module_is_imported_without_fcntl():
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
