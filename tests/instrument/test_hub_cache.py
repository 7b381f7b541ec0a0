"""A model in the hub's cache is checked against what the hub recorded of its files."""

import hashlib

import pytest
from typer.testing import CliRunner

from tprprobe.cli import app
from tprprobe.errors import InputError
from tprprobe.files.checksums import digest_files
from tprprobe.files.hub import verify_cached
from tprprobe.models import origins


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A model as the hub's client keeps it: links to files that are named by their digests."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--owner--name"
    snapshot = repository / "snapshots" / ("1" * 40)
    (repository / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("1" * 40)
    for name, content in (("config.json", b"{}"), ("model.safetensors", b"weights")):
        git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        digest = git if name == "config.json" else hashlib.sha256(content).hexdigest()
        (repository / "blobs" / digest).write_bytes(content)
        (snapshot / name).symlink_to(repository / "blobs" / digest)
    return snapshot


def test_files_are_as_the_hub_recorded_them_or_named(cache):
    assert verify_cached("owner/name") == 2
    result = CliRunner().invoke(app, ["inspect", "--verify", "hf:owner/name"])
    assert "hf:owner/name: all 2 files are as the hub recorded them" in result.output
    for name in ("model.safetensors", "config.json"):
        content = (cache / name).read_bytes()
        (cache / name).write_bytes(content[:-1] + b"!")
        with pytest.raises(
            InputError, match=f"{name} is not what the hub recorded: remove .*blobs"
        ):
            verify_cached("owner/name")
        (cache / name).write_bytes(content)


def test_what_nobody_recorded_is_not_verified(cache, tmp_path):
    for name in ("owner/other", str(tmp_path)):
        with pytest.raises(
            InputError, match="is not in the hub's cache, whose records are checked"
        ):
            verify_cached(name)


def test_the_files_of_a_cached_model_are_its_origin(cache):
    assert origins._files("owner/name") == [cache / "config.json"]
    assert digest_files([cache / "config.json"]) == {
        "config.json": hashlib.sha256(b"{}").hexdigest()
    }
