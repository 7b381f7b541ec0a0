"""Probes of strangers, a file each that knows nothing of the package: options, tables, figures and pages come by themselves."""

import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from planted.installed import install
from planted.sentences import FILLER, ROLE, plant

from tprprobe import plugins
from tprprobe.analyses.probing import load_rows
from tprprobe.dashboard.probes import show_probes, summarize_probes
from tprprobe.evaluation.results import load_results
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.figures.probes import probe_table

PAGE = (Path(__file__).parents[3] / "docs/plugins.md").read_text("utf-8")
POINTS = """
[tprprobe.estimators]
sparse The k most informative neurons = sparse_probe:SparseProbe
rsa Representational similarity = similarity:Similarity
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Installs the two for this file's tests."""
    folder = tmp_path_factory.mktemp("site")
    pattern = r'title="(sparse_probe|similarity).py"\n(.*?)^```$'
    texts = dict(re.findall(pattern, PAGE, re.MULTILINE | re.DOTALL))
    assert len(texts) == 2
    for text in texts.values():
        assert "tprprobe" not in text
        assert len(text.strip().splitlines()) <= 42
    install(folder, "strangers", POINTS, **texts)
    sys.path.insert(0, str(folder))
    plugins.find.cache_clear()
    from tprprobe.cli.commands import load_command
    from tprprobe.cli.probing import probe

    probe.command.read.cache_clear()  # below the options that load a model
    probe.read.cache_clear()
    yield load_command("probe")
    sys.path.remove(str(folder))
    plugins.find.cache_clear()
    probe.command.read.cache_clear()
    probe.read.cache_clear()


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant(tmp_path_factory.mktemp("stores") / "store", 30)


def test_their_parameters_are_options(installed):
    helps = {option.name: option.help for option in installed.params if hasattr(option, "help")}
    assert helps["k"] == "Of sparse: How many neurons it reads. Default: 16."
    assert helps["metric"].startswith("Of rsa: The distance of vectors")


def run(probe, store, out, *options):
    """Runs the command on two sites, beside shuffled labels."""
    words = ["pos", str(store.path), "--sites", FILLER, "--sites", ROLE, "--control", "shuffled"]
    with probe.make_context("probe", [*words, "--out", str(out), *options]) as context:
        probe.invoke(context)


def test_it_is_a_probe_with_controls_a_figure_and_a_page(installed, store, tmp_path):
    out = tmp_path / "run"
    run(installed, store, out, "--probe", "sparse", "--k", "6")
    rows = load_rows(out).set_index(["site", "control", "seed"])["accuracy"]
    assert rows[FILLER, "real", 0] > rows[FILLER, "shuffled", 0] + 0.1
    assert rows[FILLER, "real", 0] > rows[ROLE, "real", 0]
    assert set(load_rows(out)["probe"].dropna()) == {"sparse"}
    probes = load_probes([out])
    assert probe_table(probes).draw().axes
    assert isinstance(show_probes(probes, "pos").data, pd.DataFrame)


def test_a_score_without_predictions_has_an_interval_controls_a_figure_and_a_page(
    installed, store, tmp_path
):
    out = tmp_path / "run"
    run(installed, store, out, "--probe", "rsa", "--metric", "euclidean")
    rows = load_rows(out)
    scores = rows.set_index(["site", "control"])["score"]
    assert scores.between(-1, 1).sum() == 4
    results = load_results(out).select(metric="score", control="").table
    by_hand = results["value"] - [scores[site, "shuffled"] for site in results["site"]]
    assert results["beyond"].to_numpy() == pytest.approx(by_hand.to_numpy())
    assert ((results["low"] < results["value"]) & (results["value"] < results["high"])).all() == (
        results["n_groups"].iloc[0] >= 10
    )
    assert (results["rival"] == "shuffled").all()
    assert results["beyond"].notna().all()
    probes = load_probes([out])
    table = probe_table(probes)
    assert "score" in table.title
    assert table.draw().axes
    assert show_probes(probes, "pos").scene.label == "score"
    assert "score" in summarize_probes(probes, "pos", list(probes["model"].unique())).text


def test_an_option_of_another_probe_is_one_line(installed, store, tmp_path):
    with pytest.raises(Exception, match="metric: no setting of sparse probes, which have k"):
        run(installed, store, tmp_path / "run", "--probe", "sparse", "--metric", "euclidean")
