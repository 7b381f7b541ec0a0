"""What notebooks show of results: tables, every text escaped."""

import numpy as np
import pandas as pd
from planted.questions import ROLE

import tprprobe as tp
from tprprobe.evaluation.results import Results
from tprprobe.files.kinds import RunContents
from tprprobe.files.notebook import ROWS, as_html

HOSTILE = '<script>alert("1")</script>'


def test_texts_are_escaped():
    table = pd.DataFrame({HOSTILE: ["a", HOSTILE], "share": [0.5, 0.25]})
    html = as_html(HOSTILE, table, note=HOSTILE)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 4
    assert "http" not in html


def test_numbers_are_short_and_what_is_missing_is_a_dash():
    html = as_html("fits", pd.DataFrame({"r2": [0.12345, 1.0, np.nan], "n": [1234.5678, 2, 3]}))
    assert [f"<td>{cell}</td>" in html for cell in ("0.123", "1", "–", "1234.6")] == [True] * 4
    heads = as_html("heads", pd.DataFrame({"head": pd.array([7, None], "Int64")}))
    assert [f"<td>{cell}</td>" in heads for cell in ("7", "–")] == [True] * 2


def test_long_tables_are_cut_and_say_so():
    html = as_html("many", pd.DataFrame({"n": range(50)}), note="All in .rows.")
    assert html.count("<td>") == ROWS
    assert "20 of 50 rows. All in .rows." in html


def test_stores_clusters_and_runs_are_shown(store):
    assert "source × head × d_head" in store._repr_html_()
    roles = tp.cluster(store, ROLE, head=0, k=2)
    html = roles._repr_html_()
    assert f"2 clusters of {roles.site}, head 0" in html
    assert f"{roles.stability:.2f}" in html
    run = RunContents({"clusters": [roles, roles], HOSTILE: store})
    assert "".join(run._repr_html_().split()).count("<td>clusters</td><td>list</td><td>2</td>") == 1
    assert "<script" not in run._repr_html_()
    assert repr(RunContents({".": store})) == "RunContents({'.': Store}): a dictionary, by folder"
    assert ".table is their DataFrame" in repr(Results(pd.DataFrame({"value": [1.0]})))


def test_models_and_data_print_one_line_or_a_table():
    texts = tp.load_data([HOSTILE, "Rain falls."])
    assert repr(texts).endswith("split 'all': 2 examples)")
    assert "<script" not in texts._repr_html_()
    model = tp.models.build({"preset": "tpt-c-t5", "d_model": 8, "n_heads": 2, "n_layers": 1})
    assert "encoder.0.self.role" in model._repr_html_()
