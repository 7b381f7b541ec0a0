"""Benchmarks: what needs material that is not here says so."""

import runpy

import pytest


@pytest.mark.parametrize("name", ["labels"])
def test_a_benchmark_without_its_material_is_skipped_in_one_line(root, monkeypatch, capsys, name):
    monkeypatch.setattr("sys.argv", [name])
    runpy.run_path(str(root / "benchmarks" / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out.count("\n") == 1
