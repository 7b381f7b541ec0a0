"""A result belongs to the stores whose fingerprint it names; it is never shown as another's."""

import json

import pytest
from planted.folders import write_evaluation
from planted.questions import LAST, plant
from planted.values import plant_values

import tprprobe as tp
from tprprobe.analyses.clustering import cluster, save_clusters
from tprprobe.analyses.naming import name_all
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.figures.reconstruction import save_reconstruction
from tprprobe.store.contents import sort_results


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The README's layout: stores and results of each side by side in one folder."""
    root = tmp_path_factory.mktemp("origins") / "runs"
    stores = {"a": plant(root / "a", 24), "b": plant(root / "b", 24, seed=1)}
    for name, store in stores.items():
        roles = cluster(store, LAST, head=0, k=3, n_seeds=2)
        save_clusters([roles], root / f"clusters-{name}", store)
    name_all(stores["a"], LAST, k=4, out=root / "names-a")
    values = plant_values(root / "c")
    save_reconstruction(reconstruct(values, -1), root / "reconstruction-c", [values])
    return root


def test_results_in_one_folder_are_told_apart(runs):
    results = tp.dashboard.folders.find_runs(runs)
    store = {name: results.open(f"runs/{name}") for name in "abc"}
    kinds = ("clusters", "names", "reconstruction")
    neighbors = {
        name: [list(results.beside(store[name], kind)) for kind in kinds] for name in "abc"
    }
    assert neighbors == {
        "a": [["runs/clusters-a"], ["runs/names-a"], []],
        "b": [["runs/clusters-b"], [], []],
        "c": [[], [], ["runs/reconstruction-c"]],
    }


def test_what_does_not_say_whose_it_is_belongs_to_none_and_is_listed(tmp_path):
    folder = tmp_path / "runs" / "old"
    planted = plant(tmp_path / "runs" / "a", 4)
    save_clusters([cluster(planted, LAST, head=0, k=3, n_seeds=2)], folder, planted)
    runs = tp.dashboard.folders.find_runs(tmp_path / "runs")
    store = runs.open("runs/a")
    assert list(runs.beside(store, "clusters")) == ["runs/old"]
    assert list(runs.sort(store, "clusters", "names")[2]) == []
    document = json.loads((folder / "clusters.json").read_text())
    del document["stores"]  # as earlier versions wrote it
    (folder / "clusters.json").write_text(json.dumps(document))
    assert list(runs.beside(store, "clusters")) == []
    assert list(runs.sort(store, "clusters", "names")[2]) == ["runs/old"]


def test_a_result_of_a_model_is_of_every_store_of_it(tmp_path):
    stores = [
        plant(tmp_path / str(n), 2, seed=n, model={"name": "m", "sha256": weights})
        for n, weights in enumerate(("one", "one", "two"))
    ]
    write_evaluation(tmp_path / "eval", sha256="one")
    results = [sort_results(store, [tmp_path / "eval"])[0] for store in stores]
    assert list(map(len, results)) == [1, 1, 0]
