"""Every command under every fault that concerns it: a result, or one line and exit code 2."""

import re
import shutil

import pytest
from planted.columns import find_unexplained_in
from planted.faults import COMMANDS, FAULTS, call_main, plant_each, run


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return plant_each(tmp_path_factory.mktemp("stores"))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_fault_is_a_result_or_one_line(
    command, fault, planted, tmp_path, monkeypatch, capsys, record_property
):
    shutil.copytree(planted(fault), tmp_path / "store")
    code, said = run(command, fault, tmp_path, lambda words: call_main(words, monkeypatch, capsys))
    told = re.sub(r"\S*/", "", said[0]) if said else ""
    record_property("told", f"{command}|{fault}|{code}|{told}")
    assert (code, len(said)) in {(0, 0), (2, 1)}, (command, fault, said)
    assert not list(tmp_path.rglob("*.partial.*"))
    assert not find_unexplained_in(tmp_path / "out")
