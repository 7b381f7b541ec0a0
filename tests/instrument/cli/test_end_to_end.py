"""What the program says of itself to who started it."""

import subprocess
import sys


def test_the_exit_code_is_that_of_the_process(tmp_path):
    command = [sys.executable, "-m", "tprprobe", "cluster", "nothing", "--site", "x", "--k", "3"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert len(process.stderr.splitlines()) == 1, process.stderr
