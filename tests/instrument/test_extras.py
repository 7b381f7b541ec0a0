"""The core without its extras: what works, and what the line says where something is missing."""

import subprocess
import sys
import tomllib

import numpy as np
import pytest
from planted.cli import run_command

from tprpapers.huang.image_features import open_features
from tprpapers.scoring import meteor, rouge
from tprpapers.worlds.mathematics import generator
from tprprobe.analyses.projections import project
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.gold.labellers import import_spacy
from tprprobe.store.dask_workers import scheduled

PACKAGES = (  # that only extras bring
    *("streamlit", "plotly", "dask", "distributed", "h5py", "mathematics_dataset"),
    *("pycocoevalcap", "sentencepiece", "rouge_score", "nltk", "datasets"),
    *("spacy", "tensorboard", "umap"),
)
CORE = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(sys.argv[3:]))
import tprprobe as tp
for module in pkgutil.walk_packages(tp.__path__, "tprprobe."):
    if "dashboard." not in module.name and not module.name.endswith(("__main__", "huggingface.auto", "figures.charts")):
        importlib.import_module(module.name)
store = tp.open_store(sys.argv[1])
name = store.sites[0]
assert (store.arrays[name][2:5].values == store.read(name)[2:5]).all()
assert not hasattr(store.arrays[name].variable._data, "dask")
from tprprobe.training.logs import Log, read_log
from pathlib import Path
log = Log(Path(sys.argv[2]))
log.add("loss", 1.5, {"step": 1, "seconds": 0, "examples": 1, "tokens": 1})
log.close()
assert [row["value"] for row in read_log(Path(sys.argv[2]))] == ["1.5"]
assert not (Path(sys.argv[2]) / "tensorboard").exists()
"""


def test_the_core_works_without_any_extra(make_model, make_data, tmp_path):
    data = make_data([("1+1", "2"), ("2+3", "5"), ("4+4", "8")])
    store = extract(make_model(), data, ["encoder.0.self.role"], tmp_path / "store")
    (tmp_path / "run").mkdir()
    command = [sys.executable, "-c", CORE, store.path, tmp_path / "run", *PACKAGES]
    subprocess.run(command, check=True)


CALLS = {
    "streamlit": (lambda _: run_command("app", "."), "app"),
    "plotly": (lambda _: run_command("app", "."), "app"),
    "datasets": (lambda _: run_command("inspect", "xsum"), "summarization"),
    "mathematics_dataset": (
        lambda _: run_command("inspect", "mathematics:arithmetic__mixed"),
        "mathematics",
    ),
    "distributed": (lambda folder: scheduled("tcp://here:8786").__enter__(), "dask"),
    "h5py": (lambda folder: open_features(folder / "vectors.h5"), "hdf5"),
    "rouge_score": (lambda folder: rouge.rouge("a b", "a c"), "summarization"),
    "nltk": (lambda folder: meteor.stemmed_meteor(["a", "b"], ["a", "c"]), "summarization"),
    "spacy": (lambda folder: import_spacy(), "taggers"),
    "umap": (lambda folder: project(np.eye(30, dtype=np.float32), "umap"), "umap"),
}


@pytest.mark.parametrize("package", CALLS)
def test_what_needs_an_extra_names_it(package, monkeypatch, tmp_path):
    for cached in (rouge._scorer, meteor._aligner, generator._library, generator.samplers):
        cached.cache_clear()
    (tmp_path / "vectors.h5").touch()
    call, extra = CALLS[package]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"{package}: pip install 'tprprobe\[{extra}\]'$"):
        call(tmp_path)


def test_every_extra_is_among_all(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    assert everything == f"tprprobe[{','.join(sorted({*extras} - {'all', 'dev'}))}]"
