"""The table of kinds is what writers, the catalogue, the report and the dashboard go by."""

import pkgutil

import pytest
from planted.questions import LAST, plant

from tprprobe.analyses.clustering import cluster, save_clusters
from tprprobe.errors import InputError
from tprprobe.files.kinds import KINDS, list_kinds


def test_every_reader_is_there():
    for kind in KINDS.values():
        if kind.loader:
            assert callable(pkgutil.resolve_name(f"tprprobe.{kind.loader}"))


def test_what_was_written_is_known_and_read(tmp_path):
    store = plant(tmp_path / "store", 4)
    roles = cluster(store, LAST, head=0, k=3, n_seeds=2)
    folder = save_clusters([roles], tmp_path / "clusters", store)
    known = [name for name, kind in KINDS.items() if kind.is_finished_in(folder)]
    assert known == ["clusters"]
    assert KINDS["clusters"].load(folder)[0].site == LAST
    assert KINDS["store"].load(store.path).samples == 4
    assert not KINDS["store"].is_in(folder)


def test_a_folder_without_it_says_which_command_makes_it(tmp_path):
    with pytest.raises(InputError, match=r"holds no probe.csv: make one with `tprprobe binding "):
        list_kinds()["bindings"].load(tmp_path)
