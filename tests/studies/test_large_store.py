"""The section on a large store: what its commands cost is measured once, and what it holds is counted."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from studies.pages import large_store as section
from tprprobe.cli import app
from tprprobe.errors import InputError
from tprprobe.store import open_store


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A folder of runs in which the store was made, of few captions and in this process."""

    def run(command):
        assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
        return {"processor_seconds": 2.0, "seconds": 3.0, "memory": 5e8}

    monkeypatch.setattr(section, "CAPTIONS", 40)
    monkeypatch.setattr(section, "run_alone", run)
    monkeypatch.setattr(section, "place", lambda name, what, runs: runs / what)
    section.measure_costs(tmp_path / section.STORE)
    return tmp_path


def test_what_the_store_holds_and_cost_is_told(measured, monkeypatch):
    folder = measured / section.STORE
    costs = pd.read_csv(folder / section.COSTS)
    assert costs["command"].tolist() == ["extract", "cluster --k 2", "cluster --k 10"]
    store = open_store(folder / section.STORE)
    sizes = section._sizes(store)
    assert store.samples == 40
    assert sizes["words"] == sizes["vectors"] - 40  # every caption's end has a vector too
    assert sizes["bytes"] > sizes["vectors"] * sizes["width"]
    monkeypatch.setattr(section, "read_stores", lambda name, runs: (store,))
    monkeypatch.setattr(section, "measure_costs", None)  # it is not measured again
    text = section.summarize_large_store(measured)
    assert f"| 40 | {sizes['words']:,} | {sizes['vectors']:,} | " in text
    assert f" | {sizes['words'] / 2:,.0f} |\n" in text
    assert "| `extract` | 2 | 3 | 500 |" in text
    assert f"k-means of {sizes['vectors']:,} vectors" in text


def test_a_command_alone_has_its_own_costs_and_a_failed_one_is_told(tmp_path, monkeypatch):
    costs = section.run_alone(["--help"])
    assert 0 < costs["processor_seconds"] < 60
    assert 1e6 < costs["memory"] < 1e10
    with pytest.raises(InputError, match=r"tprprobe inspect .* ended with 2"):
        section.run_alone(["inspect", str(tmp_path / "nothing")])

    def fail(*given):
        raise InputError("no such model")

    monkeypatch.setattr(section, "place", fail)
    assert "Not measured (no such model)" in section.summarize_large_store(tmp_path)
