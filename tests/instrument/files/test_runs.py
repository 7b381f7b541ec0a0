"""A kept run: one folder a run, gone on with by the same settings, whole when it is done."""

import pandas as pd
import pytest

from tprprobe.errors import InputError
from tprprobe.files.runs import BEGUN, PARTS_FOLDER, KeptRun, join_parts

MANIFEST = "done.json"
SETTINGS = {"seeds": [0, 1], "variants": {"a": {"k": 1}}, "of": "é"}


def begin(folder, resume=False, **changed):
    return KeptRun.open(folder, SETTINGS | changed, resume, MANIFEST)


def test_parts_are_made_once_and_gone_at_the_end(tmp_path):
    run, numbers = begin(tmp_path / "run"), []

    def make(number):
        numbers.append(number)
        return {"table": pd.DataFrame({"n": [number]})}

    jobs = [run.part(str(n), lambda n=n: make(n)) for n in range(3)]
    for job in [*jobs, *jobs]:
        job.finish()
    assert numbers == [0, 1, 2]
    assert join_parts(jobs, "table")["n"].tolist() == [0, 1, 2]
    assert not begin(run.folder, resume=True).is_done
    run.finish({"t.csv": join_parts(jobs, "table")}, {"facts": 3})
    assert {path.name for path in run.folder.iterdir()} == {MANIFEST, "t.csv"}
    assert begin(run.folder, resume=True).is_done


def test_what_a_kill_left_behind_the_manifest_is_removed(tmp_path):
    run = begin(tmp_path / "run")
    (run.folder / PARTS_FOLDER / "0").mkdir(parents=True)
    (run.folder / MANIFEST).write_bytes((run.folder / BEGUN).read_bytes())
    assert begin(run.folder, resume=True).is_done
    assert [path.name for path in run.folder.iterdir()] == [MANIFEST]


def test_another_folder_is_refused_in_a_line(tmp_path):
    (tmp_path / "notes").touch()
    with pytest.raises(InputError, match="holds something else"):
        begin(tmp_path)
    KeptRun.open(tmp_path, SETTINGS, False, MANIFEST, beside={"notes"})
    with pytest.raises(InputError, match="--resume goes on"):
        begin(tmp_path)
    with pytest.raises(InputError, match=r"another run \(its seeds and of\)"):
        begin(tmp_path, resume=True, seeds=[0], of="e")


@pytest.mark.parametrize(
    ("changed", "grown"),
    [
        ({"seeds": [2, 1, 0]}, True),
        ({"variants": {"b": {}, "a": {"k": 1}}}, True),
        ({"seeds": [0, 2]}, False),
        ({"variants": {"a": {"k": 2}}}, False),
        ({"of": "ée"}, False),
    ],
)
def test_some_settings_may_grow(changed, grown, tmp_path):
    begin(tmp_path / "run")
    arguments = (tmp_path / "run", SETTINGS | changed, True, MANIFEST)
    if grown:
        KeptRun.open(*arguments, growing=("seeds", "variants"))
        with pytest.raises(InputError, match="another run"):
            begin(tmp_path / "run", resume=True)
    else:
        with pytest.raises(InputError, match=r"another run \(its"):
            KeptRun.open(*arguments, growing=("seeds", "variants"))
