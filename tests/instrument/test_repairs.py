"""A damaged store is repaired to the very files that it had, from the samples that these need."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import tprprobe as tp
from tprprobe.analyses.decomposition import decompose_all
from tprprobe.cli import main
from tprprobe.cli.remaking import describe_damage, making_command
from tprprobe.errors import InputError
from tprprobe.extraction import division, extractions
from tprprobe.store import layout
from tprprobe.store.manifests import read_complete
from tprprobe.store.verification import verify

SITES = ["encoder.*.self.role", "decoder.0.self.attention"]
SAMPLES = 40


@pytest.fixture(scope="module")
def extract(checkpoint, questions):
    """Extracts the same store, or repairs one; the samples that are computed are counted."""
    model = tp.load_model(checkpoint)
    data = tp.load_data(f"{questions}:arithmetic__mixed", split="train-easy")

    def run(out, **options):
        computed = []
        read = extractions.read_block

        def counted(of, pairs, *given):
            computed.append(len(pairs))
            return read(of, pairs, *given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(division, "LEAST", 4)
            patch.setattr(layout, "CHUNK_BYTES", 2**11)
            patch.setattr(extractions, "read_block", counted)
            settings = {"attention_samples": 6, "control_samples": 10, **options}
            tp.extract(model, data, SITES, out, **settings)
        return sum(computed)

    return run


@pytest.fixture(scope="module")
def wholes(extract, tmp_path_factory):
    """Stores that are whole, plain and compressed."""
    folder = tmp_path_factory.mktemp("wholes")
    extract(folder / "plain")
    extract(folder / "compressed", store_dtype="bfloat16")
    return folder


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _replace(file: Path) -> None:
    file.write_bytes(b"of something else")


DAMAGE = {
    "a flipped byte": ([("arrays.zarr/encoder.0.self.role/c.3.0.0", _flip)], 18),
    "a missing chunk": ([("arrays.zarr/encoder.1.self.role/c.0.0.0", Path.unlink)], 18),
    "a short file of maps": ([("arrays.zarr/decoder.0.self.attention/c.0.0", _cut)], 30),
    "places of maps": ([("arrays.zarr/target_target.offset/c.0", _flip)], 30),
    "metadata": ([("arrays.zarr/encoder.0.self.role/zarr.json", _replace)], 1),
    "a foreign file for tokens": ([("tokens.parquet", _replace)], SAMPLES + 20),
    "the control": ([("untrained/arrays.zarr/encoder.0.self.role/c.0.0.0", _flip)], 30),
    "many": (
        [
            ("tokens.parquet", Path.unlink),
            ("arrays.zarr/encoder.0.self.role/c.0.0.0", _flip),
            ("untrained/tokens.parquet", _cut),
            ("arrays.zarr/zarr.json", _replace),
        ],
        SAMPLES + 20,
    ),
}


@pytest.mark.parametrize(
    ("name", "kept"), [*((n, "plain") for n in DAMAGE), ("many", "compressed")]
)
def test_a_damaged_store_is_made_whole(name, kept, extract, wholes, tmp_path):
    store = shutil.copytree(wholes / kept, tmp_path / "store")
    damages, most = DAMAGE[name]
    for file, spoil in damages:
        spoil(store / file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "CHUNK_BYTES", 2**11)
        assert [each.file for each in verify(store).damage] != []
    options = {"store_dtype": "bfloat16"} if kept == "compressed" else {}
    computed = extract(store, repair=True, **options)
    assert _contents(store) == _contents(wholes / kept)
    assert computed <= most
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


def test_what_cannot_be_repaired_is_one_line(extract, wholes, tmp_path, monkeypatch):
    out = shutil.copytree(wholes / "plain", tmp_path / "store")
    monkeypatch.setattr(layout, "CHUNK_BYTES", 2**11)
    _flip(out / "arrays.zarr/encoder.0.self.role/c.0.0.0")
    said = describe_damage(verify(out), making_command(out, read_complete(out)))
    assert said.endswith("--repair` makes these files again")
    damaged = _contents(out)
    with pytest.raises(InputError, match="was begun with attention_samples 6, now it is 7"):
        extract(out, repair=True, attention_samples=7)
    with pytest.raises(InputError, match="repair it without --no-control"):
        extract(out, repair=True, control=False)
    with monkeypatch.context() as patch:
        patch.setattr("tprprobe.store.repairs.sum_file", lambda _: "00000000")
        with pytest.raises(InputError, match="comes out otherwise than it was written"):
            extract(out, repair=True)
    assert _contents(out) == damaged
    shutil.copy(out / "tokens.parquet", out / "manifest.json")
    with pytest.raises(InputError, match="is damaged"):
        extract(out, repair=True)
    with pytest.raises(InputError, match="no store at"):
        extract(tmp_path / "none", repair=True)


def _inspected(folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tprprobe", "inspect", str(folder), "--verify"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code, (said.out + said.err).splitlines()[-1]


def test_a_changed_table_of_a_run_is_named(tmp_path, monkeypatch, capsys):
    lines = [f"{i % 10} {i // 10}\t{i}.5 {i % 7} 1\n" for i in range(60)]
    (tmp_path / "v.txt").write_text("".join(lines))
    store = tp.import_store(tmp_path / "v.txt", tmp_path / "store", "tpdn")
    decompose_all(store, "encoding", out=tmp_path / "out")
    code, said = _inspected(tmp_path / "out", monkeypatch, capsys)
    assert code == 0
    assert said.endswith(". (decompositions) can be read, 1 tables are undamaged")
    table = tmp_path / "out" / "results.parquet"
    changed = pd.read_parquet(table)
    changed.assign(value=changed["value"] + 1).to_parquet(table)
    code, said = _inspected(tmp_path / "out", monkeypatch, capsys)
    assert code == 2
    assert "results.parquet is not what was written" in said


def test_a_flipped_weight_of_a_checkpoint_is_told(make_model, tmp_path, monkeypatch, capsys):
    folder = tp.save_pretrained(make_model(), tmp_path / "tiny")
    assert _inspected(folder, monkeypatch, capsys)[0] == 0
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-20] ^= 1
    weights.write_bytes(content)
    with pytest.raises(InputError, match="its weights are not those that were written"):
        tp.load_model(folder)
    code, said = _inspected(folder, monkeypatch, capsys)
    assert code == 2
    assert "model.safetensors is damaged" in said
