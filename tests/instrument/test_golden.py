"""Tables of the commands equal those that were checked: no change of the code changes a number unseen."""

import tarfile
from pathlib import Path

import pytest
from planted.cli import run_command
from planted.golden import LONG, RUNS, compare, run_tables, stored_tables

import tprprobe as tp
from tprprobe.figures import catalogue

ROOT = Path(__file__).parents[2]

RUN = [pytest.param(run, marks=pytest.mark.soak) if run in LONG else run for run in RUNS]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("run", RUN)
def test_tables_are_those_that_were_checked(run, tmp_path):
    tables, golden = run_tables(run, tmp_path), stored_tables(run)
    assert golden.keys() == tables.keys()
    for name, table in golden.items():
        compare(table, tables[name])


def test_a_changed_number_is_seen():
    [(_, table)] = stored_tables("reconstruct").items()
    with pytest.raises(AssertionError):
        compare(table, table.assign(mse=table["mse"] * 1.01))


def test_folders_of_earlier_versions_open():
    """A store and results as the version before the rooms `evaluation` and `estimators` wrote them."""
    folder = ROOT / "tests/golden/before"
    results = tp.load_run(folder)
    assert results.keys() == {path.name for path in folder.iterdir()}
    assert results["store"].samples == 20
    for version in ("0.2", "0.3"):
        store = results[f"store-{version}"]
        assert store.facts.model.name == "tiny"
        assert store.facts.data.split == "test"
        assert store.read("encoder.0.hidden")[:, 0].tolist() == [0, 3, 1, 4, 7, 2]
        assert store.attention("encoder.0.self.attention", 1).shape == (2, 3, 3)
        assert store.tokens["token"].tolist() == ["a", "b", "c", "a", "b", "b"]
    assert {"learned", "learned_low"} <= {*results["decomposition"]}  # then called learnt
    assert results["clusters"][0].k == 3
    assert tp.analyses.naming.load_names(folder / "names").clusters["cluster"].nunique() == 3
    for probe in ("probes/probes/pos.encoder.0.self.filler.seed0", "probes/probes/span-conv"):
        predicted = tp.load_probe(folder / probe).predict(results["store"])
        assert (predicted["label"] == predicted["predicted"]).mean() > 0.3


FIGURES = {  # what is drawn of the folders of results
    "probes": ("probes", "probes"),
    "schlag-table1": ("evaluations", "evaluation"),
    "ablation-map": ("sweeps", "sweep"),
    "role-search": ("roles", "roles"),
    "decomposition": ("decompositions", "decomposition"),
}
EARLIER = {"clusters", "names", "probes", "reconstruction", "sweep"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(
    ("version", "results"),
    [("0.2", EARLIER), ("0.3", {*EARLIER, "decomposition", "roles"})],
)
def test_results_of_earlier_versions_are_read_and_drawn(version, results, tmp_path):
    """What the commands of that version made of planted stores and of a shipped checkpoint."""
    with tarfile.open(ROOT / f"tests/golden/results/results-{version}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    contents = tp.load_run(tmp_path)
    assert contents.keys() == results
    assert contents["clusters"][0].k == 3
    assert len(contents["names"].names) == 15
    assert set(contents["probes"]["site"]) >= {"encoder.0.hidden"}
    assert contents["reconstruction"]["r2"].between(0, 1).all()
    assert set(contents["sweep"]["edit"]) == {"none", "zero", "mean"}
    for figure, (kind, folder) in FIGURES.items():
        if (tmp_path / folder).exists():
            catalogue.make(figure, **{kind: [tmp_path / folder]})
    run_command("report", tmp_path, "--out", tmp_path / "out.html")
