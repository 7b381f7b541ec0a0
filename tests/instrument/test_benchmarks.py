"""Benchmarks: what needs material that is not here says so, and what they print is kept by commit."""

import runpy

import pandas as pd
import pytest


@pytest.fixture
def record(root, monkeypatch, tmp_path):
    """The names of `benchmarks/record.py`, whose folders are others."""
    names = runpy.run_path(str(root / "benchmarks" / "record.py"))
    for name in ("run", "page"):
        monkeypatch.setitem(names[name].__globals__, "RESULTS", tmp_path / "results")
        monkeypatch.setitem(names[name].__globals__, "FOLDER", tmp_path)
    return names


def test_a_benchmark_without_its_material_is_skipped_in_one_line(root, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["labels"])
    runpy.run_path(str(root / "benchmarks" / "labels.py"), run_name="__main__")
    assert capsys.readouterr().out.count("\n") == 1


PRINTED = """{} of them:

| k-means | theirs | ours | ratio |
|---|---:|---:|---|
| narrow | 10.0 s | 4.0 s | {} |
| wide | 3 | 4 | 0.75 × |
"""


def test_what_benchmarks_print_is_kept_by_commit_and_shown_as_ratios(record, monkeypatch, tmp_path):
    for commit, ratio in (("aaaa", "2.5×"), ("bbbb", "1.5×"), ("bbbb", "3.1×")):
        facts = {"commit": commit, "date": "2026-01-02", "machine": "one", "load": 7.5}
        monkeypatch.setitem(record["run"].__globals__, "conditions", lambda facts=facts: facts)
        (tmp_path / "made.py").write_text(f"print({PRINTED.format(2, ratio)!r})")
        assert record["run"]("made")
    measured = pd.read_csv(tmp_path / "results" / "made.csv")
    assert list(measured["commit"]) == ["aaaa"] * 6 + ["bbbb"] * 6  # measured again: replaced
    assert (measured["peak_mb"] > 0).all()
    page = record["page"]()
    assert "| | aaaa (2026-01-02) | bbbb (2026-01-02) |" in page
    assert "| k-means: narrow | 2.5× | 3.1× |" in page
    assert "| k-means: wide | 0.75 × | 0.75 × |" in page
    assert "10.0 s" not in page
