"""Full disks, limits of files and odd names: one line and exit code 2, or a result."""

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from planted.faults import call_main, files_of_at_most
from planted.questions import LAST, plant
from planted.stores import number_tokens, write_store

from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.store import open_store

ODD = "a b\nc é 角 'q\".d"


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., tuple[int, list[str]]]:
    """The exit code of a command, and the lines that it says of itself."""

    return lambda *words: call_main(words, monkeypatch, capsys)


def _extract(checkpoint: Path, questions: str, out: Path) -> list[object]:
    data = ["--data", f"{questions}:arithmetic__mixed", "--split", "train-easy", "-n", 8]
    return ["extract", "--ckpt", checkpoint, *data, "--no-control", "--out", out]


def test_a_file_that_cannot_grow_is_one_line_and_the_run_goes_on(
    run, checkpoint, questions, tmp_path
):
    words = _extract(checkpoint, questions, tmp_path / "store")
    with files_of_at_most(3000):
        code, messages = run(*words)
    assert code == 2
    assert len(messages) == 1, messages
    assert not list(tmp_path.rglob("*.partial.*"))
    begun = (tmp_path / "store").exists()
    assert run(*words, *(["--resume"] if begun else [])) == (0, [])
    assert open_store(tmp_path / "store").samples == 8


def test_a_link_is_where_it_leads(run, checkpoint, questions, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk", target_is_directory=True)
    assert run(*_extract(checkpoint, questions, tmp_path / "link" / "store")) == (0, [])
    assert run("inspect", tmp_path / "disk" / "store", "--verify")[0] == 0
    (tmp_path / "store").symlink_to(tmp_path / "disk" / "store")
    assert open_store(tmp_path / "store").samples == 8


def test_names_that_are_written_are_names_on_windows_too(run, checkpoint, questions, tmp_path):
    run(*_extract(checkpoint, questions, tmp_path / "store"))
    run(
        "name",
        plant(tmp_path / "asked", 12).path,
        "--site",
        LAST,
        "--k",
        3,
        "--out",
        tmp_path / "n",
    )
    names = {path.name for path in tmp_path.rglob("*")}
    assert len(names) > 20
    assert not [name for name in names if set(name) & set('<>:"|?*\\') or name[-1] in ". "]


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 8 TiB"),
        RuntimeError("[…] can't allocate memory: x"),
        ImportError("_parquet.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_too_little_memory_is_one_line(run, tmp_path, monkeypatch, error):
    def fail(_):
        raise error

    monkeypatch.setattr("tprprobe.store.open_store", fail)
    code, messages = run("export", tmp_path, tmp_path / "e.npz")
    assert (code, len(messages)) == (2, 1)
    assert "the memory here does not suffice" in messages[0]


@pytest.mark.skipif(sys.platform != "linux", reason="limits addresses as Linux does")
def test_a_sound_store_that_memory_cannot_hold_is_not_called_damaged(tmp_path):
    site = "layers.0.hidden"
    vectors = np.random.default_rng(0).standard_normal((16000, 4096), np.float32)
    write_store(tmp_path / "store", {site: vectors}, number_tokens(["w" * 4000] * 4))
    words = ["cluster", tmp_path / "store", "--site", site, "--k", 3, "--out", tmp_path / "out"]
    size = 1200 * 2**20  # what torch maps, and less than the vectors beside it
    process = subprocess.run(
        [sys.executable, "-m", "tprprobe", *map(str, words)], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip
    messages = [line for line in process.stderr.splitlines() if line.startswith("tprprobe:")]
    assert (process.returncode, len(messages)) == (2, 1), process.stderr
    assert "the memory here does not suffice" in messages[0]
    assert not (tmp_path / "out").exists()
    assert open_store(tmp_path / "store").samples == 4


def test_odd_names_are_names(run, checkpoint, questions, tmp_path):
    folder = tmp_path / ODD
    assert run(*_extract(checkpoint, questions, folder / "store")) == (0, [])
    assert run("inspect", folder / "store", "--verify")[0] == 0
    code, messages = run("inspect", folder / "none")
    assert (code, len(messages)) == (2, 1)
    assert r"a b\nc é 角" in messages[0]


def test_a_name_that_is_too_long_is_one_line(run, checkpoint, questions, tmp_path):
    for words in (
        ["inspect", tmp_path / ("x" * 300)],
        _extract(checkpoint, questions, tmp_path / ("x" * 300)),
    ):
        code, messages = run(*words)
        assert (code, len(messages)) == (2, 1), messages
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(12, "Cannot allocate memory"), "the memory here does not suffice"),
        (MemoryError("Unable to allocate 8.00 EiB for an array"), "it is damaged"),
        (ValueError("wrong number"), "it is damaged"),
    ],
)
def test_too_little_memory_is_no_damage_unless_a_file_claims_what_no_machine_has(error, message):
    with pytest.raises(InputError, match=message), as_input_error("it is damaged"):
        raise error
