"""Vectors that other programs wrote become a store that every reader takes."""

import itertools
import json
import zipfile

import datasets
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
import xarray as xr
from planted.dumps import DIGITS, SENTENCES, STATES, VALUES, write_neurox, write_tpdn, write_vllm
from safetensors.torch import load_file, save_file

import tprprobe as tp
from tprpapers.mccoy import tpdn_files
from tprprobe.errors import InputError
from tprprobe.store import SiteSpec, StoreWriter
from tprprobe.store.verification import verify


@pytest.mark.parametrize("name", ["dev.data_from", "dev.data_from.gz"])
def test_sequences_and_their_encodings_come_in(tmp_path, name):
    store = tp.import_store(write_tpdn(tmp_path / name), tmp_path / "store")
    vectors = np.array([vector for _, vector in DIGITS], np.float32)
    assert (store.read("encoding") == vectors).all()
    assert store.arrays["encoding"].dims == ("sample", "d_model")
    assert (xr.open_zarr(tmp_path / "store" / "arrays.zarr")["encoding"].values == vectors).all()
    texts = store.tokens.groupby("sample")["token"].agg(" ".join).tolist()
    assert texts == [symbols for symbols, _ in DIGITS]
    assert store.tokens["id"].tolist() == [0, 1, 2, 3, 1, 1, 2, 0]
    rows = store.tokens_of("encoding")
    assert rows["token"].tolist() == texts
    assert rows["position"].tolist() == [2, 0, 1, 1]
    assert store.side("encoding") == "sample"
    assert not verify(store.path).damage


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1 2\t1 2 3\n3\t1 2\n", r"line 2 has a vector of 2 numbers, the first line one of 3"),
        ("1 2\t1 2 3\n3\t1 x 2\n", r"line 2: could not convert string to float: 'x'"),
        ("1 2\t1 2 3\n3 1 2 3\n", r"line 2: '3 1 2 3'"),
        ("\n\n", "has no lines"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_left(tmp_path, text, line):
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(InputError, match=line):
        tp.import_store(tmp_path / "bad.txt", tmp_path / "store", "tpdn")
    with pytest.raises(InputError, match=r"no store at|is not complete"):
        tp.open_store(tmp_path / "store")


def test_an_import_that_was_killed_goes_on_to_the_same_store(tmp_path, monkeypatch):
    source = write_tpdn(tmp_path / "dev.txt", DIGITS * 3)
    expected = tp.import_store(source, tmp_path / "whole")
    monkeypatch.setattr(tpdn_files, "BLOCK_BYTES", 16 * 3 * 5)  # five samples
    append, calls = StoreWriter.append, itertools.count()

    def killed(self, *block):
        if next(calls) == 1:
            raise KeyboardInterrupt
        append(self, *block)

    monkeypatch.setattr(StoreWriter, "append", killed)
    with pytest.raises(KeyboardInterrupt):
        tp.import_store(source, tmp_path / "store")
    with pytest.raises(InputError, match="go on with --resume"):
        tp.import_store(source, tmp_path / "store")
    resumed = tp.import_store(source, tmp_path / "store", resume=True)
    assert resumed.manifest == expected.manifest
    pd.testing.assert_frame_equal(resumed.tokens, expected.tokens)
    assert (resumed.read("encoding") == expected.read("encoding")).all()


SAMPLES = np.array([0, 0, 0, 1, 1, 2])
TOKENS = pd.DataFrame({"sample": SAMPLES + 7, "token": [*"abcab", "NA"], "pos": list("NVNVNV")})
RNG = np.random.default_rng(0)
ARRAYS = {
    "layers.0.hidden": RNG.normal(size=(6, 4)).astype(np.float32),
    "layers.0.self.query": RNG.normal(size=(6, 2, 3)).astype(np.float16),
    "encoding": RNG.normal(size=(3, 5)),
}


def check_arrays(store, arrays=ARRAYS):
    assert store.sites == list(arrays)
    for name, array in arrays.items():
        assert store.specs[name].dtype == array.dtype.name
        assert (store.read(name) == array).all()
    assert store.specs["layers.0.self.query"].axes == ("source", "head", "d_head")
    assert store.specs["encoding"].axes == ("sample", "d_model")
    assert store.tokens["sample"].tolist() == SAMPLES.tolist()
    assert store.tokens["token"].tolist() == TOKENS["token"].tolist()
    assert store.tokens["pos"].tolist() == TOKENS["pos"].tolist()
    assert store.tokens["position"].tolist() == [0, 1, 2, 0, 1, 0]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_numpys_arrays_come_in_with_their_tokens(tmp_path, monkeypatch, save, ending):
    monkeypatch.setattr("tprprobe.store.dumps.dump.BLOCK_BYTES", 200)  # several blocks
    save(tmp_path / "acts.npz", **ARRAYS)
    table = tmp_path / f"acts{ending}"
    TOKENS.to_csv(table, index=False) if ending == ".csv" else TOKENS.to_parquet(table)
    check_arrays(tp.import_store(tmp_path / "acts.npz", tmp_path / "store"))


def test_safetensors_come_in_with_bfloat16_exactly(tmp_path):
    tensors = {name: torch.tensor(array) for name, array in ARRAYS.items()}
    half = torch.randn(6, 4).bfloat16()
    save_file({**tensors, "layers.1.hidden": half}, tmp_path / "acts.safetensors")
    TOKENS.to_parquet(tmp_path / "words.parquet")
    store = tp.import_store(
        tmp_path / "acts.safetensors", tmp_path / "store", tokens=tmp_path / "words.parquet"
    )
    assert (store.read("layers.1.hidden") == half.float().numpy()).all()
    for name, array in ARRAYS.items():
        assert (store.read(name) == array).all()


def test_a_table_may_have_a_row_a_sample_and_targets(tmp_path):
    np.save(tmp_path / "encoding.npy", ARRAYS["encoding"])
    pd.DataFrame({"sequence": ["a b", "c", "a a a"], "kind": [1, 2, 3]}).to_csv(
        tmp_path / "tokens.csv", index=False
    )
    store = tp.import_store(tmp_path / "encoding.npy", tmp_path / "one")
    assert store.tokens_of("encoding")[["token", "kind"]].to_numpy().tolist() == [
        ["a b", 1], ["c", 2], ["a a a", 3],
    ]  # fmt: skip
    sides = TOKENS.assign(side=["source", "source", "target", "source", "target", "target"])
    sides.to_csv(tmp_path / "tokens.csv", index=False)
    np.savez(tmp_path / "acts.npz", **{"decoder.0.hidden": ARRAYS["layers.0.hidden"][:3]})
    store = tp.import_store(tmp_path / "acts.npz", tmp_path / "two")
    assert store.specs["decoder.0.hidden"].axes == ("target", "d_model")
    assert store.tokens_of("decoder.0.hidden")["token"].tolist() == ["c", "b", "NA"]


@pytest.mark.parametrize(
    ("arrays", "table", "line"),
    [
        ({"hidden": np.zeros((5, 2))}, TOKENS, r"shape \(5, 2\), but the table has 6 source tokens of 3"),
        ({"hidden": np.zeros((6, 2, 2, 2))}, TOKENS, "samples one after another without padding"),
        ({"hidden": np.zeros((6, 2), int)}, TOKENS, "holds int64; vectors are float16"),
        ({"../hidden": np.zeros((6, 2))}, TOKENS, "is no name of a site"),
        ({"hidden": np.zeros((6, 2))}, TOKENS.drop(columns="token"), "has no column token"),
        ({"hidden": np.zeros((6, 2))}, TOKENS.iloc[[0, 3, 1, 2, 4, 5]], "do not follow one another"),
        ({"hidden": np.zeros((6, 2))}, TOKENS.assign(side="left"), "'left': a side is source or"),
        ({"hidden": np.zeros((6, 2))}, None, "has no tokens: put acts.parquet or .csv beside it"),
        ({"hidden": np.array([object()] * 6)}, TOKENS, "cannot be read as arrays"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_their_tokens_are_refused(tmp_path, arrays, table, line):
    np.savez(tmp_path / "acts.npz", **arrays)
    if table is not None:
        table.to_csv(tmp_path / "acts.csv", index=False)
    with pytest.raises(InputError, match=line):
        tp.import_store(tmp_path / "acts.npz", tmp_path / "store")
    assert not (tmp_path / "store").exists()


# ---------------------------------------------------------------- vLLM, SAELens, NeuroX


def test_the_hidden_states_of_vllm_come_in(tmp_path):
    store = tp.import_store(write_vllm(tmp_path / "dump"), tmp_path / "store", layers=[3, 7])
    assert store.sites == ["layers.3.hidden", "layers.7.hidden"]
    for layer, site in enumerate(store.sites):
        rows = torch.from_numpy(np.concatenate([states[:, layer] for states in STATES]))
        assert (store.read(site) == rows.bfloat16().float().numpy()).all()
    assert set(store.summary["dtype"]) == {"bfloat16"}
    assert store.tokens["id"].tolist() == [0, 1, 2, 14, 70, 71, 72, 73, 74]
    assert store.tokens["token"].tolist() == store.tokens["id"].astype(str).tolist()
    requests = store.tokens.groupby("sample")["request"].first().tolist()
    assert requests == ["0-a1b2", "2-a1b2", "10-a1b2"]


def test_a_tokenizer_turns_ids_into_symbols(tmp_path):
    from tokenizers import Tokenizer, models

    id_of = {f"t{i}": i for i in range(72)}
    Tokenizer(models.WordLevel(id_of, unk_token="t0")).save(str(tmp_path / "tokenizer.json"))
    folder = write_vllm(tmp_path / "dump", STATES[:2])
    store = tp.import_store(folder, tmp_path / "store", tokens=tmp_path)
    assert store.tokens["token"].tolist() == ["t0", "t1", "t2", "t14"]
    folder = write_vllm(tmp_path / "more")
    with pytest.raises(InputError, match="has no token of id 72"):
        tp.import_store(folder, tmp_path / "other", tokens=tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="is no tokenizer"):
        tp.import_store(folder, tmp_path / "third", tokens=tmp_path)


def replaced(states, ids=None):
    """Another request in the place of the second."""
    tensors = {"hidden_states": states} | ({} if ids is None else {"token_ids": torch.arange(ids)})
    return lambda folder: save_file(tensors, folder / "2-a1b2.safetensors")


def claim(folder):
    """A header that claims a petabyte."""
    shape = [2**40, 2, 128]
    entry = {"dtype": "F32", "shape": shape, "data_offsets": [0, 4 * 2 * 128 * 2**40]}
    header = json.dumps({"hidden_states": entry}).encode()
    (folder / "2-a1b2.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (replaced(torch.ones(3, 2, 4)), r"2-a1b2.safetensors has no token_ids"),
        (replaced(torch.ones(3, 2, 4), 2), r"2-a1b2.safetensors has 2 tokens and vectors of 3"),
        (replaced(torch.ones(2, 2, 5), 2), r"2 layers of 5 float32 numbers, the first .* 2 layers of 4 bfloat16"),
        (replaced(torch.full((1, 2, 4), torch.nan).bfloat16(), 1), r"layers.0.hidden, sample 1 has a number that is not finite"),
        (claim, r"2-a1b2.safetensors cannot be read as arrays: hidden_states ends after the end"),
        (lambda f: (f / "3.safetensors.zst").touch(), "is compressed: unpack it first"),
        (lambda f: [file.unlink() for file in f.glob("*.safetensors")], "in no format that is known"),
    ],
)  # fmt: skip
def test_a_bad_request_is_named(tmp_path, spoil, line):
    folder = write_vllm(tmp_path / "dump")
    spoil(folder)
    with pytest.raises(InputError, match=line) as error:
        tp.import_store(folder, tmp_path / "store")
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"no store at|is not complete"):
        tp.open_store(tmp_path / "store")


@pytest.mark.parametrize("sharded", [False, True])
def test_the_cached_activations_of_saelens_come_in(tmp_path, sharded):
    hook, acts = "blocks.5.hook_mlp_out", RNG.normal(size=(6, 3, 4)).astype(np.float32)
    features = datasets.Features({
        hook: datasets.Array2D(shape=(3, 4), dtype="float32"),
        "token_ids": datasets.Sequence(datasets.Value("int32"), length=3),
    })  # fmt: skip
    columns = {hook: acts, "token_ids": np.arange(18).reshape(6, 3)}
    saved = datasets.Dataset.from_dict(columns, features=features)
    if sharded:
        for shard in range(2):
            rows = saved.select(range(3 * shard, 3 * shard + 3)).flatten_indices()
            rows.save_to_disk(tmp_path / "acts" / f"shard_{shard}")
    else:
        saved.save_to_disk(tmp_path / "acts", num_shards=2)
    store = tp.import_store(tmp_path / "acts", tmp_path / "store")
    assert (store.read("blocks.-1.hook_mlp_out") == acts.reshape(18, 4)).all()
    assert store.tokens["id"].tolist() == list(range(18))
    assert (store.samples, store.tokens["position"].tolist()) == (6, [0, 1, 2] * 6)
    saved.shuffle(seed=0).save_to_disk(tmp_path / "shuffled")
    if not sharded:  # what was shuffled is written in its new order, or refused
        reimported = tp.import_store(tmp_path / "shuffled", tmp_path / "again")
        assert sorted(reimported.tokens["id"]) == list(range(18))
        row = int(reimported.tokens["id"].iloc[4])
        assert (reimported.read(hook)[4] == acts.reshape(18, 4)[row]).all()


def test_a_folder_without_tokens_or_with_gaps_is_refused(tmp_path):
    ragged = {"hidden": [[[1.0, 2.0]], [[1.0, 2.0, 3.0]]], "token": [["a"], ["b"]]}
    gaps = {"hidden": [[[1.0, 2.0]], [[1.0, None]]], "token": [["a"], ["b"]]}
    silent = {"hidden": [[[1.0, 2.0]], [[1.0, 2.0]]]}
    short = {"hidden": [[[1.0, 2.0]], [[1.0, 2.0]]], "token": [["a"], ["b", "c"]]}
    for number, (columns, line) in enumerate([
        (ragged, "vectors of 2 and of 3 numbers"), (gaps, "has gaps among its numbers"),
        (silent, "has no tokens"), (short, "sample 1: hidden has 1 vectors for 2 source tokens"),
    ]):  # fmt: skip
        datasets.Dataset.from_dict(columns).save_to_disk(tmp_path / f"d{number}")
        with pytest.raises(InputError, match=line):
            tp.import_store(tmp_path / f"d{number}", tmp_path / f"s{number}")
    arrow = next((tmp_path / "d0").glob("*.arrow"))
    arrow.write_bytes(arrow.read_bytes()[:200])
    with pytest.raises(InputError, match="cannot be read as a datasets folder"):
        tp.import_store(tmp_path / "d0", tmp_path / "cut")


def test_lists_that_lie_outside_their_memory_are_refused(tmp_path):
    offsets = pa.array([0, 10**9, 3], pa.int32()).buffers()[1]
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
    tokens = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), texts)
    hidden = pa.array([[[1.0, 2.0], [3.0, 4.0]]])
    datasets.Dataset.from_dict({"token": [["a", "b"]], "hidden": hidden}).save_to_disk(
        tmp_path / "d"
    )
    table = pa.table({"token": tokens, "hidden": hidden})
    file = next((tmp_path / "d").glob("*.arrow"))
    with pa.ipc.new_stream(str(file), table.schema) as stream:
        stream.write_table(table)
    with pytest.raises(InputError, match="cannot be read as a datasets folder"):
        tp.import_store(tmp_path / "d", tmp_path / "store")


@pytest.mark.parametrize("name", ["acts.hdf5", "acts.json"])
def test_the_sentences_of_neurox_come_in(tmp_path, monkeypatch, name):
    monkeypatch.setattr("tprprobe.store.dumps.dump.BLOCK_BYTES", 100)  # several blocks
    store = tp.import_store(write_neurox(tmp_path / name), tmp_path / "store")
    assert store.sites == ["layers.0.hidden", "layers.1.hidden"]
    for layer, site in enumerate(store.sites):
        rows = np.concatenate([values[layer] for values in VALUES])
        np.testing.assert_allclose(store.read(site), rows, atol=0 if name[-1] == "5" else 1e-8)
    assert store.tokens["token"].tolist() == " ".join(SENTENCES).split()
    assert store.tokens["id"].tolist() == [0, 1, 2, 3, 0, 1, 2]
    single_layer = write_neurox(
        tmp_path / name.replace(".", "-layer3."), [values[:1] for values in VALUES]
    )
    assert tp.import_store(single_layer, tmp_path / "one").sites == ["layers.3.hidden"]
    with pytest.raises(InputError, match=r"has 2 layers, --layers 1,2,3 names 3"):
        tp.import_store(tmp_path / name, tmp_path / "other", layers=[1, 2, 3])


def test_bad_sentences_are_refused(tmp_path):
    path = write_neurox(tmp_path / "acts.hdf5", [VALUES[0], VALUES[1], VALUES[1]])
    with pytest.raises(InputError, match="sentence 2 has 3 tokens and vectors of 1"):
        tp.import_store(path, tmp_path / "a")
    with h5py.File(path, "a") as file:
        del file["1"]
    with pytest.raises(InputError, match="has no data set 1"):
        tp.import_store(path, tmp_path / "b")
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match="cannot be read as NeuroX's"):
        tp.import_store(path, tmp_path / "c")
    for number, (text, line) in enumerate([
        ("{}\n", "cannot be read as NeuroX's: 'features'"),
        ("[1,\n", "line 1 is not JSON"),
        ('{"features": []}\n', "a sentence has words"),
        ('{"features": [{"token": "a", "layers": [{"values": [1]}, {"values": [1, 2]}]}]}\n',
         "line 1: words with other layers or widths"),
        ("", "holds no samples"),
    ]):  # fmt: skip
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InputError, match=line):
            tp.import_store(tmp_path / "bad.json", tmp_path / f"j{number}")


def test_a_sentence_that_claims_what_its_bytes_do_not_hold_is_refused(tmp_path):
    """160 TB in a file of some kilobytes: HDF5 gives zeros for what was never written."""
    path = write_neurox(tmp_path / "acts.hdf5", [VALUES[0], VALUES[1]])
    with h5py.File(path, "a") as file:
        del file["1"]
        file.create_dataset("1", (2, 10**7, 2 * 10**6), "f4", chunks=(1, 64, 64))
    with pytest.raises(
        InputError, match=r"sentence 1 of shape .* claims 160,000,000,000,000 bytes"
    ):
        tp.import_store(path, tmp_path / "store")
    assert path.stat().st_size < 10**6


def test_an_array_that_claims_what_its_file_does_not_hold_is_refused(tmp_path):
    path = tmp_path / "acts.npz"
    shape = {"descr": "<f4", "fortran_order": False, "shape": (2**40, 128)}
    with zipfile.ZipFile(path, "w") as archive, archive.open("layers.0.hidden.npy", "w") as member:
        np.lib.format.write_array_header_1_0(member, shape)
        member.write(bytes(64))
    with pytest.raises(InputError, match=r"of shape \(1099511627776, 128\) is cut short"):
        tp.import_store(path, tmp_path / "store")


# ---------------------------------------------------------------- export


def planted(path):
    """A store of all kinds of sites and types, with a table of many columns."""
    rng = np.random.default_rng(3)
    lengths = [(5, 2), (1, 1), (9, 4), (3, 3)]
    specs = {
        "encoder.0.hidden": SiteSpec(("source", "d_model"), (6,)),
        "encoder.0.self.role": SiteSpec(("source", "head", "d_head"), (2, 3), "float16"),
        "encoder.1.hidden": SiteSpec(("source", "d_model"), (6,), "bfloat16", "lz4"),
        "decoder.0.hidden": SiteSpec(("target", "d_model"), (6,), "float64", "zstd"),
        "encoding": SiteSpec(("sample", "d_model"), (4,)),
        "word.tpr": SiteSpec(("target", "d", "d"), (2, 2)),
        "encoder.0.self.attention": SiteSpec(("source_source", "head"), (3,), "float16"),
        "decoder.0.cross.attention": SiteSpec(("target_source", "head"), (2,), "bfloat16", "lz4"),
    }
    writer = StoreWriter.create(path, specs, {"model": {"name": "planted"}})
    for number, (source, target) in enumerate(lengths):
        count = {"source": source, "target": target, "sample": 1}
        vectors = {n: s for n, s in specs.items() if not s.is_attention}
        values = {n: rng.normal(size=(count[s.rows], *s.shape)) for n, s in vectors.items()}
        maps = {
            "encoder.0.self.attention": [rng.random((3, source, source))],
            "decoder.0.cross.attention": [rng.random((2, target, source))],
        }
        tokens = rng.choice([*"abcé😀", "NA", ""], source + target)
        table = pd.DataFrame({
            "side": np.repeat(["source", "target"], [source, target]), "sample": number,
            "position": [*range(source), *range(target)],
            "id": rng.integers(0, 9, source + target).astype(np.int32), "token": tokens,
            "question": f"q{number}", "module": None, "correct": number % 2 == 0,
            "pos": rng.choice(["N", "V"], source + target), "score": rng.normal(size=source + target),
        })  # fmt: skip
        writer.append(values, table, maps if number < MAPPED else {})
    writer.finish()
    return tp.open_store(path)


MAPPED, MAPS = 3, ["encoder.0.self.attention", "decoder.0.cross.attention"]  # of the first samples


@pytest.mark.parametrize("name", ["acts.npz", "acts.safetensors", "acts"])
def test_what_is_exported_is_imported_bit_for_bit(tmp_path, monkeypatch, name):
    store = planted(tmp_path / "store")
    sites = [site for site in store.sites if site != "word.tpr"]  # d × d is of TPGN alone
    monkeypatch.setattr("tprprobe.store.dumps.dump.BLOCK_BYTES", 300)  # several blocks
    tp.export_store(store, tmp_path / name, sites)
    reimported = tp.import_store(tmp_path / name, tmp_path / "again")
    assert {*reimported.sites} == {*sites}
    for site in sites:
        assert reimported.read(site).tobytes() == store.read(site).tobytes()
        assert reimported.specs[site].axes == store.specs[site].axes
        is_same_type = name == "acts.safetensors" or store.specs[site].dtype != "bfloat16"
        assert reimported.specs[site].dtype == (
            store.specs[site].dtype if is_same_type else "float32"
        )
    for site in MAPS:
        assert reimported.count_maps(site) == MAPPED
        for sample in range(MAPPED):
            assert (reimported.attention(site, sample) == store.attention(site, sample)).all()
    columns = list(store.tokens)
    assert {*reimported.tokens} == {*columns}
    for column in columns:
        expected, values = (copy.tokens[column].astype(object) for copy in (store, reimported))
        assert (
            expected.where(expected.notna(), None).tolist()
            == values.where(values.notna(), None).tolist()
        )


def test_their_own_libraries_read_what_is_exported(tmp_path):
    store = planted(tmp_path / "store")
    for name in ("acts.npz", "acts.safetensors", "acts"):
        tp.export_store(store, tmp_path / "out" / name.replace("acts.", f"{name[-3:]}."), None)
    arrays = np.load(tmp_path / "out" / "npz.npz")
    tensors = load_file(tmp_path / "out" / "ors.safetensors")
    rows = datasets.load_from_disk(tmp_path / "out" / "acts")
    assert tensors["encoder.1.hidden"].dtype == torch.bfloat16
    assert arrays["encoder.0.self.role"].dtype == np.float16
    for site in store.sites:
        assert (arrays[site] == store.read(site)).all()
        assert (tensors[site].double().numpy() == store.read(site)).all()
        if site in MAPS:
            assert rows[site][MAPPED:] == [None] * (store.samples - MAPPED)
            for sample, maps in enumerate(rows[site][:MAPPED]):
                assert (np.array(maps).transpose(2, 0, 1) == store.attention(site, sample)).all()
        elif store.specs[site].rows == "sample":
            assert (np.array(rows[site]) == store.read(site)).all()
        else:
            assert (np.concatenate([np.array(r) for r in rows[site]]) == store.read(site)).all()
    assert rows["question"] == ["q0", "q1", "q2", "q3"]
    assert list(itertools.chain(*rows["token"])) == store.tokens["token"].tolist()


def test_maps_that_do_not_fit_are_refused(tmp_path):
    store = planted(tmp_path / "store")
    tp.export_store(store, tmp_path / "acts.npz", MAPS)
    arrays = dict(np.load(tmp_path / "acts.npz"))
    site, key = MAPS[0], "source_source.shape"
    for number, (name, value, line) in enumerate([
        (key, None, f"{site} needs an array {key}"),
        (key, arrays[key][:, :1], r"shapes of .* are \(3, 1\) int64, not \[sample, 2\]"),
        (key, arrays[key] + 1, r"sample 0 has a map of 6 × 6, its tokens are 5 × 5"),
        (key, np.tile(arrays[key], (2, 1)), r"sample 3 has a map of 5 × 5, its tokens are 3 × 3"),
        (key, arrays[key][:2], "its samples have 26 pairs of a query and a key"),
        (site, arrays[site][1:], "pairs of a query and a key: an array of maps is"),
        (site, arrays[site] * np.nan, f"{site}, sample 0 has a number that is not finite"),
    ]):  # fmt: skip
        changed = {n: v for n, v in (arrays | {name: value}).items() if v is not None}
        np.savez(tmp_path / "bad.npz", **changed)
        with pytest.raises(InputError, match=line):
            tp.import_store(tmp_path / "bad.npz", tmp_path / f"s{number}", tokens=tmp_path / "acts.parquet")  # fmt: skip


def test_an_export_that_cannot_be_is_refused(tmp_path):
    store = planted(tmp_path / "store")
    for out, sites, line in [
        ("acts.pt", None, "ends in .pt: give a .npz or .safetensors"),
        ("acts.npz", "encoder.7.*", "unknown site"),
    ]:
        with pytest.raises(InputError, match=line):
            tp.export_store(store, tmp_path / out, sites)
    tp.export_store(store, tmp_path / "acts.npz", "encoding")
    with pytest.raises(InputError, match="exists already"):
        tp.export_store(store, tmp_path / "acts.npz", "encoding")
