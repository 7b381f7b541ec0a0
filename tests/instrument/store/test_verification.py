"""`inspect --verify` names what was changed in the tables of a run and in the weights of a checkpoint."""

import pandas as pd
import pytest
from planted.cli import run_command

import tprprobe as tp
from tprprobe.analyses.decomposition import decompose_all
from tprprobe.errors import InputError


def test_a_changed_table_of_a_run_is_named(tmp_path):
    lines = [f"{i % 10} {i // 10}\t{i}.5 {i % 7} 1\n" for i in range(60)]
    (tmp_path / "v.txt").write_text("".join(lines))
    store = tp.import_store(tmp_path / "v.txt", tmp_path / "store", "tpdn")
    decompose_all(store, "encoding", out=tmp_path / "out", family="additive")
    printed = run_command("inspect", tmp_path / "out", "--verify").stdout
    assert printed.endswith(". (decompositions) can be read, 1 tables are undamaged\n")
    table = tmp_path / "out" / "results.parquet"
    changed = pd.read_parquet(table)
    changed.assign(value=changed["value"] + 1).to_parquet(table)
    with pytest.raises(InputError, match=r"results\.parquet is not what was written"):
        run_command("inspect", tmp_path / "out", "--verify")


def test_a_flipped_weight_of_a_checkpoint_is_told(make_model, tmp_path):
    folder = tp.save_pretrained(make_model(), tmp_path / "tiny")
    run_command("inspect", folder, "--verify")
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-20] ^= 1
    weights.write_bytes(content)
    with pytest.raises(InputError, match="its weights are not those that were written"):
        tp.load_model(folder)
    with pytest.raises(InputError, match=r"model\.safetensors is damaged"):
        run_command("inspect", folder, "--verify")
