"""Dask's workers: the numbers of one process, bit for bit, and one line where they cannot be had."""

import os
import pickle
import signal
import threading

import pandas as pd
import pytest
import torch
from planted.cli import run_command
from planted.sentences import plant
from planted.stores import read_files

from tprprobe.analyses.clustering import kmeans
from tprprobe.analyses.decomposition import sequence_units, unit_vectors
from tprprobe.analyses.probing import probe
from tprprobe.analyses.probing import run as run_module
from tprprobe.errors import InputError
from tprprobe.extraction import blocks, extract
from tprprobe.extraction.blocks import plan
from tprprobe.models import load_model
from tprprobe.store import dask_workers
from tprprobe.store.dask_workers import each_part, parts_of, scheduled

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
ROLE = "encoder.1.self.role"
COMMANDS = {
    "cluster": ["--site", ROLE, "--head", "0", "--k", "3"],
    "decompose": ["--site", ROLE, "--family", "additive"],
}


@pytest.fixture(scope="module")
def address():
    """A scheduler with two workers, each a process."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def store(make_model, make_data, tmp_path_factory):
    out = tmp_path_factory.mktemp("parts") / "store"
    data = make_data([(f"{a}/({b}+1)", "1") for a in range(8) for b in range(4)])
    return extract(make_model(), data, ["encoder.1.*"], out, control=False)


@pytest.fixture
def in_parts(monkeypatch):
    """All that is read goes in parts of 64 rows, as if a site were larger than memory."""
    monkeypatch.setattr(dask_workers, "ROWS_PER_PART", 64)
    monkeypatch.setattr(unit_vectors, "ROWS_PER_PART", 64)
    monkeypatch.setattr(sequence_units, "BLOCK_BYTES", 8 * 16 * 32)
    monkeypatch.setattr(kmeans, "BUDGET", 1000)


@pytest.mark.parametrize("command", COMMANDS)
def test_two_workers_find_what_one_process_does(command, store, address, in_parts):
    words = [command, store.path, *COMMANDS[command], "--json"]
    single, shared = run_command(*words), run_command(*words, "--scheduler", address)
    assert len(single.stdout) > 100
    assert shared.stdout == single.stdout


def test_the_last_worker_that_is_killed_ends_a_pass_with_a_line(monkeypatch):
    monkeypatch.setattr(dask_workers, "PATIENCE", "300ms")
    monkeypatch.setattr(dask_workers, "LOST", 2)
    start = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with start as cluster, scheduled(cluster.scheduler_address):
        found = each_part(lambda p: p.start, parts_of(60, 2))
        assert next(found) == 0
        cluster.scale(0)
        with pytest.raises(InputError, match="Dask's workers were lost"):
            list(found)


def test_probes_are_the_same_files_though_a_worker_is_killed(address, tmp_path, monkeypatch):
    labelled = plant(tmp_path / "labelled", 60)
    settings = {"estimator": "linear", "controls": ["shuffled"], "sites": "encoder.*"}
    alone = probe(labelled, "pos", out=tmp_path / "alone", **settings)
    take, killed = run_module._take_round, []

    def kill(*arguments):
        counts = take(*arguments)
        if not killed:
            killed.extend(distributed.Client.current().run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)
        return counts

    monkeypatch.setattr(run_module, "_take_round", kill)
    with scheduled(address):
        shared = probe(labelled, "pos", out=tmp_path / "shared", **settings)
    assert killed
    pd.testing.assert_frame_equal(shared, alone)
    files = [file for file in (tmp_path / "alone").rglob("*.*") if file.is_file()]
    assert sum(file.suffix == ".safetensors" for file in files) > 1
    for file in files:
        other = tmp_path / "shared" / file.relative_to(tmp_path / "alone")
        assert other.read_bytes() == file.read_bytes()


def test_an_extraction_is_the_same_store_though_a_worker_is_killed(
    address, make_model, make_data, tmp_path, monkeypatch
):
    def kill_one(function, parts):
        process, *_ = distributed.Client.current().run(os.getpid).values()
        threading.Timer(0.3, os.kill, (process, signal.SIGKILL)).start()
        yield from each_part(function, parts)

    monkeypatch.setattr(blocks, "each_part", kill_one)
    model, data = make_model(), make_data([(f"{a}+{b}", "1") for a in range(34) for b in range(34)])
    extract(model, data, ["encoder.*.role"], tmp_path / "alone", control_samples=600)
    with scheduled(address):
        extract(model, data, ["encoder.*.role"], tmp_path / "shared", control_samples=600)
        (tmp_path / ".parts.parts").mkdir()
        with pytest.raises(InputError, match="parts of an earlier run: go on with --resume"):
            extract(model, data, ["encoder.*.role"], tmp_path / "parts")
    files = read_files(tmp_path / "alone")
    assert len(files) > 10
    assert read_files(tmp_path / "shared") == files
    assert not (tmp_path / ".shared.parts").exists()


def test_a_model_that_was_loaded_by_its_name_is_sent_as_this_name():
    model = load_model("tpt-c-arithmetic")
    run = plan(model, ["1+1"], "encoder.0.hidden")
    sent = distributed.protocol.pickle.dumps(run)
    assert len(sent) < 20_000
    again = pickle.loads(sent)
    assert again.model is not model
    weights = zip(again.model.parameters(), model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in weights)
    with torch.no_grad():
        next(model.parameters()).mul_(2)  # from now on the name gives another model
    changed = pickle.loads(distributed.protocol.pickle.dumps(run))
    weights = zip(changed.model.parameters(), model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in weights)


def test_a_store_is_sent_as_its_path(store):
    assert pickle.loads(pickle.dumps(store)).manifest == store.manifest
    assert len(pickle.dumps(store)) < 500
    reopen, (path, _, *added) = store.__reduce__()
    with pytest.raises(InputError, match="is another store here"):
        reopen(path, "of something else", *added)


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:1", "nonsense", "carrier-pigeon://here:8786"])
def test_a_bad_address_is_one_line(url, store, monkeypatch):
    monkeypatch.setattr(dask_workers, "PATIENCE", "200ms")
    with pytest.raises(InputError, match=f"no Dask scheduler at {url!r}"):
        run_command("cluster", store.path, *COMMANDS["cluster"], "--scheduler", url)
    assert dask.config.get("scheduler", None) is None  # what computes arrays is as before
