"""Whatever happens to a file that a command wrote, reading it back is a result or one line."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
from planted import folders
from planted.damage import damage_each, soak
from planted.questions import LAST, plant

import tprprobe as tp
from tprpapers.study.plans import read_plan
from tprprobe.analyses.clustering import cluster, save_clusters
from tprprobe.analyses.kinds import CLUSTERS, NAMES
from tprprobe.analyses.naming.run import name_all
from tprprobe.errors import InputError
from tprprobe.figures import catalogue

ROOT = Path(__file__).parents[3]
SEEDS = range(12)  # of the sample that is always run


def _clusters(folder):
    store = plant(folder / "store", 4)
    roles = cluster(store, LAST, head=0, k=3, n_seeds=2)
    return save_clusters([roles], folder / "clusters", store)


def _names(folder):
    name_all(plant(folder / "store", 12), LAST, 3, out=folder / "names")
    return folder / "names"


def _study(folder):
    shutil.copytree(ROOT / "studies" / "matched-arithmetic", folder / "study")
    examples = folder / "study" / "examples.csv.gz"
    pd.read_csv(examples).head(59).to_csv(examples.with_suffix(""), index=False)
    examples.unlink()
    return folder / "study"


def _plan(folder):
    (folder / "plan").mkdir()
    shutil.copy(ROOT / "studies" / "matched-arithmetic" / "plan.toml", folder / "plan")
    return folder / "plan"


def _articles(folder):
    (folder / "data").mkdir()
    columns = {"document": [f"text {i}" for i in range(20)], "summary": ["short"] * 20}
    pd.DataFrame(columns).to_parquet(folder / "data" / "articles.parquet")
    return folder / "data"


def _written(write):
    def make(folder):
        write(folder / "written")
        return folder / "written"

    return make


def _drawn(name, kind, *paths):
    return lambda folder: catalogue.make(name, **{kind: [folder / path for path in paths or [""]]})


def _read_store(folder):
    store = tp.open_store(folder)
    return store.tokens, [array.to_numpy() for array in store.arrays.values()]


READERS = {  # what writes a folder, and what reads it
    "clusters": (_clusters, CLUSTERS.load),
    "names": (_names, NAMES.load),
    "log": (_written(folders.write_log), _drawn("learning-curve", "runs")),
    "evaluation": (_written(folders.write_evaluation), _drawn("schlag-table1", "evaluations")),
    "binding": (_written(folders.write_binding), _drawn("schlag-sec6.2-trained", "bindings")),
    "summaries": (
        _written(folders.write_summaries),
        _drawn("jiang-table2", "summaries", "tpt-d", "t5"),
    ),
    "votes": (_written(folders.write_summaries), _drawn("jiang-table3", "votes", "sheet.csv")),
    "scores": (_written(folders.write_scores), _drawn("huang-table1", "captioned")),
    "captions": (_written(folders.write_captions), _drawn("huang-table1", "captioned")),
    "study": (_study, _drawn("matched-study", "study")),
    "plan": (_plan, lambda folder: read_plan(folder / "plan.toml")),
    "store": (lambda folder: plant(folder / "store", 4).path, _read_store),
    "articles": (
        _articles,
        lambda folder: list(tp.load_data(str(folder / "articles.parquet"))),
    ),
}


@pytest.mark.filterwarnings("ignore")  # of libraries about what they read
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_a_result_or_one_line(name, tmp_path):
    make, reader = READERS[name]
    outcome = damage_each(make(tmp_path), reader, SEEDS, name)
    assert not outcome.faults
    assert outcome.refused


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", READERS)
def test_a_thousand_damaged_files_are_a_result_or_one_line(name, tmp_path, capsys, soaking):
    make, reader = READERS[name]
    report = soak("bytes", make(tmp_path), reader, name, *soaking(1000))
    with capsys.disabled():
        print(report)


@pytest.mark.parametrize("head", ["0.5", "inf", "one"])
def test_names_of_a_head_that_is_no_whole_number_are_refused(head, tmp_path):
    folder = tmp_path / "names"
    shutil.copytree(ROOT / "tests" / "golden" / "before" / "names", folder)
    names = pd.read_csv(folder / "names.csv", dtype=str).assign(head=head)
    names.to_csv(folder / "names.csv", index=False)
    with pytest.raises(InputError, match=r"names\.csv"):
        NAMES.load(folder)
