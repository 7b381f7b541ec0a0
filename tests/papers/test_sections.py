"""schlag's Secs. 6.1, 6.2 and 7 from the command line and as figures: numbers beside the printed ones."""

import json

import numpy as np
import pandas as pd
import pytest
from planted.cli import run_command
from planted.values import LAYERS, plant_values

import tprprobe as tp
from tprpapers.verdicts import verdicts_of
from tprprobe.analyses.reconstruction import load_reconstruction
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.figures.reconstruction import VERDICT, save_reconstruction, summarize_reconstruction


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    return [plant_values(folder / name, name) for name in ("tp", "plain")]


@pytest.fixture(scope="module")
def results(stores):
    return pd.concat([tp.reconstruct(store) for store in stores], ignore_index=True)


def test_reconstruct_command(stores, tmp_path):
    out = tmp_path / "out"
    result = run_command("reconstruct", stores[0].path, "--baseline", stores[1].path, "--out", out)
    assert "| tp, untrained" in result.output
    table = load_reconstruction(out)
    assert set(table["model"]) == {"tp", "plain"}
    assert table["layer"].nunique() == LAYERS
    sentences, written = result.output.strip(), (out / "reconstruction.md").read_text().strip()
    assert sentences.endswith(written)
    lines = sentences.removesuffix(written).strip().splitlines()
    assert [line.partition(":")[0].strip() for line in lines] == [
        *("tp", "layer 0", "layer 1", VERDICT),
        *("plain", "layer 0", "layer 1", VERDICT),
    ]
    assert (out / "figure.pdf").read_bytes().startswith(b"%PDF")
    as_json = run_command("reconstruct", stores[0].path, "--layer", -1, "--json")
    rows = json.loads(as_json.stdout)
    assert {row["layer"] for row in rows} == {LAYERS - 1}
    with pytest.raises(InputError):
        run_command("reconstruct", stores[0].path, "--out", out)


def test_the_verdict_is_by_the_interval_as_it_is_shown(results):
    rows = results[results["model"] == "tp"].copy()
    for bounds, word in (
        ((0.001, 0.02), "more"),
        ((-0.02, -0.001), "less"),
        ((0.0004, 0.02), "not certainly more or less"),
        ((np.nan, np.nan), "not certainly more or less"),
    ):
        rows.loc[rows["layer"] == 1, ["gain_low", "gain_high"]] = bounds
        rows.loc[rows["layer"] == 0, ["gain_low", "gain_high"]] = (-0.2, -0.1)
        is_same = word == "less"
        layers = "less in layer 0, 1." if is_same else f"less in layer 0; {word} in layer 1."
        assert summarize_reconstruction(rows).endswith(f"{VERDICT}: {layers}")


def test_figures_and_tables_are_drawn_from_the_folder_of_results(stores, results, tmp_path):
    """As from the store, by every door, and nothing is computed again."""
    tp_rows = results[results["model"] == "tp"].reset_index(drop=True)
    folder = save_reconstruction(tp_rows, tmp_path / "results", [stores[0]])
    order = np.random.default_rng(0).permutation(stores[0].samples)  # a document each
    held_out = pd.read_csv(folder / "held_out.csv")["sample"].tolist()
    assert held_out == sorted(order[: stores[0].samples // 4])
    from_store = catalogue.make("schlag-sec6.1-table", store=stores[0])
    file = catalogue.write_figure("schlag-sec6.1-table", sources=[folder], out=tmp_path / "t.md")
    assert file.read_text() == from_store.markdown()
    assert len(verdicts_of(from_store)) == 2
    (picture, _) = tp.draw("reconstruction", folder, width="acl").axes
    (of_results, _) = tp.draw("reconstruction", tp_rows).axes
    for line, other in zip(picture.lines, of_results.lines, strict=True):
        assert line.get_ydata() == pytest.approx(other.get_ydata(), nan_ok=True)
    alone = tp.draw("schlag-sec6.1", folder, panel="tp, R² by layer, held out")
    assert [panel.get_ylabel() for panel in alone.axes] == ["R²"]
    options = {"layer": 0}
    table = catalogue.write_figure(
        "reconstruction-table", None, [folder], options, tmp_path / "u.csv"
    )
    assert set(pd.read_csv(table)["layer"]) == {0}
    with pytest.raises(InputError, match=r"unknown layer of these results '7' .accepted: 0, 1"):
        catalogue.write_figure("reconstruction", None, [folder], {"layer": 7}, tmp_path / "v.pdf")
    with pytest.raises(InputError, match="--ckpt with folders of `reconstruct --out`"):
        catalogue.write_figure("schlag-sec6.1")


def test_binding_command(tmp_path, checkpoint):
    plain = run_command("binding", "--out", tmp_path / "exact")
    assert "standard 1, 1, 1, 1, 1; tp 1, 2, 4, 8, 16" in plain.output
    assert not (tmp_path / "exact" / "probe.csv").exists()
    result = run_command("binding", "--ckpt", checkpoint, "--out", tmp_path / "asked", "--json")
    rows = json.loads(result.stdout)
    assert set(rows) == {"demonstration", "degrees", "probe"}
    figure = catalogue.make("schlag-sec6.2-trained", bindings=[tmp_path / "asked"])
    assert len(figure.axes) == 3
    with pytest.raises(InputError, match=r"holds no probe\.csv"):
        catalogue.make("schlag-sec6.2-trained", bindings=[tmp_path / "exact"])
