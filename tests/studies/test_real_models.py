"""Real models: fetched by hash as data, g2p as its authors compute it, predictions that nobody changes silently."""

import hashlib
import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import torch

from studies.real import packages
from studies.real.outcome_table import read_wording
from studies.real.packages import CARD, fetch, read_package
from studies.real.page import PAGES, fill_page, read_outcomes
from studies.real.predictions import Prediction, load_predictions
from studies.real.pronunciation import (
    Pronouncer,
    pronounce,
    read_pronouncer,
)
from tprprobe.errors import InputError

VERSIONS = Path(__file__).parent / "real_versions.json"


def wheel_of(name: str, folder: Path, content: dict[str, bytes]) -> Path:
    """A wheel named as a recipe asks, with these files."""
    package = read_package(name)
    path = folder / f"{package.package.replace('-', '_')}-{package.version}-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for file, data in content.items():
            archive.writestr(file, data)
    return path


def allow(monkeypatch: pytest.MonkeyPatch, name: str, wheel: Path) -> None:
    """Lets a recipe accept this wheel."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    accepted = read_package(name).model_copy(update={"sha256": digest})
    monkeypatch.setattr(packages, "read_package", lambda _name: accepted)


def test_a_wheel_is_unpacked_as_data_alone(tmp_path, monkeypatch):
    files = {"g2p_en/checkpoint20.npz": b"weights", "g2p_en/__init__.py": b"raise SystemExit"}
    allow(monkeypatch, "g2p", wheel_of("g2p", tmp_path, files))
    folder, is_new = fetch("g2p", tmp_path / "real", wheels=tmp_path)
    assert is_new
    assert {path.name for path in folder.iterdir()} == {"checkpoint20.npz", CARD}
    card = (folder / CARD).read_text("utf-8")
    assert "Apache-2.0" in card
    assert "github.com/Kyubyong/g2p" in card
    assert fetch("g2p", tmp_path / "real", wheels=tmp_path) == (folder, False)


def test_another_wheel_is_refused_and_leaves_nothing(tmp_path):
    wheel_of("g2p", tmp_path, {"g2p_en/checkpoint20.npz": b"other weights"})
    with pytest.raises(InputError, match="not the file that was studied"):
        fetch("g2p", tmp_path / "real", wheels=tmp_path)
    assert not any((tmp_path / "real").iterdir())


def test_a_file_outside_its_folder_is_refused(tmp_path, monkeypatch):
    files = {"g2p_en/../../x.npz": b"", "g2p_en/checkpoint20.npz": b""}
    allow(monkeypatch, "g2p", wheel_of("g2p", tmp_path, files))
    with pytest.raises(InputError, match="outside its folder"):
        fetch("g2p", tmp_path / "real", wheels=tmp_path)
    assert not (tmp_path / "x.npz").exists()


def arrays_of(module: Pronouncer) -> dict[str, np.ndarray]:
    """Its weights by the names of the published file."""
    names = {"enc_emb": "letters.weight", "dec_emb": "phonemes.weight"}
    names |= {"fc_w": "readout.weight", "fc_b": "readout.bias"}
    for side, short in (("encoder", "enc"), ("decoder", "dec")):
        for kind, layer_kind in ((k, o) for k in ("weight", "bias") for o in ("ih", "hh")):
            names[f"{short}_{kind[0]}_{layer_kind}"] = f"{side}.{kind}_{layer_kind}_l0"
    weights = module.state_dict()
    return {key: weights[name].numpy() for key, name in names.items()}


@pytest.fixture
def pronouncer() -> Pronouncer:
    """A small network with random weights."""
    torch.manual_seed(0)
    module = Pronouncer(8, 16).eval()
    for weight in module.parameters():
        torch.nn.init.normal_(weight, std=0.8)
    return module


def test_phonemes_are_those_of_the_published_program(pronouncer, tmp_path):
    """Those that it computes with these weights (github.com/Kyubyong/g2p, g2p.py)."""
    words = ["a", "cat", "knights", "through", "zygote"]
    assert pronounce(pronouncer, words) == [
        "W ER1 OW1 OW1 IH2 OW1 IH2 OW1 L W IH2 Z IH2 Z JH Z JH Z JH Z",
        f"IH0 ZH ER1 {' '.join(['IH2'] * 17)}",
        "ZH R",
        "AW2 EH1 EH1 R DH AA0 DH DH R DH JH AY2 IH2 JH AY2 IH2 JH AY2 IH2 JH",
        "ZH JH AY2 IH2 IH2 IH2 IH2 IH2 OW1 IH2 IH2 L IH2 Z IH2 JH OW2 IH2 Z IH0",
    ]
    np.savez(tmp_path / "checkpoint20.npz", **arrays_of(pronouncer))
    assert pronounce(read_pronouncer(tmp_path), words) == pronounce(pronouncer, words)


def test_predictions_stand_as_they_were_written():
    versions = json.loads(VERSIONS.read_text("utf-8"))
    predictions = load_predictions()
    assert versions.keys() == predictions.keys()
    for name, entry in predictions.items():
        assert entry.digest == versions[name][-1], f"{name} was changed: say it under `amended`"
        assert len(versions[name]) == 1 + len(entry.amended), name


def test_the_page_words_every_prediction_and_shows_the_committed_tables():
    assert read_wording().keys() == load_predictions().keys()

    for template, path in PAGES.items():
        assert path.read_text("utf-8") == fill_page(template, *read_outcomes())


def prediction(**changes: object) -> Prediction:
    """The first prediction with other settings."""
    return next(iter(load_predictions().values())).model_copy(update=changes)


@pytest.fixture(scope="module")
def g2p() -> Pronouncer:
    """The published network, fetched if it is not there (3 MB)."""
    try:
        return read_pronouncer(fetch("g2p")[0])
    except InputError as error:
        pytest.skip(f"the network g2p could not be fetched: {error}")


def test_the_published_network_pronounces_words(g2p):
    pronunciations = pronounce(g2p, ["knights", "through", "cats", "dogs"])
    assert pronunciations == ["N AY1 T S", "TH R UW1", "K AE1 T S", "D AO1 G Z"]
