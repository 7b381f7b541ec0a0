"""The model plug-in of the page on plug-ins: a stranger's file is trained, answers, and is decomposed by the commands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs/plugins.md").read_text("utf-8")
POINTS = "[tprprobe.models]\nfast-gru = fast_gru:FastGRU\n"
FEWER = ["--set", "stages.0.steps=30", "--set", "batch_size=16"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with the files of the page, installed."""
    folder = tmp_path_factory.mktemp("site")
    files = re.findall(r'title="(fast_gru\.\w+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert len(files) == 2
    for name, text in files:
        (folder / name).write_text(text)
    info = folder / "fast_gru-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fast-gru\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    assert POINTS.splitlines()[1].split(" = ")[1] in PAGE
    return folder


def run(folder: Path, *words: str) -> str:
    path = os.pathsep.join([str(folder), str(Path(__file__).parents[2])])
    command = [sys.executable, "-m", "tprprobe", *words]
    environment = os.environ | {"PYTHONPATH": path}
    ran = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_strangers_model_is_trained_extracted_and_decomposed_as_the_page_says(folder):
    commands = re.findall(r"^tprprobe (\w+ .*fast[-_]gru.*)$", PAGE, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["train", "eval", "extract", "decompose"]
    train, _, extract, decompose = [command.replace('"', "").split() for command in commands]
    run(folder, *train, *FEWER)
    run(folder, *[word.replace("1000", "200") for word in extract])
    printed = run(folder, *decompose)
    assert re.search(r"shares of variance: fillers .*, bindings [+-]0\.\d+", printed)
