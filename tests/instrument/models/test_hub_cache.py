"""Which files of a model lie in the hub's cache."""

import hashlib

import pytest

from tprprobe.files.checksums import digest_files
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


def test_the_files_of_a_cached_model_are_its_origin(cache):
    assert origins._files("owner/name") == [cache / "config.json"]
    assert digest_files([cache / "config.json"]) == {
        "config.json": hashlib.sha256(b"{}").hexdigest()
    }
