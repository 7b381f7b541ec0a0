"""Benchmarks: what needs material that is not here says so."""

import runpy


def test_a_benchmark_without_its_material_is_skipped_in_one_line(root, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["labels"])
    runpy.run_path(str(root / "benchmarks" / "labels.py"), run_name="__main__")
    assert capsys.readouterr().out.count("\n") == 1
