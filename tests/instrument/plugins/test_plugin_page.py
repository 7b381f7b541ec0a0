"""The plug-in on the page of the book is a distribution of its own that works as the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from planted.installed import run_commands

PAGE = Path(__file__).parents[3] / "docs/plugins.md"
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


def test_its_corpus_figure_command_and_errors_work(installed, tmp_path):
    store, figure = str(tmp_path / "store"), tmp_path / "norms.svg"
    words = ["--ckpt", "tpt-c-arithmetic", "--data", "palindromes:5", "-n", "8", "--no-control"]
    *results, (code, _, message) = run_commands(
        installed,
        ["extract", *words, "--sites", "encoder.*.hidden", "--out", store],
        ["inspect", store],
        ["figure", "--store", store],
        ["figure", "norms", "--store", store, "--out", str(figure)],
        ["norms", store, "--layer", "0"],
        ["inspect", "palindromes:many"],
    )
    assert [result[0] for result in results] == [0] * 5, results
    _, inspected, figures, _, norms = (result[1] for result in results)
    assert "palindromes:5" in inspected
    assert "norms  Length of states by position" in figures
    assert "</svg>" in figure.read_text()
    head, *lines = norms.splitlines()
    assert head == "position"
    assert len(lines) == 7  # five letters, start and end
    assert all(float(line.split()[1]) > 0 for line in lines)
    assert code == 2
    assert "give palindromes:LENGTH" in message
    assert message.count("\n") == 1
