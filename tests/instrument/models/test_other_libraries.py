"""The page on other libraries: the code of every section runs, where its library is installed."""

import re
from pathlib import Path

import pandas as pd
import pytest
import torch

import tprprobe as tp

PAGE = Path(__file__).parents[3] / "docs" / "other-libraries.md"
SECTION = re.compile(r"^## (\S+) [\d.]+\n[^#]*?```py\n(.*?)```", re.DOTALL | re.MULTILINE)
MODULES = {
    "TransformerLens": "transformer_lens",
    "nnsight": "nnsight",
    "SAELens": "sae_lens",
    "pyvene": "pyvene",
    "sentence-transformers": "sentence_transformers",
    "scikit-learn": "sklearn",
}
BLOCKS = dict(SECTION.findall(PAGE.read_text("utf-8")))


MINILM = Path(__file__).parents[3] / "models/real/minilm"


def test_every_library_has_its_code():
    assert {*BLOCKS} == {*MODULES}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", MODULES)
def test_the_code_of_a_library_runs(library, folder, tmp_path, monkeypatch):
    pytest.importorskip(MODULES[library], reason=f"{library} is not installed")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    module = AutoModelForCausalLM.from_pretrained(folder).eval()
    module.config.architectures = ["GPT2LMHeadModel"]
    names = {"tp": tp, "torch": torch, "pd": pd, "folder": str(folder), "module": module}
    if library == "sentence-transformers" and not MINILM.exists():
        pytest.skip("the sentence encoder was not fetched (python -m studies.real fetch)")
    names["sentence_folder"] = str(MINILM)
    names |= {"tokenizer": AutoTokenizer.from_pretrained(folder), "text": "the dog sees cats ."}
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "section.py"  # nnsight reads the source of a trace from its file
    script.write_text(BLOCKS[library], "utf-8")
    exec(compile(BLOCKS[library], script, "exec"), names)
