"""Whatever happens to a file or a folder, reading it back is a result or one line."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from planted import exchanges
from planted.cli import run_command
from planted.damage import GENERATORS, soak
from planted.questions import LAST, plant
from planted.targets import TARGETS

from tprprobe.analyses.kinds import NAMES
from tprprobe.errors import InputError

ALWAYS, SOAK = range(3), 2000
FEWER = {"features hdf5": 200}  # each read by a process of its own first
PAGES = ("overview", "roles", "attention", "probes", "layers", "decomposition", "compare")


@pytest.mark.filterwarnings("ignore")  # of libraries about what they read
@pytest.mark.parametrize("name", TARGETS)
def test_what_is_damaged_is_a_result_or_one_line(name, tmp_path):
    make, reader = TARGETS[name]
    make(tmp_path / "made")
    for damage in GENERATORS.values():
        assert not damage(tmp_path / "made", reader, ALWAYS, name).faults


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("name", TARGETS)
def test_thousands_of_damaged_files_are_results_or_one_line(kind, name, tmp_path, capsys, soaking):
    make, reader = TARGETS[name]
    make(tmp_path / "made")
    report = soak(kind, tmp_path / "made", reader, name, *soaking(FEWER.get(name, SOAK)))
    with capsys.disabled():
        print(report)


def _open_each(open_page: Callable[..., Any]) -> Callable[[Path], Any]:
    """Opens every page over a folder: an exception that a page shows is a fault."""

    def read(folder: Path) -> None:
        for name in PAGES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                page = open_page(folder, name)
            if page.exception:
                raise RuntimeError(f"{name}: {page.exception[0].message}")

    return read


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_pages_of_damaged_folders_show_no_exception(tmp_path, open_page, capsys, soaking):
    made = tmp_path / "made" / "run"
    plant(made / "store", 6)
    plant(made / "store" / "untrained", 4, seed=3)
    run_command("cluster", made / "store", "--site", LAST, "--head", 0, "--k", 3, "--out", made / "clusters")  # fmt: skip
    report = soak("structure", tmp_path / "made", _open_each(open_page), "pages", *soaking(300))
    with capsys.disabled():
        print(report)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["roles", "overview", "probes", "decomposition"])
def test_pages_of_a_store_with_tags_and_no_words_show_no_exception(name, tmp_path, open_page):
    store = plant(tmp_path / "run" / "store", 6).path
    exchanges.without_checksums(store)
    table = pd.read_parquet(store / "tokens.parquet")
    table.assign(pos="NN").to_parquet(store / "tokens.parquet")
    manifest = json.loads((store / "manifest.json").read_text())
    manifest["token_bytes"] = (store / "tokens.parquet").stat().st_size
    (store / "manifest.json").write_text(json.dumps(manifest))
    assert not open_page(tmp_path, name).exception


@pytest.mark.parametrize("head", ["0.5", "inf", "one"])
def test_names_of_a_head_that_is_no_whole_number_are_refused(head, root, tmp_path):
    folder = tmp_path / "names"
    shutil.copytree(root / "tests" / "golden" / "before" / "names", folder)
    names = pd.read_csv(folder / "names.csv", dtype=str).assign(head=head)
    names.to_csv(folder / "names.csv", index=False)
    with pytest.raises(InputError, match=r"names\.csv"):
        NAMES.load(folder)


def test_an_error_is_one_line_that_does_nothing_to_a_terminal():
    name = "a\n\x1b[2Jb\u202ec\ud800d" + "x" * 10**5
    message = str(InputError(f"no file {name}"))
    assert message.isprintable()
    assert len(message) < 2100
    assert message.startswith(r"no file a\n\x1b[2Jb\u202ec\ud800d")
