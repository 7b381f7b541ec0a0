"""Memory that a command frees is used again, not fetched anew."""

import platform
import subprocess
import sys

import pytest

CHURN = """
import resource
from tprprobe.cli.process import keep_freed_memory
if {kept}:
    keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def churn():
    blocks = [bytearray(20 << 20) for _ in range(4)]
churn()
before = faults()
for _ in range(3):
    churn()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc alone")
def test_freed_memory_is_used_again():
    pages = 3 * 4 * (20 << 20) // 4096
    faults = [
        int(subprocess.check_output([sys.executable, "-c", CHURN.format(kept=is_kept)]))
        for is_kept in (True, False)
    ]
    assert faults[0] < pages / 100
    assert faults[1] > faults[0]
