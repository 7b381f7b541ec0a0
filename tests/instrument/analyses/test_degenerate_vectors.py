"""Vectors that are no numbers are named by site and sample; constant, doubled and few ones are a result or
one line.
"""

from contextlib import suppress

import numpy as np
import pytest
import zarr
from planted import sentences
from planted.questions import LAST, plant

import tprprobe as tp
from tprprobe.analyses.decomposition import decompose_all, search_all
from tprprobe.errors import InputError


def _set(store, row, value):
    """The store with this value in one row of every array (of all rows, row None)."""
    for site in store.sites:
        for file in sorted(store.path.glob(f"**/arrays.zarr/{site}")):
            array = zarr.open_array(file, mode="r+")
            values = np.asarray(array[:])
            values[slice(None) if row is None else row] = value
            array[:] = values
    return tp.open_store(store.path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_probe_names_what_is_no_number(tmp_path, value):
    store = sentences.plant(tmp_path / "store", 30)
    site = store.sites[0]
    sample = store.tokens_of(site)["sample"].iloc[40]
    store = _set(store, 40, value)
    with pytest.raises(
        InputError, match=rf"{site}, sample {sample} has a number that is not finite"
    ):
        tp.probe(store, "pos", sites=[site])


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_a_decomposition_names_what_is_no_number(tmp_path, value):
    lines = [f"{i % 10} {i // 10}\t{i}.5 {i % 7} 1\n" for i in range(60)]
    (tmp_path / "v.txt").write_text("".join(lines))
    store = tp.import_store(tmp_path / "v.txt", tmp_path / "store", "tpdn")
    array = zarr.open_array(store.path / "arrays.zarr" / "encoding", mode="r+")
    array[33] = value
    with pytest.raises(InputError, match="encoding, sample 33 has a number that is not finite"):
        tp.decompose(tp.open_store(store.path), "encoding", "left")


def test_vectors_that_are_all_alike_are_probed_and_not_clustered(tmp_path):
    store = sentences.plant(tmp_path / "store", 30)
    rows = tp.probe(_set(store, None, 1.0), "pos", sites=[store.sites[0]])
    assert np.isfinite(rows.loc[rows["control"] == "real", "f1"]).all()
    constant = _set(plant(tmp_path / "asked", 6), None, 1.0)
    with pytest.raises(InputError, match="fewer than 3 distinct vectors"):
        tp.cluster(constant, LAST, head=0, k=3, n_seeds=2)


LINES = {  # of TPDN's files: symbols, a tab, numbers
    "constant": [f"{i % 10} {i // 10}\t1 1 1\n" for i in range(40)],
    "one sample": ["1 2\t0.5 1 2\n"],
    "doubled": ["1 2\t0.5 1 2\n"] * 40,
    "one symbol": [f"7\t{i}.5 {i % 3} 1\n" for i in range(40)],
    "huge": [f"{i % 10} {i // 10}\t{i}e36 {i % 7} 1\n" for i in range(40)],
    "tiny": [f"{i % 10} {i // 10}\t{i}e-40 {i % 7}e-44 0\n" for i in range(40)],
}


@pytest.mark.parametrize("name", LINES)
def test_few_doubled_and_extreme_encodings_are_a_result_or_one_line(tmp_path, name):
    (tmp_path / "v.txt").write_text("".join(LINES[name]))
    store = tp.import_store(tmp_path / "v.txt", tmp_path / "store", "tpdn")
    reimported = tp.import_store(
        tp.export_store(store, tmp_path / "e.npz"), tmp_path / "again", layers=None
    )
    np.testing.assert_array_equal(reimported.read("encoding"), store.read("encoding"))
    for run in (
        lambda: decompose_all(store, "encoding", ["left"], rank="1x1"),
        lambda: search_all(store, "encoding"),
        lambda: tp.cluster(store, "encoding", k=3, n_seeds=2),
    ):
        with suppress(InputError):  # which is one line
            assert run() is not None
