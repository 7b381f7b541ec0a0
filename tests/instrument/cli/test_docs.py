"""The documentation in the terminal."""

import re
from pathlib import Path

from planted.cli import run_command
from planted.faults import run_main

import tprprobe as tp

PAGES = Path(__file__).parents[3] / "docs"


def test_every_page_is_listed_with_its_title():
    lines = (line.split("  ", 1) for line in run_command("docs").stdout.splitlines())
    listed = {name.rstrip(): title.strip() for name, title in lines}
    assert listed["training"] == "Train and resume"
    assert len(listed) == len([*PAGES.rglob("*.md")])


def test_a_page_is_as_written_in_a_pipe_and_formatted_on_a_terminal(monkeypatch, capsys):
    assert not run_main(monkeypatch, "docs", "tutorials/roles")
    assert capsys.readouterr().out == (PAGES / "tutorials" / "roles.md").read_text("utf-8")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("rich.console.Console.pager", lambda self, styles: self)  # no other process
    assert not run_main(monkeypatch, "docs", "training")
    printed = capsys.readouterr().out
    assert "Train and resume" in printed
    assert "# Train and resume" not in printed


def test_words_are_searched_in_all_pages():
    """Sections with the words in their heading come first; a comment in code is no heading."""
    printed = run_command("docs", "gauge", "freedom").stdout
    heading, _, second, _, third, line = printed.splitlines()
    assert (heading, second, third) == ("ideas: Gauge freedom", "ideas: Ideas", "index: Limits")
    assert "[gauge freedom]" in line
    printed = run_command("docs", "sets up .venv").stdout
    assert printed.startswith("index: Install\n    make demo")
    assert " more: add a word" in run_command("docs", "the").stdout


def test_files_with_labels_are_read_as_the_page_shows_them(tmp_path):
    section = (PAGES / "probing.md").read_text("utf-8").split("### Files with labels")[1]
    for name, task in (("a.conllu", "dep"), ("b.iob2", "nel"), ("c.jsonl", "c")):
        _, block, section = re.split(r"```(?:text)?\n", section, maxsplit=2)
        (tmp_path / name).write_text(block)
        data = tp.load_data(str(tmp_path / name))
        assert len(data) == 1
        assert task in data.tasks


def test_figures_of_ones_own_are_explained_and_drawn(tmp_path, monkeypatch):
    for word in ("draw", "figure", "gallery"):
        assert "figures: Draw your own figures" in run_command("docs", word).stdout
    code = (PAGES / "figures.md").read_text("utf-8").split("```python\n")[2].split("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert (tmp_path / "probes.pdf").stat().st_size > 1000
