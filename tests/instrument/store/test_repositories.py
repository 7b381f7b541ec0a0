"""Stores and finished runs as dataset repositories: pushed, shown by a viewer, loaded by name."""

import shutil
from pathlib import Path

import huggingface_hub
import numpy as np
import pandas as pd
import pytest
from huggingface_hub import DatasetCard
from huggingface_hub.utils import filter_repo_objects

import tprprobe as tp
from tprprobe.analyses.clustering import save_clusters
from tprprobe.cli import app
from tprprobe.cli.repositories import describe
from tprprobe.errors import InputError
from tprprobe.files.tables import read_table
from tprprobe.store import SiteSpec, StoreWriter
from tprprobe.store.verification import verify

ROLE, HIDDEN, MAPS = "encoder.0.self.role", "encoder.0.hidden", "encoder.0.self.attention"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub that is a folder: what is uploaded is what a snapshot has."""
    root = tmp_path / "hub"

    class Api:
        def create_repo(self, repo_id, repo_type, private, exist_ok):
            (root / repo_type / repo_id).mkdir(parents=True, exist_ok=exist_ok)
            return f"https://hub/{repo_type}s/{repo_id}"

        def upload_folder(self, repo_id, folder_path, repo_type, ignore_patterns):
            ignored = set(
                filter_repo_objects(list_files(folder_path), allow_patterns=ignore_patterns)
            )
            for name in set(list_files(folder_path)) - ignored:
                (root / repo_type / repo_id / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(Path(folder_path) / name, root / repo_type / repo_id / name)

        def upload_file(self, repo_id, repo_type, path_or_fileobj, path_in_repo):
            (root / repo_type / repo_id / path_in_repo).write_bytes(path_or_fileobj)

    def download(repo_id, repo_type="model", local_files_only=False):
        if not (root / repo_type / repo_id).is_dir():
            raise OSError(f"404 Client Error\nno {repo_type} {repo_id}")
        return str(root / repo_type / repo_id)

    monkeypatch.setattr("tprprobe.files.hub.is_offline", lambda: False)
    monkeypatch.setattr(huggingface_hub, "HfApi", Api)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return root


@pytest.fixture
def store(tmp_path):
    specs = {
        ROLE: SiteSpec(("source", "head", "d_head"), (2, 3)),
        HIDDEN: SiteSpec(("source", "d_model"), (6,), "bfloat16", "lz4"),
        MAPS: SiteSpec(("source_source", "head"), (2,)),
    }
    settings = {
        "model": {"name": "tiny"},
        "model_folder": "/home/me/tiny",
        "data": {"name": "made", "split": "test"},
    }
    writer = StoreWriter.create(tmp_path / "vectors", specs, settings)
    rng = np.random.default_rng(0)
    for sample in range(20):
        rows = {n: rng.normal(size=(5, *s.shape)) for n, s in specs.items() if n != MAPS}
        table = pd.DataFrame(
            {"side": "source", "sample": sample, "position": range(5), "token": [*"abcde"]}
        )
        writer.append(rows, table, {MAPS: [rng.random((2, 5, 5), np.float32)]})
    writer.finish()
    return tp.open_store(tmp_path / "vectors")


def list_files(folder) -> list[str]:
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return [path.relative_to(folder).as_posix() for path in paths]


def viewed(folder: Path) -> dict[str, pd.DataFrame]:
    """The tables that a viewer shows, as the card's configurations name them."""
    card = DatasetCard((folder / "README.md").read_text("utf-8"))
    return {
        config["config_name"]: read_table(folder / config["data_files"], {}, "")
        for config in card.data.to_dict()["configs"]
    }


def test_a_store_that_is_pushed_is_loaded_by_name(hub, store):
    before = {file: file.read_bytes() for file in store.path.rglob("*") if file.is_file()}
    address = tp.push_to_hub(store.path, "owner/vectors", private=True)
    assert address == "https://hub/datasets/owner/vectors"
    assert before == {file: file.read_bytes() for file in store.path.rglob("*") if file.is_file()}
    downloaded = tp.open_store("hub:owner/vectors")
    assert downloaded.fingerprint == store.fingerprint
    assert store.facts.model_folder
    assert downloaded.facts.model_folder is None
    assert not verify(downloaded.path).damage
    for site in (ROLE, HIDDEN):
        assert (downloaded.read(site) == store.read(site)).all()
    assert (downloaded.attention(MAPS, 3) == store.attention(MAPS, 3)).all()


def test_its_viewer_shows_tokens(hub, store):
    tp.push_to_hub(store.path, "owner/vectors")
    tables = viewed(hub / "dataset" / "owner" / "vectors")
    assert [*tables] == ["tokens"]
    pd.testing.assert_frame_equal(tables["tokens"], store.tokens)
    card = (hub / "dataset" / "owner" / "vectors" / "README.md").read_text("utf-8")
    for words in ("`tiny` on `made`, split `test`: 20 samples, 100 tokens, 3 sites", "| bfloat16 | lz4 |",
                  'tp.open_store("hub:owner/vectors")'):  # fmt: skip
        assert words in card
    assert str(store.path.parent) not in card


def test_a_finished_run_is_pushed_with_its_tables_and_loaded(hub, store, tmp_path):
    roles = tp.cluster(store, ROLE, head=0, k=3, n_seeds=2)
    save_clusters([roles], tmp_path / "run" / "clusters", store)
    (tmp_path / "run" / "scores").mkdir()
    (tmp_path / "run" / "scores" / "reconstruction.json").write_text("{}")
    pd.DataFrame({"r2": [0.5]}).to_csv(
        tmp_path / "run" / "scores" / "reconstruction.csv", index=False
    )
    (tmp_path / "run" / "notes.txt").write_text("mine")
    tp.push_to_hub(tmp_path / "run", "owner/run")
    tables = viewed(hub / "dataset" / "owner" / "run")
    assert {"clusters-clusters", "clusters-labels", "scores-reconstruction"} <= tables.keys()
    assert tables["scores-reconstruction"]["r2"].tolist() == [0.5]
    loaded = tp.load_run("hub:owner/run")
    assert [*loaded] == ["clusters", "scores"]
    assert (loaded["clusters"][0].labels == roles.labels).all()
    assert loaded["scores"]["r2"].tolist() == [0.5]


def test_what_cannot_be_shared_is_told(hub, store, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds nothing to share"):
        describe(tmp_path / "empty", "owner/x")
    with pytest.raises(InputError, match="holds no finished result"):
        tp.load_run(tmp_path / "empty")
    with pytest.raises(
        InputError, match=r"the hub did not give the dataset 'owner/none': 404 Client Error$"
    ):
        tp.open_store("hub:owner/none")
    with pytest.raises(InputError, match="give hub:owner/name"):
        tp.open_store("hub:none")
    (store.path / "manifest.json").rename(store.path / "journal.json")
    with pytest.raises(InputError, match="is not complete"):
        tp.push_to_hub(store.path, "owner/begun")
    assert not hub.exists()


def test_a_checkpoint_is_pushed_as_a_model(hub, checkpoint):
    assert tp.push_to_hub(checkpoint, "owner/tiny") == "https://hub/models/owner/tiny"
    assert {*list_files(hub / "model" / "owner" / "tiny")} == {*list_files(checkpoint)}


def test_commands_push_and_take_a_store_by_name(hub, store, capsys):
    app(["push", str(store.path), "owner/vectors"], standalone_mode=False)
    assert "https://hub/datasets/owner/vectors" in capsys.readouterr().out
    app(["inspect", "hub:owner/vectors"], standalone_mode=False)
    assert ROLE in capsys.readouterr().out
    app(["inspect", "hub:owner/vectors", "--verify"], standalone_mode=False)
    assert "files are as they were written" in capsys.readouterr().out
