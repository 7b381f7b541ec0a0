"""One command asks the whole question of a model: five lines, tables, a page, and it goes on."""

import pandas as pd
import pytest
from test_behavior import folder, frame, model  # noqa: F401 (fixtures)

from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.examination import choose_sites, examine

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def examined(model, frame, tmp_path_factory):  # noqa: F811
    return examine(
        model, data=load_data(frame), out=tmp_path_factory.mktemp("runs") / "run", layers=1
    )


def test_five_lines_tables_and_a_page(examined):
    assert len(examined.lines) == 5
    assert examined.tables.keys() == {"nested", "behavior"}
    for name, table in examined.tables.items():
        assert len(pd.read_csv(examined.folder / f"{name}.csv")) == len(table)
    page = examined.page.read_text("utf-8")
    assert "What behavior needs" in page
    assert "fillers are words" in page or "fillers are the model" in page
    assert "fillers to left" in page
    assert "layers.embedding, which has no context" in page
    assert "/" not in examined.tables["nested"]["site"].iloc[0]


def test_the_table_of_states_is_nested_by_layer_beside_the_twin(examined):
    table = examined.tables["nested"]
    assert table["site"].unique().tolist() == ["layers.embedding", "layers.1.hidden"]
    assert {"bag", "additive", "factored"} <= {*table["family"]}
    assert {"left", "role"} == {*table["roles"]}
    assert "permuted" in {*table["control"]}


def test_it_goes_on_and_refuses_another_run(examined, model, frame):  # noqa: F811
    again = examine(model, data=load_data(frame), out=examined.folder, layers=1, resume=True)
    assert again.lines == examined.lines
    with pytest.raises(InputError, match="--resume"):
        examine(model, data=load_data(frame), out=examined.folder, layers=1)
    with pytest.raises(InputError, match="another run"):
        examine(model, data=load_data(frame), out=examined.folder, layers=2, resume=True)


def test_layers_are_evenly_spaced_and_the_last_is_there(model):  # noqa: F811
    assert choose_sites(model, 2) == ["layers.embedding", "layers.0.hidden", "layers.1.hidden"]
    assert choose_sites(model, 1) == ["layers.embedding", "layers.1.hidden"]
    with pytest.raises(InputError, match="one or more"):
        choose_sites(model, 0)
