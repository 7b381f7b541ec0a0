"""schlag's Secs. 6.1, 6.2 and 7 from the command line and as figures: numbers beside the printed ones."""

import json

import pandas as pd
import pytest
from planted.values import LAYERS, plant_values
from typer.testing import CliRunner

import tprprobe as tp
from tprpapers.schlag.reconstruction_drawings import reconstruction_curves, reconstruction_table
from tprprobe.analyses.reconstruction import load_reconstruction
from tprprobe.cli import app
from tprprobe.errors import InputError
from tprprobe.figures import catalogue


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    return [plant_values(folder / name, name) for name in ("tp", "plain")]


@pytest.fixture(scope="module")
def results(stores):
    return pd.concat([tp.reconstruct(store) for store in stores], ignore_index=True)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_reconstruction_table_has_printed_and_own_numbers(results):
    table = reconstruction_table(results)
    cells = table.cells.set_index(["model", "from"])
    printed = cells["n = 100 positions"]
    assert printed["TP-Transformer (printed)", "one head (mean)"] == "0.017"
    assert printed["Transformer (printed)", "one head (mean)"] == "0.009"
    assert set(table.cells["model"]) >= {"tp", "tp, untrained", "plain", "plain, untrained"}
    rows = results.query(
        "model == 'plain' and not untrained and layer == 1 and predictor == 'heads'"
        " and unit == 'question' and penalty == 'none'"
    )
    held_out = rows[(rows["n"] == rows["n"].max()) & (rows["split"] == "held_out")].iloc[0]
    plain = cells.loc[("plain", "one head (mean)")]
    assert plain["held out"].startswith(f"{held_out['mse']:.4f} [")
    small = rows[(rows["n"] == 100) & (rows["split"] == "in_sample")].iloc[0]
    assert plain["n = 100 questions"] == f"{small['mse']:.4f}"
    of_layer_0 = reconstruction_table(results, layer=0).cells
    assert set(of_layer_0["layer"]) == {"0", "last"}


def test_reconstruction_figure_has_a_row_a_model(results):
    figure = reconstruction_curves(results)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["tp, layer 1", "by layer, held out", "plain, layer 1", "by layer, held out"]
    with pytest.raises(InputError, match="no results of a trained model"):
        reconstruction_curves(results[results["untrained"]])


def test_reconstruct_command(stores, tmp_path):
    out = tmp_path / "out"
    result = run("reconstruct", stores[0].path, "--baseline", stores[1].path, "--out", out)
    assert result.exit_code == 0, result.output
    assert "| tp, untrained" in result.output
    table = load_reconstruction(out)
    assert set(table["model"]) == {"tp", "plain"}
    assert table["layer"].nunique() == LAYERS
    sentences, written = result.output.strip(), (out / "reconstruction.md").read_text().strip()
    assert sentences.endswith(written)
    assert len(sentences.removesuffix(written).strip().splitlines()) == 2  # one a model
    assert (out / "figure.pdf").read_bytes().startswith(b"%PDF")
    as_json = run("reconstruct", stores[0].path, "--layer", -1, "--json")
    rows = json.loads(as_json.stdout)
    assert {row["layer"] for row in rows} == {LAYERS - 1}
    repeated = run("reconstruct", stores[0].path, "--out", out)
    assert isinstance(repeated.exception, InputError)


def test_binding_command(tmp_path, checkpoint):
    plain = run("binding", "--out", tmp_path / "exact")
    assert plain.exit_code == 0, plain.output
    assert "standard 1, 1, 1, 1, 1; tp 1, 2, 4, 8, 16" in plain.output
    assert not (tmp_path / "exact" / "probe.csv").exists()
    result = run("binding", "--ckpt", checkpoint, "--out", tmp_path / "asked", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert set(rows) == {"demonstration", "degrees", "probe"}
    figure = catalogue.make("schlag-sec6.2-trained", bindings=[tmp_path / "asked"])
    assert len(figure.axes) == 3
    with pytest.raises(InputError, match=r"holds no probe\.csv"):
        catalogue.make("schlag-sec6.2-trained", bindings=[tmp_path / "exact"])
