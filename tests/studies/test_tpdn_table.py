"""The study of TPDN's table: its cells beside the published ones."""

import pandas as pd
import pytest
from planted.bindings import left, plant_bindings

import tprprobe as tp
from studies.tpdn.cells import CELL, PUBLISHED, collect_cells
from studies.tpdn.substitutions import FAMILY, SCHEMES, SCORES, SITE
from studies.tpdn.trainings import list_models
from tprprobe.files.writing import write_file


@pytest.fixture(scope="module")
def published():
    return pd.read_csv(PUBLISHED)


def test_the_published_table_has_every_cell_once(published):
    models = [(m.encoder, m.decoder, m.task, roles) for m in list_models(0) for roles in SCHEMES]
    assert sorted(published[CELL].itertuples(index=False, name=None)) == sorted(models)
    assert len(models) == 216
    assert published["published"].between(0, 1).all()


def test_scores_are_collected_beside_published_numbers(tmp_path, published):
    store = plant_bindings(tmp_path / "store", left, n=60)
    decoder = lambda vectors, _: vectors[:, 0] > 0  # noqa: E731
    fit = tp.decompose(store, SITE, ["left", "bag"], family=FAMILY, rank="2x2", decoder=decoder)
    identity = {"encoder": "uni", "decoder": "bi", "task": "sort", "seed": 0, "accuracy": 0.9}
    table = fit.scores.assign(**identity).to_csv(index=False)
    write_file(tmp_path / "runs" / "one" / SCORES, table)
    cells = collect_cells(tmp_path / "runs")
    assert cells["roles"].tolist() == ["left", "bag"]
    assert cells["published"].tolist() == [0.90, 0.90]
    assert cells[["substitution", "shuffled roles"]].notna().all(axis=None)
    with pytest.raises(tp.InputError, match=r"no scores\.csv: python -m studies\.tpdn"):
        collect_cells(tmp_path / "store")
