"""Doors: names come from metadata, code is imported when it is used, what is broken is one line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tprprobe import plugins
from tprprobe.data import load_data
from tprprobe.errors import InputError

CORPUS = """
from tprprobe.data.dataset import Dataset, Request

def load(name, **options):
    print(name, sorted(options))
    raise SystemExit(3)
"""
GROUPS = """
[tprprobe.data]
planted shelf = planted_corpus:load
broken = planted_broken:load

[tprprobe.figures]
planted-figure What a planted figure shows = planted_broken:draw

[tprprobe.commands]
planted Say something planted = planted_broken:say

[tprprobe.kinds]
planted = planted_broken:KIND
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory) -> Path:
    """A folder with an installed distribution, half of which cannot be imported."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "planted_corpus.py").write_text(CORPUS)
    (folder / "planted_broken.py").write_text("import there_is_no_such_module")
    info = folder / "planted-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(GROUPS)
    return folder


def run(planted: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = (
        f"import sys; sys.path.insert(0, {str(planted)!r}); sys.argv = ['tprprobe', *{words!r}]; "
    )
    code = path + "from tprprobe.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_lists_import_nothing(planted):
    process = run(planted, "figure")
    assert re.search(r"^planted-figure +What a planted figure shows$", process.stdout, re.M)
    assert (process.returncode, process.stderr) == (0, "")
    process = run(planted, "--help")
    assert "Say something planted" in process.stdout
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.parametrize(
    "words", [["planted"], ["figure", "planted-figure"], ["inspect", "broken:x"]]
)
def test_a_broken_plugin_is_one_line_that_names_it(planted, words):
    process = run(planted, *words)
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1
    assert "package planted" in process.stderr
    assert "there_is_no_such_module" in process.stderr


def test_a_broken_plugin_does_not_stop_other_commands(planted, tmp_path):
    process = run(planted, "inspect", str(tmp_path), "--verify")  # which asks all kinds
    assert "the plug-in 'planted' of the package planted" in process.stderr
    assert "Traceback" not in process.stderr


def test_a_corpus_is_called_with_its_whole_name_and_the_options_given(planted):
    process = run(planted, "inspect", "planted:some:thing")
    assert (process.returncode, process.stdout) == (3, "planted:some:thing []\n")


@pytest.mark.parametrize("subfolder", ["", ":some"])
def test_a_corpus_is_called_for_folders_with_its_subfolder(planted, tmp_path, subfolder):
    (tmp_path / "shelf").mkdir()
    process = run(planted, "inspect", f"{tmp_path}{subfolder}")
    assert (process.returncode, process.stdout) == (3, f"{tmp_path}{subfolder} []\n")


def test_the_papers_enter_by_their_metadata():
    assert {"english", "scenes", "scan", "sequences", "texts"} <= plugins.find("data").keys()
    assert {"lstm", "bottleneck", "cnn-lstm"} <= plugins.find("models").keys()
    groups = ("models", "data", "figures", "edits", "recipes", "scores", "kinds", "commands")
    for group in (*groups, "converters", "labellers", "measures"):
        for plugin in plugins.find(group).values():
            assert plugin.load() is not None
    assert len(load_data("scan", n=3)) == 3
    with pytest.raises(InputError, match=r"but .english.;"):
        load_data("englsh")
