"""Extraction by several processes: the store of one process, whoever dies on the way."""

import copy
import functools
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from planted.stores import read_files

import tprprobe as tp
from tprprobe.data.dataset import Dataset
from tprprobe.errors import InputError
from tprprobe.extraction import blocks, division, extractions
from tprprobe.files.processes import Ranks

DATA = {"name": "mathematics:arithmetic__mul", "split": "small-test", "n": 13, "seed": 1}
SITES = ["encoder.-1.hidden", "encoder.-1.self.attention", "decoder.-1.hidden"]


class Killed(Exception):
    """What ends a process in the middle."""


@dataclass(frozen=True)
class Questions(Dataset):
    """Questions that were generated before: the generator's random numbers are shared by threads."""

    questions: tuple[Any, ...]
    noted: list[int] = field(default_factory=list)  # the rows that were read

    def read(self, rows: Sequence[int]) -> Iterator[Any]:
        for row in rows:
            self.noted.append(row)
            yield self.questions[row]


@functools.cache
def generated() -> tuple[Any, ...]:
    return tuple(tp.load_data(DATA["name"], split=DATA["split"], n=DATA["n"], seed=DATA["seed"]))


@pytest.fixture(scope="module")
def model() -> Any:
    return tp.load_model("tpt-c-arithmetic")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(division, "BLOCK", 3)
    one_at_a_time = threading.Lock()  # threads share the state of torch's random numbers

    def find_controls(*arguments: Any, twins: Any = blocks.find_controls) -> Any:
        with one_at_a_time:
            return twins(*arguments)

    monkeypatch.setattr(blocks, "find_controls", find_controls)


def questions() -> Questions:
    rows = range(len(generated()))
    return Questions(DATA["name"], DATA["split"], DATA["seed"], rows, generated())


def extract(model: Any, out: Path, resume: bool = False, data: Any = None) -> Any:
    return tp.extract(model, data or questions(), SITES, out, 4, control_samples=8, resume=resume)


@pytest.fixture(scope="module")
def single_store(model, tmp_path_factory) -> dict[str, bytes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(division, "BLOCK", 3)
        return read_files(extract(model, tmp_path_factory.mktemp("whole") / "store").path)


def run_ranks(model: Any, out: Path, count: int, monkeypatch, selected=None, resume=False) -> list:
    """What came of the processes (here threads, each with its own model) with these ranks."""
    places = {str(rank): Ranks(rank, count, rank) for rank in range(count)}
    monkeypatch.setattr(Ranks, "of", lambda: places[threading.current_thread().name])
    results: list[Any] = [None] * count

    def work(rank: int) -> None:
        try:
            results[rank] = extract(copy.deepcopy(model), out, resume)
        except (Killed, InputError, AssertionError, ValueError) as error:
            results[rank] = error

    ranks = range(count) if selected is None else selected
    threads = [
        threading.Thread(target=work, args=(rank,), name=str(rank), daemon=True) for rank in ranks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)  # a process whose fellow died waits for ever
    return results


@pytest.mark.parametrize("count", [2, 4])
def test_processes_write_the_store_of_one(model, single_store, tmp_path, monkeypatch, count):
    results = run_ranks(model, tmp_path / "store", count, monkeypatch)
    assert {getattr(store, "samples", store) for store in results} == {13}
    assert read_files(tmp_path / "store") == single_store
    assert [p.name for p in tmp_path.iterdir()] == ["store"]  # no part is left


def test_a_killed_process_goes_on(model, single_store, tmp_path, monkeypatch):
    append, appended = extractions.StoreWriter.append, []

    def until(self, *args):
        if len(appended) == 1:
            raise Killed
        appended.append(append(self, *args))

    with monkeypatch.context() as patch:
        patch.setattr(extractions.StoreWriter, "append", until)
        results = run_ranks(model, tmp_path / "store", 2, monkeypatch, selected=[1])
    assert isinstance(results[1], Killed)
    assert not (tmp_path / "store").exists()  # readers see a whole store or none
    refused = run_ranks(model, tmp_path / "store", 2, monkeypatch, selected=[1])
    assert "go on with --resume" in str(refused[1])
    results = run_ranks(model, tmp_path / "store", 2, monkeypatch, resume=True)
    assert read_files(tmp_path / "store") == single_store
    reopened = run_ranks(model, tmp_path / "store", 2, monkeypatch, resume=True, selected=[0])
    assert reopened[0].samples == 13
    assert "holds a store, complete" in str(
        run_ranks(model, tmp_path / "store", 2, monkeypatch, [0])[0]
    )


def test_a_process_reads_only_its_own_texts(model, tmp_path, monkeypatch):
    monkeypatch.setattr(Ranks, "of", lambda: Ranks(1, 2))

    def stop(*_: Any) -> None:
        raise Killed

    monkeypatch.setattr(blocks, "join_ranges", stop)
    monkeypatch.setattr(extractions, "N_SEARCHED", 1)  # texts that are searched for unknown symbols
    data = questions()
    with pytest.raises(Killed):
        extract(model, tmp_path / "store", data=data)
    assert {*data.noted} == {0, *range(9, 13)}  # the first one tells the shapes of sites


def test_the_starters_say_who_a_process_is():
    assert Ranks.of({}) == Ranks(0, 1, 0)
    assert Ranks.of({"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}) == Ranks(5, 8, 1)
    step = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "1"}
    assert Ranks.of(step) == Ranks(1, 2, 1)
    assert (
        Ranks.of({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}) == Ranks()
    )  # a job's script, no srun
    assert [Ranks(5, 8, 1).place(device) for device in ("cuda", "cuda:0", "cpu")] == [
        "cuda:1", "cuda:0", "cpu"
    ]  # fmt: skip
    assert Ranks().place("cuda") == "cuda"
    with pytest.raises(InputError, match="start them with torchrun or srun"):
        Ranks.of({"RANK": "2", "WORLD_SIZE": "2"})


@pytest.mark.soak
def test_torchrun_writes_the_same_store(model, tmp_path, monkeypatch):
    monkeypatch.undo()
    options = f"--ckpt tpt-c-arithmetic --data {DATA['name']} --split small-test -n 300"
    sites = ["--sites", "encoder.*.hidden"]
    command = ["-m", "tprprobe", "extract", *options.split(), *sites, "--out"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    subprocess.run([*torchrun, *command, str(tmp_path / "two")], check=True)
    subprocess.run([sys.executable, *command, str(tmp_path / "one")], check=True)
    assert read_files(tmp_path / "two") == read_files(tmp_path / "one")
