"""Files that claim more than they hold, or never end, are refused before memory or time is used."""

import gzip

import h5py
import pytest
import zarr
from planted import targets

import tprprobe as tp
from tprpapers.formats import hdf5
from tprpapers.huang.image_features import open_features
from tprprobe.errors import InputError


@pytest.mark.parametrize("name", ["f.h5", "f.zarr"])
def test_features_that_claim_more_than_they_hold_are_refused(tmp_path, name):
    size = (2**31, 2**10)
    if name == "f.h5":
        with h5py.File(tmp_path / name, "w") as file:
            file.create_dataset("features", size, "f4", chunks=(1, 2**10))
    else:
        zarr.open_group(tmp_path / name, mode="w").create_array(
            "features", shape=size, chunks=(1, 2**10), dtype="f4"
        )
    with pytest.raises(InputError, match=r"claims 8,796,093,022,208 bytes"):
        open_features(tmp_path / name)


def test_texts_that_hdf5_never_ends_reading_are_refused(tmp_path, monkeypatch):
    targets.write_hdf5(tmp_path / "f.h5")
    content = (tmp_path / "f.h5").read_bytes()
    # in the heap of texts, whose objects then have other sizes
    offset = content.index(b"GCOL") + 80
    (tmp_path / "f.h5").write_bytes(content[:offset] + b"{}" + content[offset + 1 :])
    monkeypatch.setattr(hdf5, "SECONDS", 2)
    with pytest.raises(InputError, match="the texts of image_id cannot be read"):
        open_features(tmp_path / "f.h5")


def test_a_line_without_an_end_is_refused(tmp_path):
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"1 9\t0.5" + b" " * 2**23, 1))
    with pytest.raises(InputError, match="line 1: more than 4,194,304 bytes"):
        tp.import_store(tmp_path / "t.gz", tmp_path / "store", "tpdn")
