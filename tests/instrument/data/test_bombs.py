"""Files that unpack to far more, or claim more than they hold, are refused before memory or time is used."""

import gzip
import resource
import time
import zipfile
from functools import partial

import h5py
import pytest
import torch
import zarr
from planted import targets
from planted.foreign import save_foreign

import tprprobe as tp
from tprpapers.formats import hdf5
from tprpapers.huang.image_features import open_features
from tprprobe.errors import InputError


def import_vectors(out, path):
    return tp.import_store(path, out, "tpdn")


@pytest.mark.parametrize("name", ["texts.txt.gz", "texts.jsonl.gz", "texts.conllu.gz", "v.txt.gz"])
def test_a_text_that_unpacks_to_far_more_is_refused_at_once(tmp_path, name):
    line = {"jsonl": b'{"text": "a"}', "conllu": b"# a comment"}.get(
        name.split(".")[1], b"1 2\t1.5 1"
    )
    with gzip.open(tmp_path / name, "wb") as stream:
        for _ in range(60):
            stream.write((line + b"\n") * 2**18)
    begun = time.process_time()
    read = tp.load_data if name != "v.txt.gz" else partial(import_vectors, tmp_path / "store")
    with pytest.raises(InputError, match=r"gz unpacks to more than 100 times its [\d,]+ bytes"):
        read(tmp_path / name)
    assert time.process_time() - begun < 20


def test_a_text_that_compression_makes_far_smaller_is_read(tmp_path):
    with gzip.open(tmp_path / "texts.txt.gz", "wb") as stream:
        stream.write(b"the same line again\n" * 20_000)
    assert len(tp.load_data(tmp_path / "texts.txt.gz")) == 20_000


def test_pickled_weights_that_unpack_to_far_more_are_refused(tmp_path):
    folder = save_foreign("bert", tmp_path / "bert")
    (folder / "model.safetensors").unlink()
    torch.save({"weights": torch.zeros(2**26)}, tmp_path / "w.bin")
    with (
        zipfile.ZipFile(tmp_path / "w.bin") as whole,
        zipfile.ZipFile(folder / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for info in whole.infolist():
            packed.writestr(info.filename, whole.read(info))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"pytorch_model.bin unpacks to more than 100 times its"):
        tp.load_model(f"hf:{folder}")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2**17  # kB


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
