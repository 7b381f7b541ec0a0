"""A store holds what was written, survives kill -9 at any moment, and tells when it is damaged."""

import errno
import functools
import json
import os
import shutil
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from planted.faults import run_main
from planted.stores import read_files

from tprprobe.errors import InputError
from tprprobe.store import SiteSpec, StoreWriter, concatenate, layout, open_store, tokens
from tprprobe.store import dtypes as numbers
from tprprobe.store.arrays import write_at
from tprprobe.store.manifests import sum_manifest
from tprprobe.store.verification import verify

SITES = {
    "encoder.0.self.role": SiteSpec(("source", "head", "d_head"), (2, 3)),
    "encoder.1.self.role": SiteSpec(("source", "head", "d_head"), (1, 6), "float16"),
    "encoder.1.hidden": SiteSpec(("source", "d_model"), (5,), "bfloat16", "lz4"),
    "decoder.0.self.role": SiteSpec(("target", "head", "d_head"), (2, 3), "float32", "zstd"),
    "encoder.0.self.attention": SiteSpec(("source_source", "head"), (2,)),
    "decoder.0.cross.attention": SiteSpec(("target_source", "head"), (2,)),
    "decoder.0.hidden": SiteSpec(("target", "d_model"), (6,)),
}
ROLE, LAST_ROLE, HIDDEN = "encoder.0.self.role", "encoder.1.self.role", "decoder.0.hidden"
SETTINGS = {"model": "tiny", "data": {"name": "made", "seed": 0}, "note": "é 😀"}
LENGTHS = [(5, 2), (1, 1), (9, 4), (3, 1), (7, 7), (12, 2), (2, 3)]
MAPPED = 3  # samples with attention maps


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    """Chunks of a few rows and row groups of a few tokens, so that small stores have many."""
    monkeypatch.setattr(layout, "CHUNK_BYTES", 100)
    monkeypatch.setattr(tokens, "ROWS_PER_GROUP", 10)


@functools.cache
def sample_of(number, lengths, text="aé😀"):
    """One sample: its arrays, its tokens and its maps, the same in every call."""
    rng = np.random.default_rng(number)
    count = dict(zip(("source", "target"), lengths, strict=True))
    arrays, maps = {}, {}
    for name, spec in SITES.items():
        if spec.is_attention:
            query, key = (count[side] for side in spec.rows.split("_"))
            maps[name] = [rng.random((2, query, key), np.float32)] if number < MAPPED else []
        else:
            values = torch.from_numpy(rng.normal(size=(count[spec.rows], *spec.shape)))
            arrays[name] = values.to(getattr(torch, spec.dtype)).float().numpy()
    sides = np.repeat(["source", "target"], lengths)
    table = {
        "side": sides,
        "sample": number,
        "position": np.concatenate([np.arange(n) for n in lengths]),
        "token": [text[i % len(text)] for i in range(len(sides))],
        "question": f"{text}{number}",
        "correct": number % 2 == 0,
        "module": None,
    }
    return arrays, pd.DataFrame(table), maps


def block_of(samples):
    """Several samples as one block."""
    arrays, tables, maps = zip(*samples, strict=True)
    joined = {
        name: np.concatenate([sample_arrays[name] for sample_arrays in arrays])
        for name in arrays[0]
    }
    return (
        joined,
        pd.concat(tables),
        {n: [m for sample_maps in maps for m in sample_maps[n]] for n in maps[0]},
    )


def extract(path, lengths=LENGTHS, per_block=2, resume=False, offset=0):
    """Writes (the rest of) a store of the made samples, as an extraction does."""
    writer = StoreWriter.create(path, SITES, SETTINGS, resume)
    for start in range(writer.samples_done, len(lengths), per_block):
        numbers = range(start, min(start + per_block, len(lengths)))
        writer.append(*block_of([sample_of(offset + i, lengths[i]) for i in numbers]))
    writer.finish()


@pytest.fixture
def store(tmp_path):
    extract(tmp_path / "store")
    return open_store(tmp_path / "store")


# ---------------------------------------------------------------- what is written is read


@given(
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), min_size=1, max_size=8),
    per_block=st.integers(1, 4),
)
@settings(max_examples=12, deadline=None)
def test_reads_back_what_was_written(tmp_path_factory, lengths, per_block):
    path = tmp_path_factory.mktemp("ragged") / "store"
    extract(path, lengths, per_block)
    store = open_store(path)
    arrays, table, maps = block_of([sample_of(i, n) for i, n in enumerate(lengths)])
    assert store.samples == len(lengths)
    for site, expected in arrays.items():
        np.testing.assert_array_equal(store.read(site), expected)
        assert store.read(site).dtype == expected.dtype
        assert len(store.tokens_of(site)) == len(expected)
    for site, expected in maps.items():
        for sample, sample_map in enumerate(expected):
            np.testing.assert_array_equal(store.attention(site, sample), sample_map)
    columns = ["sample", "position", "token", "question", "correct"]
    read_back = store.tokens[columns].astype({"token": object, "question": object})
    pd.testing.assert_frame_equal(
        read_back, table[columns].reset_index(drop=True), check_dtype=False
    )


def test_tokens_go_by_sample_and_side_whatever_order_they_came_in(tmp_path):
    extract(tmp_path / "one")
    writer = StoreWriter.create(tmp_path / "two", SITES, SETTINGS)
    arrays, table, maps = block_of([sample_of(i, n) for i, n in enumerate(LENGTHS)])
    writer.append(arrays, table.sort_values("side", kind="stable"), maps)
    writer.finish()
    assert read_files(tmp_path / "one") == read_files(tmp_path / "two")


def test_reads_rows_and_heads(store):
    vectors = store.read(ROLE)
    rows = np.array([7, 0, 7, 21])
    np.testing.assert_array_equal(store.read(ROLE, rows), vectors[rows])
    np.testing.assert_array_equal(store.read(ROLE, slice(4, 11), head=1), vectors[4:11, 1])
    np.testing.assert_array_equal(store.read(ROLE, rows, head=-1), vectors[rows, 1])
    np.testing.assert_array_equal(
        store.read(ROLE, vectors[:, 0, 0] > 0), vectors[vectors[:, 0, 0] > 0]
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.read("encoder.0.self.rol"), "did you mean 'encoder.0.self.role'"),
        (lambda s: s.select("decoder.9.*"), "`extract --sites` chooses the sites of a store"),
        (lambda s: s.read("encoder.*.self.role"), "names 2 sites"),
        (lambda s: s.read(ROLE, head=2), "heads 0 to 1"),
        (lambda s: s.read(HIDDEN, head=0), "no heads"),
        (lambda s: s.attention(ROLE, 0), "no attention maps"),
        (lambda s: s.attention("encoder.0.self.attention", 3), "its first 3 samples"),
    ],
)
def test_wrong_requests_are_told(store, call, words):
    with pytest.raises(InputError, match=words):
        call(store)


def test_maps_of_a_damaged_place_are_refused(store, tmp_path):
    copy = Path(shutil.copytree(store.path, tmp_path / "copy"))
    offsets = zarr.open_array(copy / "arrays.zarr/source_source.offset", mode="r+")
    offsets[1] = 0  # the first sample's
    with pytest.raises(InputError, match="maps of source_source have gaps"):
        open_store(copy).attention("encoder.0.self.attention", 1)


def test_xarray_reads_it_without_our_code(store):
    data = xr.open_zarr(store.path / "arrays.zarr")
    assert data[ROLE].dims == ("source", "head", "d_head")
    assert data[LAST_ROLE].dims == ("source", "head_1", "d_head_6")
    for site in SITES:
        np.testing.assert_array_equal(data[site].values, store.read(site))
        np.testing.assert_array_equal(store.arrays[site].mean().compute(), data[site].mean())
    pd.testing.assert_frame_equal(pd.read_parquet(store.path / "tokens.parquet"), store.tokens)


def test_refuses_blocks_that_do_not_fit(tmp_path):
    writer = StoreWriter.create(tmp_path / "store", SITES, SETTINGS)
    arrays, table, maps = sample_of(0, (5, 2))
    for changed in (
        {name: rows for name, rows in arrays.items() if name != ROLE},
        {**arrays, ROLE: arrays[ROLE][:-1]},
        {**arrays, ROLE: arrays[ROLE][:, :1]},
    ):
        with pytest.raises(ValueError, match=ROLE):
            writer.append(changed, table, maps)
    writer.append(arrays, table)
    with pytest.raises(ValueError, match="have no maps"):
        writer.append(arrays, table, maps)


# ---------------------------------------------------------------- types and compression


def made_of(path, values, dtype, compression=None, site="encoder.0.hidden"):
    """A store of samples of two tokens with these vectors."""
    spec = SiteSpec(("source", "d_model"), values.shape[1:]).kept_as(dtype, compression)
    writer = StoreWriter.create(path, {site: spec}, SETTINGS)
    samples = np.arange(len(values)) // 2
    writer.append({site: values}, pd.DataFrame({"side": "source", "sample": samples, "token": "x"}))
    writer.finish()
    return open_store(path)


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_readers_get_float32_and_xarray_the_same_numbers(tmp_path, monkeypatch, dtype, compression):
    monkeypatch.setattr(layout, "CHUNK_BYTES", 2**14)
    values = np.random.default_rng(0).normal(size=(900, 16)).astype(np.float32)
    store = made_of(tmp_path / "store", values, dtype, compression)
    expected = torch.from_numpy(values).to(getattr(torch, dtype)).float().numpy()
    if (dtype, compression) == ("bfloat16", "none"):  # asked for by nobody: refused before
        dtype, expected = "float32", values
    vectors = store.read("encoder.0.hidden")
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, expected)
    rows = np.array([899, 3, 512])
    np.testing.assert_array_equal(store.read("encoder.0.hidden", rows), expected[rows])
    np.testing.assert_array_equal(store.arrays["encoder.0.hidden"].values, expected)
    summary = store.summary.iloc[0]
    assert (summary["dtype"], summary["compression"]) == (dtype, compression)
    on_disk = sum(f.stat().st_size for f in (store.path / "arrays.zarr").glob("*/c.*"))
    assert summary["bytes"] <= on_disk < summary["bytes"] + 2**14
    small = {"float32": 1, "float16": 0.51, "bfloat16": 0.48}[dtype]
    assert summary["bytes"] <= small * values.nbytes
    assert not verify(store.path).damage


def test_a_number_beyond_float16_is_named_and_nothing_is_written(tmp_path):
    values = np.ones((8, 3), np.float32)
    values[5, 1] = -70000
    line = r"encoder.0.hidden, sample 2: 70000 is beyond the range of float16.*--store-dtype"
    with pytest.raises(InputError, match=line):
        made_of(tmp_path / "store", values, "float16")
    assert not (tmp_path / "store" / "arrays.zarr").exists()
    values[5, 1] = np.inf  # the model's own number stays
    assert np.isinf(made_of(tmp_path / "own", values, "float16").read("encoder.0.hidden")[5, 1])


@pytest.mark.parametrize(
    ("dtype", "compression", "words"),
    [
        ("float8", None, "unknown type of a store 'float8'.*float32"),
        ("float16", "gzip", "unknown compression 'gzip'.*zstd"),
        ("bfloat16", "none", "give --compress lz4 or zstd"),
    ],
)
def test_another_storage_is_refused(dtype, compression, words):
    with pytest.raises(InputError, match=words):
        numbers.check_storage(dtype, compression)


# ---------------------------------------------------------------- killed at any moment


class Killed(BaseException):
    """What a run that is killed sees: nothing catches it."""


class Fuse:
    """Counts file operations of this process and blows at the one it is set to."""

    def __init__(self):
        self.left, self.error = None, Killed()
        sys.addaudithook(self.hook)  # cannot be removed again: None lets everything pass

    def hook(self, event, args):
        writes = event == "open" and args[1] not in (None, "r", "rb") and isinstance(args[0], str)
        if self.left is not None and (writes or event in ("os.rename", "os.truncate", "os.remove")):
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise self.error


FUSE = Fuse()


def run_until(operation, error, action):
    """Whether the action ran to its end before that many file operations."""
    FUSE.left, FUSE.error = operation, error
    try:
        action()
        return True
    except Killed:
        return False
    finally:
        FUSE.left = None


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_killed_at_any_file_operation_it_resumes_to_the_same_bytes(tmp_path, step):
    extract(tmp_path / "whole", LENGTHS[:3])
    expected = read_files(tmp_path / "whole")
    for operation in range(0, 1000, step):
        path = tmp_path / f"killed{operation}"
        if run_until(operation, Killed(), lambda path=path: extract(path, LENGTHS[:3])):
            break
        extract(path, LENGTHS[:3], per_block=1 + operation % 3, resume=True)
        assert read_files(path) == expected, f"killed at operation {operation}"
    assert operation > 50


def test_killed_within_a_write(tmp_path, monkeypatch):
    extract(tmp_path / "whole")
    calls = iter(range(10**6))

    def write(file, offset, data):
        if next(calls) == 17:
            write_at(file, offset, bytes(data)[: len(data) // 3])
            raise Killed
        write_at(file, offset, data)

    monkeypatch.setattr("tprprobe.store.arrays.write_at", write)
    with pytest.raises(Killed):
        extract(tmp_path / "killed")
    extract(tmp_path / "killed", resume=True)
    assert read_files(tmp_path / "killed") == read_files(tmp_path / "whole")


@pytest.mark.parametrize("operation", [5, 60])
def test_full_disk_is_one_line_and_nothing_is_lost(tmp_path, operation):
    path = tmp_path / "store"
    with pytest.raises(InputError, match=r"full: its first \d samples are kept.*--resume") as error:
        run_until(operation, OSError(errno.ENOSPC, "No space left"), lambda: extract(path))
    assert "\n" not in str(error.value)
    assert StoreWriter.create(path, SITES, SETTINGS, resume=True).samples_done == int(
        str(error.value).split("its first ")[1][0]
    )
    extract(path, resume=True)
    extract(tmp_path / "whole")
    assert read_files(path) == read_files(tmp_path / "whole")


# ---------------------------------------------------------------- refused


def begun(path):
    StoreWriter.create(path, SITES, SETTINGS).append(*sample_of(0, (5, 2)))
    return path


def test_refuses_a_begun_store_without_resume(tmp_path):
    path = begun(tmp_path / "store")
    with pytest.raises(InputError, match="--resume"):
        extract(path)
    with pytest.raises(InputError, match=r"not complete \(1 samples so far\).*--resume"):
        open_store(path)


@pytest.mark.parametrize(
    ("sites", "changed", "words"),
    [
        (SITES, {**SETTINGS, "model": "other"}, 'begun with model "tiny", now it is "other"'),
        (SITES, {**SETTINGS, "data": {"name": "made", "seed": 1}}, "data.seed 0, now it is 1"),
        ({ROLE: SITES[ROLE]}, SETTINGS, "sites.encoder.1.self.role.axes"),
        (
            {**SITES, ROLE: SITES[ROLE].kept_as("float16", None)},
            SETTINGS,
            'role.dtype "float32", now it is "float16"',
        ),
        (
            {**SITES, ROLE: SITES[ROLE].kept_as(None, "zstd")},
            SETTINGS,
            'role.compression null, now it is "zstd"',
        ),
    ],
)
def test_refuses_to_resume_with_other_settings(tmp_path, sites, changed, words):
    path = begun(tmp_path / "store")
    before = read_files(path)
    with pytest.raises(InputError, match=words):
        StoreWriter.create(path, sites, changed, resume=True)
    assert read_files(path) == before


@pytest.mark.parametrize("name", ["photo.jpg", "manifest.json", "journal.json"])
@pytest.mark.parametrize("resume", [False, True])
def test_leaves_a_foreign_folder_alone(tmp_path, name, resume):
    (tmp_path / name).write_text('{"name": "an app"}')
    with pytest.raises(InputError, match="is not a store"):
        extract(tmp_path, resume=resume)
    with pytest.raises(InputError, match="is not a store"):
        open_store(tmp_path)
    assert read_files(tmp_path) == {name: b'{"name": "an app"}'}


def test_refuses_what_is_no_folder(tmp_path):
    with pytest.raises(InputError, match="no store at"):
        open_store(tmp_path / "nothing")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is not a store"):
        extract(tmp_path / "file")
    with pytest.raises(InputError, match="cannot write"):
        extract(tmp_path / "file" / "store")


def cut(file):
    os.truncate(file, file.stat().st_size - 1)


def rewrite(**changes):
    def edit(file):
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return edit


def test_another_version_is_told(store):
    rewrite(version=99)(store.path / "manifest.json")
    with pytest.raises(InputError, match="version 99"):
        open_store(store.path)


def test_a_begun_store_that_lost_a_chunk_is_not_resumed(tmp_path):
    path = begun(tmp_path / "store")
    (path / "arrays.zarr" / ROLE / "c.0.0.0").unlink()
    with pytest.raises(InputError, match="damaged"):
        extract(path, resume=True)


# ---------------------------------------------------------------- verified


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def inspected(store, monkeypatch, *options):
    """The exit code of `tprprobe inspect STORE --verify`."""
    return run_main(monkeypatch, "inspect", store, "--verify", *options)


def test_a_flipped_byte_in_any_file_is_named(store):
    extract(store.path / "untrained", LENGTHS[:2])
    assert not verify(store.path).damage
    for file in read_files(store.path):
        if not file.endswith("manifest.json"):  # which may then be no JSON
            before = (store.path / file).read_bytes()
            flip(store.path / file)
            assert [damaged.file for damaged in verify(store.path).damage] == [file]
            (store.path / file).write_bytes(before)


def test_a_changed_manifest_is_named(store):
    rewrite(data={"name": "made", "seed": 1})(store.path / "manifest.json")
    assert [damaged.file for damaged in verify(store.path).damage] == ["manifest.json"]


@pytest.mark.parametrize(
    ("name", "spoil", "text"),
    [
        (f"arrays.zarr/{ROLE}/c.2.0.0", flip, f"{ROLE}/c.2.0.0 is not what was written"),
        (f"arrays.zarr/{ROLE}/c.2.0.0", Path.unlink, f"{ROLE}/c.2.0.0 is missing"),
        (f"arrays.zarr/{ROLE}/c.9.0.0", cut, f"{ROLE}/c.9.0.0 has 95 of 96 bytes"),
        ("tokens.parquet", flip, "tokens.parquet is not what was written"),
    ],
)
def test_verify_names_the_damage(store, monkeypatch, capsys, name, spoil, text):
    spoil(store.path / name)
    assert inspected(store.path, monkeypatch) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert text in line
    assert line.endswith("remove it and make it again")
    assert inspected(store.path, monkeypatch, "--json") == 2
    (damage,) = json.loads(capsys.readouterr().out)["damage"]
    assert damage["file"] == name


def test_files_without_a_checksum_are_not_vouched_for(store, monkeypatch, capsys):
    sums = {k: v for k, v in store.manifest["checksums"].items() if not k.startswith("arrays")}
    for checksums, without in (({}, 73), (sums, 71)):
        rewrite(checksums=checksums)(store.path / "manifest.json")
        if checksums:
            checksums["manifest.json"] = sum_manifest(store.manifest | {"checksums": checksums})
            rewrite(checksums=checksums)(store.path / "manifest.json")
        assert open_store(store.path).fingerprint == store.fingerprint
        assert inspected(store.path, monkeypatch) == 0
        report = capsys.readouterr().out
        assert f"but {without} of them have no checksum" in report
        assert "as they were written" not in report
        assert inspected(store.path, monkeypatch, "--json") == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["checksums"], report["unchecked"]) == (False, without)


def test_a_byte_that_flips_before_the_store_is_complete_is_found(tmp_path):
    path = begun(tmp_path / "store")
    flip(path / "arrays.zarr" / ROLE / "c.0.0.0")
    extract(path, resume=True)
    assert [damaged.file for damaged in verify(path).damage] == [f"arrays.zarr/{ROLE}/c.0.0.0"]


# ---------------------------------------------------------------- several writers, little memory


@given(cuts=st.lists(st.integers(0, len(LENGTHS)), max_size=3))
@settings(max_examples=6, deadline=None)
def test_parts_make_the_store_of_one_writer(tmp_path_factory, cuts):
    path = tmp_path_factory.mktemp("parts")
    edges = [0, *sorted(cuts), len(LENGTHS)]
    paths = [path / f"part{i}" for i in range(len(edges) - 1)]
    for part_path, start, stop in zip(paths, edges, edges[1:], strict=False):
        extract(part_path, LENGTHS[start:stop], offset=start)
    concatenate(paths, path / "joined")
    extract(path / "whole")
    assert read_files(path / "joined") == read_files(path / "whole")


def test_parts_that_do_not_follow_one_another_are_refused(tmp_path):
    extract(tmp_path / "a", LENGTHS[:3])
    with pytest.raises(InputError, match="does not begin with sample 3"):
        concatenate([tmp_path / "a", tmp_path / "a"], tmp_path / "joined")


def test_memory_does_not_grow_with_the_store(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "CHUNK_BYTES", 2**16)
    monkeypatch.setattr(tokens, "ROWS_PER_GROUP", 2048)
    sites = {"encoder.0.hidden": SiteSpec(("source", "d_model"), (256,))}

    def peak(samples):
        path = tmp_path / f"{samples}"
        tracemalloc.start()
        writer = StoreWriter.create(path, sites, SETTINGS)
        for sample in range(samples):
            rows = np.full((128, 256), sample, np.float32)
            table = pd.DataFrame({"side": "source", "sample": sample, "position": np.arange(128)})
            writer.append({"encoder.0.hidden": rows}, table)
        writer.finish()
        total = 0.0
        for _, block in open_store(path).iterate("encoder.0.hidden", rows_per_block=512):
            total += float(block[:, 0].sum())
        assert total == 128 * sum(range(samples))
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    peak(2)
    small, large = peak(10), peak(60)
    assert large < small + 2**20, "the store is 8 MB"
