"""What a user is likely to try with models of transformers, and the line that says how it is meant."""

import json
import socket
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from planted.cli import run_command
from planted.foreign import save_gguf

import tprprobe as tp
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.models import load_model

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def test_inspect_of_a_folder_of_transformers_says_what_can_be_asked(folder):
    report = json.loads(run_command("inspect", folder, "--json").stdout)
    assert (report["head"], report["layers"], report["width"], report["heads"]) == (
        "causal",
        "layers 2",
        16,
        2,
    )
    assert report["commands"] == "extract, probe, decompose, eval, predict, intervene"
    assert report["sites"][0]["site"] == "layers.embedding"
    assert "symbols, texts of 64" in report["tokenizer"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bert-base-uncased", "a model of transformers is hf:bert-base-uncased"),
        ("gpt2", "a model of transformers is hf:gpt2"),
        ("FOLDER", "is a model of transformers: say hf:"),
        ("FOLDER/config.json", "is a file, a checkpoint is a folder: `tprprobe convert"),
        ("hf:FOLDERS", "no folder .* here .there is .*tiny"),
        ("hf:nothing", "no folder 'nothing' here, it is not in the hub's cache, and the hub cannot be reached"),
        ("hf:hf/nothing", "no folder 'hf/nothing' here, it is not in the hub's cache"),
        ("hf:hf/*", "no folder 'hf/\\*' here: give hf:FOLDER, hf:FILE.gguf or a hub id"),
        ("hf:nothing.gguf", "no file 'nothing.gguf': give hf:FILE.gguf"),
    ],
)  # fmt: skip
def test_a_name_that_is_meant_otherwise_is_one_line(folder, name, message):
    with pytest.raises(InputError, match=message) as error:
        load_model(name.replace("FOLDER", str(folder)))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("convert FOLDER OUT", "a model of transformers needs none of this: hf:"),
        ("convert FILE.npz OUT", "FILE.npz is no checkpoint of PyTorch .*give that to tp.attach"),
        ("inspect HERE/FILE.npz", "is a file, a checkpoint is a folder"),
        ("inspect HERE/tinny", "no folder 'HERE/tinny' here .there is 'HERE/tiny'., and the hub did not give it: it is not in the hub's cache"),
        ("extract --ckpt hf:FOLDER --data HERE --out OUT", "no data 'HERE': the folder has no file of a split"),
        ("extract --ckpt hf:nothing --data none.txt --out OUT", "no data 'none.txt': there is no such file here"),
        ("intervene pairs:capital --ckpt hf:nothing", "no recipe 'pairs:capital' here; minimal pairs are --data pairs:FRAME"),
        ("predict word --ckpt hf:FOLDERS", "no folder .* here .there is .*tiny"),
    ],
)  # fmt: skip
def test_a_command_that_is_meant_otherwise_is_one_line(
    folder, tmp_path, monkeypatch, line, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "HERE" / "tiny").mkdir(parents=True)
    for place in (tmp_path, tmp_path / "HERE"):
        (place / "FILE.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match=message) as error:
        run_command(*line.replace("FOLDER", str(folder)).split())
    assert "\n" not in str(error.value)
    assert not (tmp_path / "OUT").exists()


def test_a_folder_of_nothing_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"has no config\.json and no \.gguf file"):
        load_model(f"hf:{tmp_path}")


def test_offline_may_stand_anywhere(monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("huggingface_hub.utils.get_session", Mock)  # it answers
    for line in (["--offline", "inspect", "hf:nothing"], ["inspect", "hf:nothing", "--offline"]):
        with pytest.raises(InputError, match="the hub cannot be reached"):
            run_command(*line)
        monkeypatch.delenv("HF_HUB_OFFLINE")


def test_a_hub_that_does_not_answer_is_one_line_within_seconds(monkeypatch):
    """Its client would try again for minutes: a server or proxy takes the connection and says nothing."""
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(hub, "PATIENCE", 0.5)
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        begun = time.monotonic()
        for name, message in (
            ("hf:nothing", "cannot be reached"),
            ("hub:a/b", "in the hub's cache"),
        ):
            with pytest.raises(InputError, match=message):
                run_command("inspect", name)
        with pytest.raises(InputError, match="it cannot be reached"):
            hub.upload(Path(), "a/b", "model", private=False)
        assert time.monotonic() - begun < 30
    assert hub.is_offline()  # nobody listens


def test_a_gguf_file_gives_the_weights_that_were_put_in(tmp_path, make_data):
    """A tiny Llama written as F32: what is read equals it; the store says that it was dequantized."""
    pytest.importorskip("gguf")
    saved = save_gguf(tmp_path / "tiny")
    file = tmp_path / "tiny" / "tiny.gguf"
    ids = torch.tensor([[3, 4, 5, 6]])
    for path in (file, file.parent):
        model = load_model(f"hf:{path}")
        assert model.head == "causal"
        with torch.no_grad():
            torch.testing.assert_close(model(ids), saved(ids).logits, atol=1e-5, rtol=1e-5)
        assert model.notes == {"weights": "dequantized from F32 (tiny.gguf)"}
    data = make_data([("a b c", ""), ("d e", "")])
    store = tp.extract(model, data, "*.hidden", tmp_path / "store", control=False)
    assert store.manifest["model"]["weights"] == "dequantized from F32 (tiny.gguf)"
    (file.parent / "other.gguf").write_bytes(b"")
    with pytest.raises(
        InputError, match=r"has several \.gguf files, give one: .*other\.gguf, tiny\.gguf"
    ):
        load_model(f"hf:{file.parent}")
    with pytest.raises(InputError, match="is damaged or no GGUF file"):
        load_model(f"hf:{file.parent / 'other.gguf'}")
    file.write_bytes(file.read_bytes().replace(*map(_layers, (2, 1))))
    assert load_model(f"hf:{file}").notes["unused weights"].startswith("blk.1.")


def _layers(number):
    """The field of a GGUF file that counts its layers: its name, its type and the number."""
    return b"llama.block_count" + (4).to_bytes(4, "little") + number.to_bytes(4, "little")
