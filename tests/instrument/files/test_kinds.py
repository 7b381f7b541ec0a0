"""The table of kinds is what writers, the catalogue, the report and the dashboard go by."""

import pkgutil

import pandas as pd
import pytest
from planted.questions import LAST, plant

from tprprobe import plugins
from tprprobe.analyses.clustering import cluster, save_clusters
from tprprobe.analyses.kinds import CLUSTERS
from tprprobe.errors import InputError
from tprprobe.files.kinds import list_kinds
from tprprobe.files.tables import check_columns, columns
from tprprobe.store.kinds import STORE


def test_every_reader_is_there():
    for name, kind in list_kinds().items():
        if kind.loader:
            home = plugins.find("kinds")[name].point.module.removesuffix(".kinds")
            assert kind.loader.startswith(home), (
                f"{name} is registered in a room that does not load it"
            )
            assert callable(pkgutil.resolve_name(kind.loader)), name


def test_what_was_written_is_known_and_read(tmp_path):
    store = plant(tmp_path / "store", 4)
    roles = cluster(store, LAST, head=0, k=3, n_seeds=2)
    folder = save_clusters([roles], tmp_path / "clusters", store)
    names = [name for name, kind in list_kinds().items() if kind.is_finished_in(folder)]
    assert names == ["clusters", "results"]
    assert CLUSTERS.load(folder)[0].site == LAST
    assert STORE.load(store.path).samples == 4
    assert not STORE.is_in(folder)


@pytest.mark.parametrize("step", [1.5, 2**63, "9" * 30, "x"])
def test_whole_numbers_are_never_rounded_or_cut(step):
    steps = columns(whole="step")
    assert check_columns(pd.DataFrame({"step": [1.0, 2.0]}), steps, "f", "").step.tolist() == [1, 2]
    with pytest.raises(InputError, match="holds other things than whole numbers"):
        check_columns(pd.DataFrame({"step": [1, step]}), steps, "f", "")


def test_a_folder_without_it_says_which_command_makes_it(tmp_path):
    with pytest.raises(
        InputError, match=r"holds no probe.csv: give a FOLDER of `tprprobe binding "
    ):
        list_kinds()["bindings"].load(tmp_path)
