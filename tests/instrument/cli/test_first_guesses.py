"""What a user is likely to type about stores, figures and probes, and what is said or done."""

import numpy as np
import pandas as pd
import pytest
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


def test_import_of_a_pickle_says_what_to_save(tmp_path, monkeypatch, capsys):
    (tmp_path / "acts.pt").write_bytes(b"PK")
    assert run_main(monkeypatch, "import", tmp_path / "acts.pt", tmp_path / "out") == 2
    assert "acts.pt is a pickle" in (message := capsys.readouterr().err)
    assert "safetensors.torch.save_file" in message
    assert not (tmp_path / "out").exists()


def test_import_twice_names_no_option_that_import_lacks(store, monkeypatch, capsys):
    assert run_main(monkeypatch, "import", store.parent / "acts.npz", store) == 2
    message = capsys.readouterr().err
    assert "holds a store, complete: give another folder or remove it" in message
    assert "--out" not in message


def test_figure_of_a_store_lists_what_it_has(store, monkeypatch, capsys):
    assert not run_main(monkeypatch, "figure", "--store", store)
    captured = capsys.readouterr()
    assert "figures of this store: 1" in captured.err
    assert captured.out.startswith("roles ")
    assert not {"learning-curve", "swap", "behavior"} & {
        line.split()[0] for line in captured.out.splitlines()
    }
    assert run_main(monkeypatch, "figure", "swap", "--store", store) == 2
    assert (
        "swap is made of swaps: give --ckpt with folders of `intervene --out`, not of --store"
        in capsys.readouterr().err
    )


def test_probe_with_nothing_says_what_it_does_before_it_does_it(monkeypatch, capsys):
    def stop(*_):
        raise InputError("stopped")

    monkeypatch.setattr("tprprobe.cli.options.model_and_data", stop)
    assert run_main(monkeypatch, "probe", "pos") == 2
    message = capsys.readouterr().err
    assert message.index("probes 300 examples of tpt-d-english") < message.index("stopped")
