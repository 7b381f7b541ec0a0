"""schlag's Table 1: our models averaged over modules, beside the printed rows; and its files."""

import numpy as np
import pandas as pd
import pytest
from planted.evaluations import plant_evaluations

from tprpapers.schlag.module_table import summarize_modules, table1
from tprprobe.errors import InputError


@pytest.fixture(scope="module")
def evaluations():
    return plant_evaluations()


def test_table1_averages_over_modules(evaluations):
    big, small = summarize_modules(evaluations).to_dict("records")
    assert big["interpolate"] == pytest.approx(73)
    low, high = 73 - 50 * np.hypot(0.06, 0.10), 73 + 50 * np.hypot(0.02, 0.10)
    assert [big["interpolate_low"], big["interpolate_high"]] == pytest.approx([low, high])
    assert (big["interpolate_above"], big["interpolate_modules"]) == (1, 2)
    assert big["extrapolate"] == pytest.approx(25)
    assert big["train"] == pytest.approx(100 * (0.75 + 0.25) / 2)  # levels first, then modules
    assert np.isnan(small["train"])
    cells = table1(evaluations).cells
    assert cells["weights"][:2].tolist() == ["2.0M", "–"]
    assert cells["interpolate"][:2].tolist() == ["73.00 [67.17, 78.10]", "10.00 [5.00, 15.00]"]
    assert cells[">95% (int.)"][:2].tolist() == ["1 of 2", "0 of 1"]
    assert cells["extrapolate"][1] == cells[">95% (ext.)"][1] == "–"


def test_table1_prints_the_papers_rows_as_printed(evaluations):
    cells = table1(evaluations).cells
    printed = cells[cells["from"] != "this run"]
    assert len(cells) - len(printed) == 2
    counts = printed["from"].value_counts().to_dict()
    assert counts == {"printed (workshop)": 7, "printed (final)": 6}
    final = printed[(printed["from"] == "printed (final)") & (printed["model"] == "TP-Transformer")]
    assert final.iloc[0, :8].tolist() == [
        "TP-Transformer", "49.1M", "1000k", "89.01", "81.92", "18 of 56", "54.67", "3 of 15",
    ]  # fmt: skip


def test_table_files(evaluations, tmp_path):
    table = table1(evaluations)
    lines = table.save(tmp_path / "t.md").read_text().splitlines()
    assert len([line for line in lines if line.startswith("|")]) == len(table.cells) + 2
    assert "not reproduced" in lines[-1]
    latex = table.save(tmp_path / "t.tex").read_text()
    assert r"\textgreater{}95\% (int.)" in latex
    assert latex.count(r"\\") == len(table.cells) + 1
    pd.testing.assert_frame_equal(
        pd.read_csv(table.save(tmp_path / "t.csv"), dtype=str), table.cells.astype(object), check_dtype=False
    )  # fmt: skip
    pd.testing.assert_frame_equal(
        pd.read_parquet(table.save(tmp_path / "t.parquet")), table.cells, check_dtype=False
    )
    assert table.save(tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")
    assert {*table.cells.to_numpy().ravel()} <= {t.get_text() for t in table.draw().axes[0].texts}
    with pytest.raises(InputError, match=r"\.docx"):
        table.save(tmp_path / "t.docx")
