"""Applies the faults of mutations.toml one by one to a copy of the tree, and says which of them no test sees.

python tests/mutate.py [TEXT]    only faults whose words or file have the text
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = ("tprprobe", "tprpapers", "benchmarks", "tests", "probes", "pyproject.toml")
LIMIT = 60  # seconds of processor time for a test


def copy_tree(folder: Path) -> None:
    """Copies what the tests need."""
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    (folder / "models").symlink_to(ROOT / "models")


def is_caught(folder: Path, test: str) -> bool:
    """True if a test fails."""
    options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-o", "addopts="]
    command = [sys.executable, "-m", "pytest", *options, *shlex.split(test)]
    limited = ["bash", "-c", f"ulimit -t {LIMIT}; exec {shlex.join(command)}"]
    variables = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.run(limited, cwd=folder, env=variables, capture_output=True, text=True)
    if process.returncode < 0:
        raise SystemExit(
            f"{test}: takes longer than {LIMIT} s of processor time; name a nearer test"
        )
    if process.returncode not in (0, 1):
        raise SystemExit(
            f"{test}: pytest ended with {process.returncode}\n{process.stdout[-2000:]}"
        )
    return process.returncode == 1


def main() -> int:
    words = " ".join(sys.argv[1:])
    mutations = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text("utf-8"))["mutation"]
    selected = [entry for entry in mutations if words in f"{entry['fault']} {entry['file']}"]
    alive = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        copy_tree(folder)
        for mutation in selected:
            path = folder / mutation["file"]
            text = path.read_text("utf-8")
            if text.count(mutation["old"]) != 1:
                raise SystemExit(
                    f"{mutation['file']}: {mutation['old']!r} does not stand there once"
                )
            path.write_text(text.replace(mutation["old"], mutation["new"]), "utf-8")
            caught = is_caught(folder, mutation["test"])
            path.write_text(text, "utf-8")
            print("caught" if caught else "LIVES ", mutation["fault"], flush=True)
            alive += [] if caught else [mutation["fault"]]
    print(f"{len(selected) - len(alive)} of {len(selected)} caught")
    return bool(alive)


if __name__ == "__main__":
    sys.exit(main())
