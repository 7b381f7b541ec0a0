"""What a user is likely to type about stores, figures and probes, and what is said or done."""

import numpy as np
import pandas as pd
import pytest
from planted.cli import run_command
from planted.faults import run_main

import tprprobe as tp
from tprprobe.errors import InputError


@pytest.fixture
def store(tmp_path):
    """A store that was imported: 40 samples of three tokens with a tag."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "acts.npz", **{"layers.0.hidden": rng.normal(size=(120, 4)).astype("f4")})
    table = {
        "sample": np.repeat(range(40), 3),
        "token": rng.choice(list("abcdefgh"), 120),
        "pos": ["X", "Y", "X"] * 40,
    }
    pd.DataFrame(table).to_csv(tmp_path / "acts.csv", index=False)
    tp.import_store(tmp_path / "acts.npz", tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("kind", [str, lambda path: path, tp.open_store])
def test_a_path_opens_the_store(store, kind):
    assert tp.cluster(kind(store), "layers.0.hidden", k=2, n_seeds=2).site == "layers.0.hidden"
    assert {
        *tp.decompose(kind(store), "layers.0.hidden", "left", family="additive").scores["site"]
    } == {"layers.0.hidden"}


def test_import_of_a_pickle_says_what_to_save(tmp_path):
    (tmp_path / "acts.pt").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"acts.pt is a pickle.*safetensors\.torch\.save_file"):
        run_command("import", tmp_path / "acts.pt", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_import_twice_names_no_option_that_import_lacks(store):
    with pytest.raises(InputError, match="complete: give another folder or remove it") as error:
        run_command("import", store.parent / "acts.npz", store)
    assert "--out" not in str(error.value)


def test_figure_of_a_store_lists_what_it_has(store):
    printed = run_command("figure", "--store", store)
    assert "figures of this store: 1" in printed.stderr
    assert printed.stdout.startswith("roles ")
    names = {line.split()[0] for line in printed.stdout.splitlines()}
    assert not {"learning-curve", "swap", "behavior"} & names
    with pytest.raises(
        InputError, match=r"swap is made of swaps: give --ckpt with .*, not of --st"
    ):
        run_command("figure", "swap", "--store", store)


def test_probe_with_nothing_says_what_to_give():
    with pytest.raises(InputError, match="give a STORE, or --ckpt MODEL with --data"):
        run_command("probe", "pos")


def test_two_values_of_an_option_say_that_it_repeats(monkeypatch, capsys):
    assert run_main(monkeypatch, "extract", "--ckpt", "tpt-c-english", "--sites", "A", "B") == 2
    assert "For several values repeat it: --sites" in capsys.readouterr().err
