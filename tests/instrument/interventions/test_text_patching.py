"""Patching between two texts: what must be recovered where, the refusals, the command and its figure."""

import re

import numpy as np
import pandas as pd
import pytest
from planted.foreign import save_foreign
from typer.testing import CliRunner

import tprprobe as tp
from tprprobe.cli import app
from tprprobe.interventions import patch_positions

pytest.importorskip("transformers")
TEXT, AGAINST = "The cat saw the dog ", "The cat say the dog "  # open behind a blank


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_foreign("gpt2", tmp_path_factory.mktemp("patching") / "tiny", "causal")


def test_the_embedding_of_the_changed_word_and_the_last_state_carry_all(folder):
    model = tp.load_model(f"hf:{folder}")
    n_tokens, answers = len(model.read(TEXT)[0]), ["dog", "a"]
    table = patch_positions(model, TEXT, AGAINST, answers)
    recovered = table[table["control"] == ""].pivot_table("recovered", "site", "position")
    differs = (table["token"] != table["other_token"]).to_numpy()[:n_tokens]
    embedding = recovered.loc["layers.embedding"].to_numpy()
    assert differs.sum() == 1
    assert embedding == pytest.approx(differs.astype(float), abs=1e-4)
    assert recovered.loc[table["site"].iloc[-1]].to_numpy() == pytest.approx(
        np.eye(n_tokens)[-1], abs=1e-4
    )
    controls = table[table["control"] != ""]
    assert not np.allclose(controls["recovered"], table.loc[table["control"] == "", "recovered"])


def test_texts_of_other_lengths_and_equal_answers_are_refused(folder):
    model = tp.load_model(f"hf:{folder}")
    with pytest.raises(tp.InputError, match="texts of as many tokens"):
        patch_positions(model, TEXT, "The dog")
    with pytest.raises(tp.InputError, match="different tokens"):
        patch_positions(model, TEXT, AGAINST, ["dog", "dog"])


def test_the_command_writes_a_table_and_a_figure(folder, tmp_path):
    def run(*options: str):
        command = ["intervene", "--ckpt", f"hf:{folder}", "--text", TEXT, "--against", AGAINST]
        return CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out"), *options])

    result = run("--answers", "dog,a")
    assert result.exit_code == 0, result.output
    assert "embedding" in result.stdout
    assert re.search(r"token \d+, ‘\w+’, from .*; the last token, ‘.*’, from", result.stdout)
    table = pd.read_parquet(tmp_path / "out" / "patching.parquet")
    assert set(tp.load_results(tmp_path / "out").table["metric"]) == {"difference", "recovered"}
    assert len(table) == 2 * len(set(zip(table["site"], table["position"], strict=True)))
    assert (tmp_path / "out" / "patching.pdf").stat().st_size
    figure = ["figure", "patching", "--ckpt", str(tmp_path / "out")]
    assert CliRunner().invoke(app, [*figure, "--out", str(tmp_path / "p.svg")]).exit_code == 0
    assert "--against goes with --text" in str(run("--exchange", "cat,dog").exception)
