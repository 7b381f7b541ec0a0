"""The examples of the README run as they stand, top to bottom, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from planted.foreign import build_foreign, save_tokenizer

from tprprobe.data import load_data
from tprprobe.examination import PAIRS

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
OUTPUTS = (
    "runs/minilm/report.html",
    "runs/mixed-names/naming.json",
    "roles.pdf",
    "runs/texts/manifest.json",
)


@pytest.fixture
def folder(tmp_path):
    """An empty folder but for a tiny random BERT in the place of the model that a hub would give."""
    place = tmp_path / "sentence-transformers" / "all-MiniLM-L6-v2"
    sentences = [example.source for example in load_data(PAIRS, n=200)]
    place.mkdir(parents=True)
    symbols = save_tokenizer("wordpiece", place, sentences, "bert")
    build_foreign("bert", symbols).save_pretrained(place)
    return tmp_path


def test_the_examples_run_as_they_stand(folder):
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = BLOCK.findall(
        text[text.index("## Three examples") : text.index("## Where to go next")]
    )
    assert [language for language, _ in blocks] == ["sh", "sh", "python"]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"PATH": path, "HF_HUB_OFFLINE": "1"}
    for language, code in blocks:
        shell = ["bash", "-e", "-c"] if language == "sh" else [sys.executable, "-c"]
        process = subprocess.run(
            [*shell, code], cwd=folder, env=env, capture_output=True, text=True
        )
        assert process.returncode == 0, f"{code}\n{process.stdout}{process.stderr}"
        assert "Traceback" not in process.stderr
    assert all((folder / name).is_file() for name in OUTPUTS)
