"""Full disks, limits of files and odd names: one line and exit code 2, or a result."""

import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from planted.questions import LAST, plant

from tprprobe.cli import main
from tprprobe.store import open_store

ODD = "a b\nc é 角 'q\".d"


@pytest.fixture
def run(monkeypatch, capsys) -> Callable[..., tuple[int, list[str]]]:
    """The exit code of a command, and the lines that it says of itself."""

    def call(*words: object) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["tprprobe", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr().err.splitlines()
        return int(ended.value.code or 0), [line for line in said if line.startswith("tprprobe:")]

    return call


@contextmanager
def _files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _extract(checkpoint: Path, questions: str, out: Path) -> list[object]:
    data = ["--data", f"{questions}:arithmetic__mixed", "--split", "train-easy", "-n", 8]
    return ["extract", "--ckpt", checkpoint, *data, "--no-control", "--out", out]


def test_a_file_that_cannot_grow_is_one_line_and_the_run_goes_on(
    run, checkpoint, questions, tmp_path
):
    words = _extract(checkpoint, questions, tmp_path / "store")
    with _files_of_at_most(3000):
        code, said = run(*words)
    assert code == 2
    assert len(said) == 1, said
    assert not list(tmp_path.rglob("*.partial.*"))
    begun = (tmp_path / "store").exists()
    assert run(*words, *(["--resume"] if begun else [])) == (0, [])
    assert open_store(tmp_path / "store").samples == 8


def test_an_analysis_that_cannot_be_written_is_one_line(run, tmp_path):
    store = plant(tmp_path / "store", 12).path
    words = ["cluster", store, "--site", LAST, "--head", 0, "--k", 3, "--out", tmp_path / "out"]
    with _files_of_at_most(500):
        code, said = run(*words)
    assert (code, len(said)) == (2, 1)
    assert "cannot write" in said[0]
    assert not (tmp_path / "out").exists()
    assert run(*words)[0] == 0


def test_odd_names_are_names(run, checkpoint, questions, tmp_path):
    folder = tmp_path / ODD
    assert run(*_extract(checkpoint, questions, folder / "store")) == (0, [])
    assert run("inspect", folder / "store", "--verify")[0] == 0
    code, said = run("inspect", folder / "none")
    assert (code, len(said)) == (2, 1)
    assert r"a b\nc é 角" in said[0]


def test_a_name_that_is_too_long_is_one_line(run, checkpoint, questions, tmp_path):
    for words in (
        ["inspect", tmp_path / ("x" * 300)],
        _extract(checkpoint, questions, tmp_path / ("x" * 300)),
    ):
        code, said = run(*words)
        assert (code, len(said)) == (2, 1), said
    assert not list(tmp_path.iterdir())
