"""Every command under every fault that concerns it: a result, or one line and exit code 2."""

import re
import shutil
from itertools import product

import pytest
from planted.columns import find_unexplained_in
from planted.faults import COMMANDS, FAULTS, RARE, SIGNAL, call_main, plant_each, run

STOPPED = {SIGNAL: [(143, 1)]}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return plant_each(tmp_path_factory.mktemp("stores"))


def _list_cases():
    """Every command under every fault; every other one, and all rare faults, only in `make soak`."""
    for (i, command), (j, fault) in product(enumerate(COMMANDS), enumerate(FAULTS)):
        marks = [pytest.mark.soak] if fault in RARE or (i + j) % 2 else []
        yield pytest.param(command, fault, marks=marks)


@pytest.mark.parametrize(("command", "fault"), [*_list_cases()])
def test_a_fault_is_a_result_or_one_line(
    command, fault, planted, tmp_path, monkeypatch, capsys, record_property
):
    shutil.copytree(planted(fault), tmp_path / "store")
    code, lines = run(command, fault, tmp_path, lambda words: call_main(words, monkeypatch, capsys))
    summary = re.sub(r"\S*/", "", lines[0]) if lines else ""
    record_property("told", f"{command}|{fault}|{code}|{summary}")
    assert (code, len(lines)) in {(0, 0), (2, 1), *STOPPED.get(fault, [])}, (command, fault, lines)
    assert not list(tmp_path.rglob("*.partial.*"))
    assert (tmp_path / "out.npz").exists() == (tmp_path / "out.parquet").exists()
    assert not find_unexplained_in(tmp_path / "out")
