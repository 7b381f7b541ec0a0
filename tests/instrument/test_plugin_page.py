"""The plug-in on the page of the book is a distribution of its own that works as the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/plugins.md"
FILE = re.compile(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The folder that pip installed the plug-in into."""
    pytest.importorskip("hatchling", reason="the plug-in is built by hatchling: install dev")
    folder = tmp_path_factory.mktemp("plugin")
    for name, text in FILE.findall(PAGE.read_text()):
        (folder / name).write_text(text)
    target = folder / "installed"
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    install = ["-m", "pip", "install", "--quiet", *offline, "--target", str(target), str(folder)]
    subprocess.run([sys.executable, *install], check=True, capture_output=True)
    return target


def run(installed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "tprprobe", *words]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )


def done(installed: Path, *words: str) -> str:
    ran = run(installed, *words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_its_corpus_figure_and_command_work(installed, tmp_path):
    store, figure = str(tmp_path / "store"), tmp_path / "norms.svg"
    words = ["--ckpt", "tpt-c-arithmetic", "--data", "palindromes:5", "-n", "8", "--no-control"]
    done(installed, "extract", *words, "--sites", "encoder.*.hidden", "--out", store)
    assert "palindromes:5" in done(installed, "inspect", store)
    assert "norms  Length of states by position" in done(installed, "figure", "--store", store)
    done(installed, "figure", "norms", "--store", store, "--out", str(figure))
    assert "</svg>" in figure.read_text()
    printed = done(installed, "norms", store, "--layer", "0").splitlines()
    assert printed[0] == "position"
    assert len(printed) == 1 + 7  # five letters, start and end
    assert all(float(line.split()[1]) > 0 for line in printed[1:])


def test_its_errors_are_one_line(installed):
    ran = run(installed, "inspect", "palindromes:many")
    assert ran.returncode == 2
    assert "give palindromes:LENGTH" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_when_it_is_broken_the_line_names_it(installed):
    file = installed / "palindromes.py"
    text = file.read_text()
    file.write_text("import no_such_package")
    ran = run(installed, "figure", "norms", "--store", "x")
    file.write_text(text)
    assert ran.returncode == 2
    assert "the plug-in 'norms' of the package palindromes cannot be imported" in ran.stderr
    assert ran.stderr.count("\n") == 1
