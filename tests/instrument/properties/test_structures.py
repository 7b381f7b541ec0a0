"""Whatever types, sizes, lengths and cuts a folder has, each command's reading of it is a result or one line.

A further target is a row of TARGETS: what makes a folder, and what reads it.
"""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from parity import publishedfiles
from planted import exchanges, folders, foreign
from planted.bindings import STATE, left, plant_bindings
from planted.damage import damage_folders, soak
from planted.questions import LAST, plant
from properties import test_foreign_files as files
from typer.testing import CliRunner

import tprprobe as tp
from tprpapers.study.plans import read_plan
from tprprobe.cli import app
from tprprobe.files.kinds import load_run, verify_run
from tprprobe.training.recipes import read_recipe

ROOT = Path(__file__).parents[3]
ALWAYS, SOAK = range(8), 2000
Maker = Callable[[Path], None]


def _run(*words: object) -> None:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output


def _store(folder: Path) -> None:
    exchanges.plant_two(folder)


def _result(*words: object, store: Callable[[Path], Any] = lambda path: plant(path, 12)) -> Maker:
    """What makes a store and lets a command write its result beside it."""

    def make(folder: Path) -> None:
        store(folder / "store")
        command, *options = words
        _run(command, folder / "store", *options, "--out", folder / "out")

    return make


def _bindings(path: Path) -> Any:
    return plant_bindings(path, left, n=120, ranks=(4, 2))


def _tables(folder: Path) -> None:
    """Results whose loaders are tables: of bindings, and what sweeps and probes leave."""
    folders.write_binding(folder / "bindings")
    rows = pd.DataFrame({"site": [LAST] * 4, "head": 0, "score": [0.1, 0.2, 0.3, 0.4], "seed": 0})
    for name in ("probes", "sweeps", "reconstruction"):
        (folder / name).mkdir()
    (folder / "reconstruction" / "reconstruction.json").write_text("{}")
    rows.to_csv(folder / "reconstruction" / "reconstruction.csv", index=False)
    rows.to_parquet(folder / "probes" / "rows.parquet")
    rows.to_csv(folder / "sweeps" / "sweep.csv", index=False)


def _read_results(folder: Path) -> Any:
    tables = load_run(folder / "out" if (folder / "out").exists() else folder)
    for table in tables.values():
        repr(table)
    verify_run(folder / "out" if (folder / "out").exists() else folder)
    return tables


def _read_tables(folder: Path) -> Any:
    return [load_run(path) for path in sorted(folder.iterdir()) if path.is_dir()]


def _published(folder: Path) -> None:
    folder.mkdir()
    publishedfiles.schlag_file(folder / "c.pt")
    (folder / "config.json").write_text(json.dumps(publishedfiles.HEADS | {"dropout": 0.1}))


def _t5(folder: Path) -> None:
    import safetensors.torch

    folder.mkdir()
    state = publishedfiles.jiang_state()
    safetensors.torch.save_file(
        {k: v.clone() for k, v in state.items()}, folder / "model.safetensors"
    )
    (folder / "config.json").write_text(json.dumps(publishedfiles.SHIPPED))


def _convert(folder: Path) -> Any:
    out = folder.parent / "converted"
    shutil.rmtree(out, ignore_errors=True)
    if (folder / "c.pt").exists():
        tp.convert(folder / "c.pt", out, config=folder / "config.json")
    else:
        tp.convert(folder, out)
    return tp.load_model(out)


def _checkpoint(folder: Path) -> None:
    files._checkpoint(folder)
    (folder / "recipe.toml").write_bytes(
        (ROOT / "models" / "tpt-c-arithmetic" / "recipe.toml").read_bytes()
    )


def _plans(folder: Path) -> None:
    folder.mkdir()
    shutil.copy(ROOT / "studies" / "matched-arithmetic" / "plan.toml", folder)
    shutil.copy(ROOT / "models" / "tpt-c-arithmetic" / "recipe.toml", folder)


def _wordpiece(folder: Path) -> None:
    foreign.save_foreign("bert", folder)


def _metaspace(folder: Path) -> None:
    foreign.save_foreign("llama", folder, "causal")


def _spiece(folder: Path) -> None:
    """A T5 whose tokenizer is a SentencePiece model."""
    files._spiece(folder)
    foreign.build_foreign("t5", 40).save_pretrained(folder)
    settings = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


def read_transformers(folder: Path) -> Any:
    """A model, what its tokenizer makes of a text, and one pass over it."""
    model: Any = tp.load_model(f"hf:{next(iter(folder.glob('*.gguf')), folder)}")
    vocabulary = model.vocabulary
    vocabulary.all_offsets(["the naïve dog sees", ""])
    ids, _ = vocabulary.encode_all(["the naïve dog sees"])
    prefix, suffix = vocabulary.source_frame
    batch = torch.tensor([[*prefix, *map(int, ids), *suffix] or [0]])
    with torch.no_grad():
        return model.run(batch[:, : vocabulary.limit], batch[:, :1])


TARGETS: dict[str, tuple[Maker, Callable[[Path], Any]]] = {
    "store": (_store, lambda folder: exchanges.contents(folder / "store")),
    "conversion": (_published, _convert),
    "conversion of a folder": (_t5, _convert),
    "checkpoint": (_checkpoint, tp.load_model),
    "untrained": (_checkpoint, lambda folder: tp.load_model(f"untrained:{folder}")),
    "transformers, words": (_wordpiece, read_transformers),
    "transformers, causal": (_metaspace, read_transformers),
    "transformers, SentencePiece": (_spiece, read_transformers),
    "transformers, GGUF": (foreign.save_gguf, read_transformers),
    "features, HDF5": files.READERS["features hdf5"],
    "NeuroX, HDF5": files.READERS["neurox hdf5"],
    "plans": (_plans, lambda f: (read_plan(f / "plan.toml"), read_recipe(f / "recipe.toml"))),
    "clusters": (_result("cluster", "--site", LAST, "--head", 0, "--k", 3), _read_results),
    "names": (_result("name", "--site", LAST, "--k", 3), _read_results),
    "decompositions": (
        _result("decompose", "--site", STATE, "--roles", "left", "--rank", "4x2", store=_bindings),
        _read_results,
    ),
    "roles": (_result("roles", "--site", STATE, store=_bindings), _read_results),
    "tables": (_tables, _read_tables),
}


@pytest.mark.filterwarnings("ignore")  # of libraries about what they read
@pytest.mark.parametrize("name", TARGETS)
def test_a_damaged_structure_is_a_result_or_one_line(name, tmp_path):
    make, reader = TARGETS[name]
    make(tmp_path / "made")
    assert not damage_folders(tmp_path / "made", reader, ALWAYS, name).faults


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_thousands_of_damaged_structures_are_results_or_one_line(name, tmp_path, capsys, soaking):
    make, reader = TARGETS[name]
    make(tmp_path / "made")
    report = soak("structure", tmp_path / "made", reader, name, *soaking(SOAK))
    with capsys.disabled():
        print(report)


PAGES = ("overview", "roles", "attention", "probes", "layers", "decomposition", "compare")


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


def _run_folder(folder: Path) -> None:
    plant(folder / "run" / "store", 6)
    plant(folder / "run" / "store" / "untrained", 4, seed=3)
    _run("cluster", folder / "run" / "store", "--site", LAST, "--head", 0, "--k", 3, "--out", folder / "run" / "clusters")  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_pages_of_damaged_folders_show_no_exception(tmp_path, open_page):
    _run_folder(tmp_path / "made")
    assert not damage_folders(tmp_path / "made", _open_each(open_page), range(2), "pages").faults


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
def test_pages_of_hundreds_of_damaged_folders_show_no_exception(
    tmp_path, open_page, capsys, soaking
):
    _run_folder(tmp_path / "made")
    soak_size = soaking(300)
    report = soak("structure", tmp_path / "made", _open_each(open_page), "pages", *soak_size)
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
