"""Checkpoint folders: what is saved is what is loaded, and what is damaged is refused in one line."""

import json
import shutil
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file

from tprprobe.data.vocabularies.characters import characters
from tprprobe.errors import InputError
from tprprobe.files import assets, hub
from tprprobe.models import architectures, build, load_model
from tprprobe.models.checkpoint import (
    checkpoint_files,
    default_data,
    save_pretrained,
)

SOURCE, TARGET = torch.tensor([[2, 9, 8, 3]]), torch.tensor([[2, 9]])
CARD = "---\nlicense: mit\ntprprobe:\n  data: mathematics:arithmetic__mixed\n  split: small-test\n---\n# T\n"


@pytest.fixture
def folder(checkpoint, tmp_path) -> Path:
    """A copy of the tiny checkpoint that a test may damage."""
    return shutil.copytree(checkpoint, tmp_path / "tiny")


def edit_config(folder: Path, **changes) -> None:
    config = json.loads((folder / hub.CONFIG).read_text())
    for key, value in changes.items():
        if value is None:
            del config[key]
        else:
            config[key] = value
    (folder / hub.CONFIG).write_text(json.dumps(config))


@pytest.mark.parametrize(
    "settings",
    [
        {"architecture": "tp-transformer", "binding": "outer", "embedding_binding": False},
        {"architecture": "tp-transformer", "roles": "one"},
        {"architecture": "transformer", "dropout": 0.1},
        {"architecture": "tpt", "d_head": 8, "n_roles": 3},
        {"architecture": "t5", "d_head": 8},
        {"architecture": "lstm", "thinking_steps": 2},
    ],
)
def test_what_is_saved_is_what_is_loaded(settings, tmp_path):
    sizes = {"d_model": 16, "vocab_size": 73}
    if settings["architecture"] != "lstm":
        sizes |= {"n_heads": 2, "n_layers": (2, 1), "d_ff": 24}
    model = build(sizes | settings, seed=1).eval()
    save_pretrained(model, tmp_path / "saved")
    loaded = load_model(tmp_path / "saved")
    assert not loaded.training
    assert loaded.config == model.config
    assert loaded.architecture == settings["architecture"]
    assert loaded.vocabulary is None
    assert loaded(SOURCE, TARGET).equal(model(SOURCE, TARGET))
    assert loaded.state_dict().keys() == model.state_dict().keys()


def test_a_folder_is_that_of_the_hub(make_model, tmp_path):
    recipe = {"name": "tiny", "stages": [{"steps": 3, "mix": []}]}
    folder = save_pretrained(
        make_model(),
        tmp_path / "a" / "b",
        card="# Tiny\n",
        recipe=recipe,
        extra={"log.csv": "step\n"},
    )
    assert {path.name for path in folder.iterdir()} == {
        "config.json",
        "model.safetensors",
        "README.md",
        "recipe.toml",
        "vocabulary.json",
        "log.csv",
    }
    config = json.loads((folder / "config.json").read_text())
    assert config["architecture"] == "tp-transformer"
    assert config["n_layers"] == [2, 1]
    loaded = load_model(folder)
    assert loaded.vocabulary == characters()
    assert (loaded.name, loaded.folder) == ("b", folder)
    assert oct(folder.stat().st_mode)[-3:] == "755"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_on_disk_is_single_in_memory(dtype, make_model, questions, tmp_path):
    model = make_model()
    folder = save_pretrained(model, tmp_path / "half", dtype=dtype)
    on_disk = load_file(folder / hub.WEIGHTS)
    assert {tensor.dtype for tensor in on_disk.values()} == {dtype}
    loaded = load_model(folder)
    assert {parameter.dtype for parameter in loaded.parameters()} == {torch.float32}
    for name, tensor in model.state_dict().items():
        assert loaded.state_dict()[name].equal(tensor.to(dtype).float())
    assert model.embedding.token.weight.dtype == torch.float32


@pytest.mark.parametrize("allowed", range(4))
def test_a_folder_is_whole_or_not_there(allowed, make_model, tmp_path, monkeypatch):
    """Whichever file is the last that fits on the disk."""
    write, names = Path.write_bytes, []

    def full(path: Path, data: bytes) -> int:
        if len(names) == allowed:
            raise OSError(28, "No space left on device")
        names.append(path.name)
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="No space"):
        save_pretrained(make_model(), tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def refusal(folder: Path, **options) -> str:
    with pytest.raises(InputError) as refused:
        load_model(folder, **options)
    message = str(refused.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_modle": 16}, "did you mean 'd_model'"),
        ({"d_ff": 25}, "expand.weight has shape (24, 16), config.json asks for (25, 16)"),
        ({"n_layers": [3, 1]}, "lacks the tensor 'encoder.2.norm1.weight'"),
        ({"n_layers": [1, 1]}, "unknown tensor in model.safetensors 'encoder.1."),
        ({"vocab_size": 80}, "(73, 16), config.json asks for (80, 16)"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(changes, message, folder):
    edit_config(folder, **changes)
    assert message in refusal(folder)


def test_missing_files_are_named(folder):
    (folder / hub.WEIGHTS).unlink()
    assert refusal(folder) == f"{folder} has no model.safetensors"
    (folder / hub.CONFIG).unlink()
    assert refusal(folder).startswith(f"{folder} has no config.json; weights of a module")


def test_a_pickle_is_not_opened(folder):
    opened = folder / "opened"

    class Trap:
        def __reduce__(self):
            return Path.touch, (opened,)

    torch.save({"trap": Trap()}, folder / hub.WEIGHTS)
    assert "damaged or no safetensors" in refusal(folder)
    assert not opened.exists()


def test_a_vocabulary_that_is_not_the_models_is_refused(folder):
    (folder / "vocabulary.json").write_text(json.dumps(list(characters().symbols)[:-1]))
    assert "vocabulary.json has vocab_size 72, the model 73" in refusal(folder)
    symbols = list(characters().symbols)
    (folder / "vocabulary.json").write_text(json.dumps([symbols[1], symbols[0], *symbols[2:]]))
    assert "vocabulary.json has pad 0, the model 1" in refusal(folder)
    (folder / "vocabulary.json").write_text("{")
    assert "vocabulary.json is not JSON" in refusal(folder)


@pytest.mark.parametrize("device", ["cuda:77", "gpu", "cpu:x", ""])
def test_a_device_that_is_not_there_is_refused(device, folder):
    assert f"no device {device!r}" in refusal(folder, device=device)


def test_shipped_names_are_found_and_near_ones_suggested(checkpoint, tmp_path, monkeypatch):
    shutil.copytree(checkpoint, tmp_path / "models" / "tpt-tiny-sums")
    monkeypatch.setenv("TPRPROBE_PATH", f"{tmp_path / 'nothing'}:{tmp_path}")
    model = load_model("tpt-tiny-sums")
    assert model.name == "tpt-tiny-sums"
    assert "did you mean 'tpt-tiny-sums'" in refusal("tpt-tiny-sum")
    assert "unknown model or folder" in refusal(tmp_path / "no" / "such")
    (tmp_path / "models" / ".hidden").mkdir()
    assert ".hidden" not in assets.available("models")


def test_an_untrained_twin_needs_no_weights_but_a_right_config(folder):
    (folder / hub.WEIGHTS).unlink()
    load_model(f"untrained:{folder}")
    edit_config(folder, d_modle=3)
    assert "did you mean 'd_model'" in refusal(Path(f"untrained:{folder}"))


def snapshot(cache: Path, checkpoint: Path) -> None:
    """The hub's own cache, holding a checkpoint as ``owner/tiny``."""
    repository = cache / "models--owner--tiny"
    shutil.copytree(checkpoint, repository / "snapshots" / "abc123")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc123")


def test_a_hub_id_is_read_from_the_hubs_cache(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    snapshot(tmp_path, checkpoint)
    model = load_model("owner/tiny", local_files_only=True)
    assert model.name == "owner/tiny"
    assert load_model("untrained:owner/tiny", local_files_only=True).name == "untrained:owner/tiny"
    assert model(SOURCE, TARGET).equal(load_model(checkpoint)(SOURCE, TARGET))
    origin = {
        file.name for file in architectures._files("owner/tiny")
    }  # the files that tell models apart
    assert "config.json" in origin <= {file.name for file in checkpoint.iterdir()}
    message = refusal("owner/nothing", local_files_only=True)
    assert message.startswith("no folder 'owner/nothing' here, and the hub did not give it: ")


def test_a_folder_goes_before_a_hub_id(checkpoint, tmp_path, monkeypatch):
    shutil.copytree(checkpoint, tmp_path / "runs" / "tiny")
    monkeypatch.chdir(tmp_path)
    assert load_model("runs/tiny").folder == Path("runs/tiny")


def test_the_card_names_the_data(make_model, tmp_path, checkpoint):
    model = load_model(save_pretrained(make_model(), tmp_path / "saved", card=CARD))
    assert default_data(model) == ("mathematics:arithmetic__mixed", "small-test")
    assert default_data(model, "interpolate") == ("mathematics:arithmetic__mixed", "interpolate")
    for silent in (load_model(checkpoint), make_model()):
        with pytest.raises(InputError, match="names no data: give --data"):
            default_data(silent)


@pytest.mark.parametrize(
    "front",
    ["tprprobe: text", "tprprobe:\n  split: small", "tprprobe: data", "- a\n- b", "a: [", ""],
)
def test_a_card_that_names_no_data_says_so(front, make_model, tmp_path):
    card = f"---\n{front}\n---\n"
    model = load_model(save_pretrained(make_model(), tmp_path / "saved", card=card))
    with pytest.raises(InputError, match="names no data"):
        default_data(model)


def test_the_same_weights_are_the_same_bytes(make_model):
    model = make_model()
    files = {checkpoint_files(model)[hub.WEIGHTS] for _ in range(12)}
    assert len(files) == 1
