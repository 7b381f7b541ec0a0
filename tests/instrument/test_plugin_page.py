"""The plug-in on the page of the book is a distribution of its own that works as the page says."""

import json
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


RUN = """
import contextlib, io, json, sys
from tprprobe.cli import main
results = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["tprprobe", *words]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            results.append((end.code or 0, out.getvalue(), err.getvalue()))
print(json.dumps(results))
"""  # one process for all commands: starting takes each two seconds


def run(installed: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """The exit code, output and errors of commands with the plug-in on the path."""
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", RUN, json.dumps(commands)]
    process = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return json.loads(process.stdout.splitlines()[-1])


def test_its_corpus_figure_command_and_errors_work(installed, tmp_path):
    store, figure = str(tmp_path / "store"), tmp_path / "norms.svg"
    words = ["--ckpt", "tpt-c-arithmetic", "--data", "palindromes:5", "-n", "8", "--no-control"]
    *results, (code, _, message) = run(
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


def test_when_it_is_broken_the_line_names_it(installed):
    file = installed / "palindromes.py"
    text = file.read_text()
    file.write_text("import no_such_package")
    [(code, _, message)] = run(installed, ["figure", "norms", "--store", "x"])
    file.write_text(text)
    assert code == 2
    assert "the plug-in 'norms' of the package palindromes cannot be imported" in message
    assert message.count("\n") == 1
