"""Features of images by a tiny random ResNet saved here."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from planted.cli import run_command

from tprpapers.huang import resnet
from tprpapers.huang.image_features import open_features
from tprpapers.huang.resnet import compute_features, read_image
from tprprobe.errors import InputError


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> str:
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(0)
    config = ResNetConfig(
        embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic", num_channels=3
    )
    folder = tmp_path_factory.mktemp("network")
    ResNetModel(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def images(tmp_path) -> Path:
    folder, rng = tmp_path / "images", np.random.default_rng(0)
    (folder / "more").mkdir(parents=True)
    for name, size in (("b.png", (300, 260)), ("more/a.jpg", (64, 90)), ("c.png", (224, 224))):
        pixels = rng.integers(0, 255, (*size, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name)
    Image.new("L", (50, 50), 9).save(folder / "COCO_val2014_000000000042.jpg")
    (folder / "broken.jpg").write_bytes(b"no image")
    (folder / "notes.txt").write_text("left alone")
    return folder


def test_every_image_has_its_vector_and_bad_ones_are_named(network, images, tmp_path, capsys):
    out = tmp_path / "f.parquet"
    bad = compute_features(images, out, network)
    assert [path.name for path in bad] == ["broken.jpg"]
    assert "broken.jpg is no image" in capsys.readouterr().err.replace("\n", "")
    features = open_features(out)
    assert features.names == ("42", "b", "c", "a")
    assert not Path(f"{out}.parts").exists()
    model = resnet.load_network(network)
    with torch.no_grad():
        pixels = torch.from_numpy(read_image(images / "b.png"))[None]
        expected = model(pixel_values=pixels).pooler_output.flatten()
    torch.testing.assert_close(torch.from_numpy(features.read(1).copy()), expected)


def test_a_run_that_was_cut_off_goes_on(network, images, tmp_path, monkeypatch):
    monkeypatch.setattr(resnet, "WRITE_SIZE", 2)
    uninterrupted, out = tmp_path / "whole.parquet", tmp_path / "f.parquet"
    compute_features(images, uninterrupted, network)
    encode, calls = resnet._encode, []

    def until(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return encode(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(resnet, "_encode", until)
        with pytest.raises(KeyboardInterrupt):
            compute_features(images, out, network)
    assert not out.exists()
    with pytest.raises(InputError, match="--resume goes on"):
        compute_features(images, out, network)
    compute_features(images, out, network, resume=True)
    assert pq.read_table(out).equals(pq.read_table(uninterrupted))


def test_the_command_says_what_is_wrong(images, tmp_path):
    out = tmp_path / "f.parquet"
    for words, message in (
        ([images, tmp_path / "f.npy"], r"ends in \.parquet"),
        ([tmp_path / "none", out], "no folder"),
        ([images, out, "--model", "nobody/none"], "no network 'nobody/none' here"),
    ):
        with pytest.raises(InputError, match=message):
            run_command("features", *words)
    (images / "a.png").write_bytes(b"")
    with pytest.raises(InputError, match="have one name"):
        run_command("features", images, out)
