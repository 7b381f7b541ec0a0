"""Ways of exchanging, editing and cutting the files of a store, all of which length, name, axis or type tell."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from planted.questions import ANSWERS, CROSS, LAST, MAPS, ROLE, plant

import tprprobe as tp

Way = Callable[[Path, Path], Any]  # of a store and another one
ROOT, TABLE, MANIFEST = "arrays.zarr", "tokens.parquet", "manifest.json"
SAMPLES = 6


def plant_two(folder: Path) -> tuple[Path, Path]:
    """A store with a control, and another one of as many samples, which have other lengths."""
    plant(folder / "store", SAMPLES)
    plant(folder / "store" / "untrained", 3, seed=5)
    plant(folder / "other", SAMPLES, seed=1)
    return folder / "store", folder / "other"


def contents(path: Path) -> dict[str, Any]:
    """All that a store and its control give to whoever reads them."""
    store = tp.open_store(path)
    values: dict[str, Any] = {
        "tokens": store.tokens,
        "samples": store.samples,
        "sites": store.sites,
    }
    for site in store.sites:
        values[f"{site}, {store.specs[site].axes}"] = np.asarray(store.read(site))
        store.tokens_of(site) if not store.specs[site].is_attention else store.attention(site, 0)
    values |= {f"{name} of xarray": np.asarray(array) for name, array in store.arrays.items()}
    if store.control is not None:
        values |= {f"untrained {k}": v for k, v in contents(store.control.path).items()}
    return values


def are_same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """True if two readings give the same."""

    def same(x: Any, y: Any) -> bool:
        if isinstance(x, pd.DataFrame):
            return x.equals(y)
        if isinstance(x, np.ndarray):
            return x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
        return x == y

    return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)


def _table(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Way:
    def way(store: Path, _: Path) -> None:
        change(pd.read_parquet(store / TABLE)).to_parquet(store / TABLE)

    return way


def _object(name: str, change: Callable[[dict[str, Any]], Any]) -> Way:
    def way(store: Path, _: Path) -> None:
        content = json.loads((store / name).read_text())
        change(content)
        (store / name).write_text(json.dumps(content))

    return way


def _metadata(change: Callable[[dict[str, Any]], Any]) -> dict[str, Way]:
    """The change in the metadata of a site, in the group's copy, and in both."""
    change_array = _object(f"{ROOT}/{LAST}/zarr.json", change)
    group = _object(
        f"{ROOT}/zarr.json", lambda all_: change(all_["consolidated_metadata"]["metadata"][LAST])
    )

    def both(store: Path, donor: Path) -> None:
        change_array(store, donor)
        group(store, donor)

    return {"its own": change_array, "the group's": group, "both": both}


def _file(name: str, change: Callable[[Path], Any]) -> Way:
    return lambda store, _: change(store / name)


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    return lambda file: (file.write_bytes(change(file.read_bytes())), None)[1]


def _from_other(*names: str) -> Way:
    def way(store: Path, donor: Path) -> None:
        for name in names:
            if (donor / name).is_dir():
                shutil.rmtree(store / name)
                shutil.copytree(donor / name, store / name)
            else:
                shutil.copy(donor / name, store / name)

    return way


def _swap(first_name: str, second_name: str) -> Way:
    def way(store: Path, _: Path) -> None:
        os.rename(store / first_name, store / "between")
        os.rename(store / second_name, store / first_name)
        os.rename(store / "between", store / second_name)

    return way


def _longer(content: dict[str, Any], n_rows: int) -> None:
    content["shape"][0] += n_rows


CHUNK = f"{ROOT}/{LAST}/c.0.0.0"
WAYS: dict[str, Way] = {
    "table: no rows": _table(lambda t: t.iloc[:0]),
    "table: a row twice": _table(lambda t: pd.concat([t, t.iloc[-1:]])),
    "table: a sample lost": _table(lambda t: t[t["sample"] != 2]),
    "table: sides exchanged": _table(
        lambda t: t.assign(side=t["side"].map({"source": "target", "target": "source"}))
    ),
    "table: samples as texts": _table(lambda t: t.assign(sample=t["sample"].astype(str))),
    "table: tokens as numbers": _table(lambda t: t.assign(token=1)),
    "table: upside down": _table(lambda t: t.iloc[::-1]),
    "table: no column side": _table(lambda t: t.drop(columns="side")),
    "table: cut by a byte": _file(TABLE, _bytes(lambda b: b[:-1])),
    "table: another store's": _from_other(TABLE),
    "table and manifest: another store's": _from_other(TABLE, MANIFEST),
    "arrays: another store's": _from_other(ROOT),
    "arrays: a site of another store": _from_other(f"{ROOT}/{LAST}"),
    "arrays: the group's metadata of another store": _from_other(f"{ROOT}/zarr.json"),
    **{
        f"metadata, {where}: {name}": way
        for name, change in {
            "three rows more": lambda m: _longer(m, 3),
            "half the numbers": lambda m: m.update(data_type="float16"),
            "heads and widths exchanged": lambda m: m["shape"].__setitem__(slice(1, 3), [8, 2]),
            "the other end first": lambda m: m["codecs"][0]["configuration"].update(endian="big"),
        }.items()
        for where, way in _metadata(change).items()
    },
    "metadata: none in the group": _object(
        f"{ROOT}/zarr.json", lambda m: m.pop("consolidated_metadata")
    ),
    "numbers: lost": _file(CHUNK, Path.unlink),
    "numbers: a row more": _file(CHUNK, _bytes(lambda b: b + b[-64:])),
    "sites: of other sides exchanged": _swap(f"{ROOT}/{LAST}", f"{ROOT}/{ANSWERS}"),
    "sites: maps exchanged": _swap(f"{ROOT}/{MAPS}", f"{ROOT}/{CROSS}"),
    "manifest: a sample more": _object(MANIFEST, lambda m: m.update(samples=m["samples"] + 1)),
    "manifest: no lengths": _object(MANIFEST, lambda m: m.update(lengths={})),
    "manifest: axes exchanged": _object(MANIFEST, lambda m: m["sites"][LAST]["axes"].reverse()),
    "manifest: float16, wider": _object(
        MANIFEST, lambda m: m["sites"][LAST].update(dtype="float16", shape=[2, 16])
    ),
    "manifest: a site less": _object(MANIFEST, lambda m: m["sites"].pop(ROLE)),
    "control: rows lost": lambda store, donor: _table(lambda t: t.iloc[:-2])(
        store / "untrained", donor
    ),
    "control: the store's own table": lambda store, _: shutil.copy(
        store / TABLE, store / "untrained" / TABLE
    ),
}


def without_checksums(store: Path) -> None:
    """Makes a store such as older versions wrote, or a program that keeps no checksums."""
    for path in (store_path for store_path in (store, store / "untrained") if store_path.exists()):
        content = json.loads((path / MANIFEST).read_text()) | {"checksums": {}}
        (path / MANIFEST).write_text(json.dumps(content))
