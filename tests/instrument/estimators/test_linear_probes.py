"""Linear probes against scikit-learn, and what the other probes reach beside them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from planted.cli import run_command
from planted.sentences import ENCODER, FILLER, plant
from planted.stores import number_tokens, write_store
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from tprprobe.analyses.probing import ProbeSettings, Schedule, load_probe, probe, read_task
from tprprobe.analyses.probing.examples import split_examples
from tprprobe.analyses.probing.features import site_vectors
from tprprobe.analyses.probing.labelled_words import read_corpus
from tprprobe.analyses.probing.rows import describe_basis, rank_layers, screen
from tprprobe.analyses.probing.stored_states import RowReader
from tprprobe.analyses.probing.trials import Trial, run_trials
from tprprobe.errors import InputError
from tprprobe.estimators.probes import linear
from tprprobe.estimators.probes.linear import PENALTIES, LinearProbe, Regressions
from tprprobe.figures.probes import probe_table
from tprprobe.store import Store

SITE, DOCUMENTS, LENGTH, WIDTH, TAGS = "encoder.0.hidden", 100, 40, 8, 6
PLAIN: dict[str, Any] = {"controls": (), "information": False}
END = 1e-5  # of the loss, at which a solver has ended
SHORT = Schedule(learning_rate=1e-3, batch=32, limit=20)  # twenty epochs, a hundred steps


def draw_problem(seed: int, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors and one-hot labels that an affine map of them tells, but for noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 10)) * np.geomspace(1, 0.1, 10)
    y = (x @ rng.normal(size=(10, 4)) + rng.gumbel(size=(n, 4)) / 2).argmax(1)
    return torch.from_numpy(x).float(), torch.eye(4)[y]


def documents(words: Sequence[str]) -> pd.DataFrame:
    """The tokens of documents of one length."""
    return number_tokens(np.array(words).reshape(DOCUMENTS, LENGTH).tolist())


@pytest.fixture(scope="module")
def separable(tmp_path_factory) -> Store:
    """A store whose tags are the largest of affine functions of vectors, most of them small."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(DOCUMENTS * LENGTH, WIDTH)) @ rng.normal(size=(WIDTH, WIDTH))
    tags = (vectors @ rng.normal(size=(WIDTH, TAGS))).argmax(1)
    tokens = documents([f"w{i % 97}" for i in range(len(tags))])
    tokens["pos"] = [f"T{tag}" for tag in tags]
    path = tmp_path_factory.mktemp("separable") / "store"
    return write_store(path, {SITE: vectors.astype(np.float32)}, tokens)


def real(rows: pd.DataFrame) -> pd.Series:
    return rows.loc[rows["control"] == "real"].iloc[0]


def test_the_optimum_is_scikit_learns():
    x, shares = draw_problem(0, 600)
    for penalty in (1e-1, 1e-3):
        reference = LogisticRegression(C=1 / (penalty * len(x)), tol=1e-8, max_iter=5000)
        reference.fit(x.numpy(), shares.argmax(1).numpy())
        log_probabilities = torch.from_numpy(reference.predict_log_proba(x.numpy()))
        min_loss = (
            -(shares * log_probabilities).sum(1).mean() + penalty / 2 * (reference.coef_**2).sum()
        )
        (weights,) = Regressions(x, shares[None]).solve(torch.tensor([penalty]), gain=END)
        logs = (x @ weights[:-1] + weights[-1]).log_softmax(-1)
        loss = -(shares * logs).sum(1).mean() + penalty / 2 * (weights[:-1] ** 2).sum()
        assert float(loss) == pytest.approx(float(min_loss), abs=1e-4)
        torch.testing.assert_close(logs.exp(), log_probabilities.exp().float(), atol=0.01, rtol=0)


def test_problems_together_are_the_problems_one_by_one():
    x, shares = draw_problem(1, 300)
    targets = torch.stack(
        [shares, shares[torch.randperm(300)], shares * (torch.arange(300) < 200)[:, None]]
    )
    penalty = torch.tensor([1e-3, 1e-2, 1e-2])
    together = Regressions(x, targets).solve(penalty, gain=END)
    for i in range(3):
        (single,) = Regressions(x, targets[i : i + 1]).solve(penalty[i : i + 1], gain=END)
        torch.testing.assert_close(together[i], single, atol=0.02, rtol=0.02)
    (fewer,) = Regressions(x[:200], shares[None, :200]).solve(penalty[2:], gain=END)
    labels = [(x @ weights[:-1] + weights[-1]).argmax(-1) for weights in (together[2], fewer)]
    assert (labels[0] == labels[1]).float().mean() > 0.99


def test_probes_are_trained_to_their_end(separable):
    """A linear probe is scikit-learn's; twenty epochs of so few documents stop far short of it."""
    n = 0.72 * DOCUMENTS * LENGTH
    fits = [make_pipeline(StandardScaler(), LogisticRegression(C=1 / (c * n))) for c in PENALTIES]
    optimum = max(real(probe(separable, "pos", fit, most=0, **PLAIN))["accuracy"] for fit in fits)
    linear = real(probe(separable, "pos", estimator="linear", most=0, **PLAIN))
    trained = real(probe(separable, "pos", estimator="span-conv", **PLAIN))
    short = real(probe(separable, "pos", schedule=SHORT, **PLAIN))
    assert abs(linear["accuracy"] - optimum) <= 0.005
    assert short["accuracy"] < optimum - 0.05
    assert short["validations"] == SHORT.limit
    assert trained["validations"] < Schedule().limit
    assert trained["f1"] > short["f1"] + 0.1
    assert trained["accuracy"] > short["accuracy"] + 0.03


def test_curves_are_kept_and_both_kinds_stand_in_one_table(tmp_path):
    store = plant(tmp_path / "store", 60)
    quick = Schedule(limit=3)
    kinds: list[tuple[str, dict[str, Any]]] = [("span-conv", {"schedule": quick}), ("linear", {})]
    tables = [
        probe(store, "nel", sites=FILLER, out=tmp_path / kind, estimator=kind, **options)
        for kind, options in kinds
    ]
    joined = pd.concat(tables)
    assert {*joined["probe"].dropna()} == {"span-conv", "linear"}
    assert {*tables[0]["control"]} == {*tables[1]["control"]}
    counts = [table.set_index(["site", "control"])["n_test"] for table in tables]
    assert (counts[1] > 3 * counts[0]).all()  # every document in turn, not a fifth of them
    for kind, rows in zip(("span-conv", "linear"), tables, strict=True):
        curves = pd.read_parquet(tmp_path / kind / "curves.parquet")
        final_curves = curves[curves["portion"].isna()]
        sizes = final_curves.groupby(["site", "control"]).size()
        expected = rows.dropna(subset=["validations"]).set_index(["site", "control"])["validations"]
        pd.testing.assert_series_equal(sizes, expected.sort_index().astype(int), check_names=False)
        real_curve = final_curves[final_curves["control"] == "real"]
        assert (np.diff(real_curve["step"]) > 0).all()
        assert real_curve["train_loss"].iloc[-1] < real_curve["train_loss"].iloc[0]
    resumed = probe(
        store, "nel", sites=FILLER, out=tmp_path / "linear", estimator="linear", resume=True
    )
    pd.testing.assert_frame_equal(resumed, tables[1])


def test_a_linear_probe_has_one_optimum(separable):
    refused: list[dict[str, Any]] = [{"seeds": 2}, {"loss": "sigmoid"}, {"schedule": "tenney"}]
    for settings in refused:
        with pytest.raises(InputError, match=f"{next(iter(settings))}: .*leave it out"):
            probe(separable, "pos", estimator="linear", **settings)


def test_a_dimension_that_a_small_portion_hardly_varies_in_costs_no_bits(tmp_path, monkeypatch):
    """Discrete roles do so: next to nothing in a few texts, all of it in another."""
    rng = np.random.default_rng(0)
    n = DOCUMENTS * LENGTH
    vectors = 1e-4 * rng.normal(size=(n, WIDTH)) + (rng.random((n, WIDTH)) < 0.005)
    tokens = documents([f"w{i // LENGTH}" for i in range(n)])
    tokens["pos"] = [f"T{t}" for t in rng.integers(3, size=n)]
    store = write_store(tmp_path / "store", {SITE: vectors.astype(np.float32)}, tokens)
    compressions = []
    for min_deviation in (0.0, linear.MIN_DEVIATION):
        monkeypatch.setattr(linear, "MIN_DEVIATION", min_deviation)
        settings: dict[str, Any] = {"controls": (), "information": True, "most": 0}
        rows = probe(store, "pos", estimator="linear", **settings)
        compressions.append(rows.set_index("control").loc["real", "compression"])
    assert compressions[0] < 0.5 < 0.8 < compressions[1]


def test_words_without_labels_are_predicted(tmp_path):
    store = plant(tmp_path / "store", 60, control=False)
    probe(store, ["pos", "dep"], sites=ENCODER, estimator="linear", out=tmp_path / "run", **PLAIN)
    tagger = load_probe(tmp_path / "run" / "probes" / f"pos.{ENCODER}.seed0")
    labelled = tagger.predict(store)
    bare = tagger.predict(store, store.tokens.drop(columns=["pos", "dep"]))
    assert list(bare["predicted"]) == list(labelled["predicted"])
    assert set(bare["label"]) == {""}
    words = ["predict", tmp_path / "run" / "probes" / f"pos.{ENCODER}.seed0", store.path]
    rows = json.loads(run_command(*words, "--json").stdout)
    assert [row["predicted"] for row in rows] == list(labelled["predicted"])
    table = tmp_path / "predicted.csv"
    run_command(*words, "--out", table)
    assert list(pd.read_csv(table)["predicted"]) == list(labelled["predicted"])
    with pytest.raises(InputError, match=r"a file that ends in \.csv"):
        run_command(*words, "--out", "predicted.xls")
    parser = load_probe(tmp_path / "run" / "probes" / f"dep.{ENCODER}.seed0")
    with pytest.raises(InputError, match="what pairs of spans"):
        parser.predict(store, store.tokens.drop(columns="dep"))


def test_the_screen_says_what_is_beyond_its_controls(separable):
    rows = probe(separable, "pos", controls=("control",), most=500)
    row = real(rows)
    assert row["beats_controls"]
    assert row["best_control"] in ("control", "majority", "identity")
    control_rows = rows[rows["control"] != "real"]
    assert row["best_control_f1"] == pytest.approx(control_rows["f1"].max())
    assert row["n_train"] <= 500
    screened = screen(rows)
    assert list(screened["vector"]) == ["encoder.hidden"]
    assert list(screened[""]) == ["*"]
    noise = separable.tokens.assign(
        pos=np.random.default_rng(0).permutation(separable.tokens["pos"])
    )
    unread = probe(separable, "pos", tokens=noise, controls=(), most=500)
    assert not real(unread)["beats_controls"]


def test_layers_that_the_best_is_not_distinguished_from_are_named():
    behind, p = [0.02, 0.0, 0.005, 0.03], [0.01, np.nan, 0.6, 0.0]
    rows = pd.DataFrame({"task": "pos", "probe": "linear", "side": "source", "site": "encoder.hidden",
                         "layer": range(4), "head": None, "seed": 0, "control": "real", "f1": 0.9, "accuracy": 0.9,
                         "f1_low": 0.8, "f1_high": 0.95, "best_control": None, "best_control_f1": None, "beats_controls": None,
                         "n_train": 8191, "behind_best": behind, "behind_best_low": 0.0, "behind_best_high": 0.04, "p_behind": p})  # fmt: skip
    filler = rows[2:].assign(site="encoder.self.filler", behind_best=[0.0, 0.1], p_behind=0.2)
    joined = pd.concat([rows, filler])
    assert [*screen(joined)["behind best"]] == [
        *("2.0 [0.0, 4.0]", "best", "≈ 0.5 [0.0, 4.0]", "3.0 [0.0, 4.0]"),
        *("best", "≈ 10.0 [0.0, 4.0]"),
    ]
    assert rank_layers(joined) == {
        "pos, encoder.hidden": "layer 1 is best; layer 2 is not distinguished from layer 1",
        "pos, encoder.self.filler": "layer 2 is best; the other layer read is not distinguished from layer 2",
    }
    sure = rows.assign(p_behind=0.01)
    assert [*rank_layers(sure).values()] == ["layer 1 is best; the 3 other layers read are worse"]
    tied = rows.assign(behind_best=[0.0, 0.02, 0.0, 0.03], p_behind=[np.nan, 0.6, np.nan, 0.0])
    assert [*rank_layers(tied).values()] == [
        "layers 0 and 2 are best (a tie); layer 1 is not distinguished from them"
    ]
    assert "behind best" not in screen(rows[1:2])
    assert rank_layers(rows.drop(columns="behind_best")) == {}  # of version 0.4 and before


def test_documents_and_targets_are_those_of_a_task_and_a_model():
    counts = {"documents": [400, 124, 150], "n_train": [1750, 138, 684], "n_test": 90}
    rows = pd.DataFrame({"task": ["rel", "nel", "rel"], "model": ["a", "a", "b"], "site": "encoder.0.hidden",
                         "control": "real", "f1": 0.9, "f1_low": 0.8, "f1_high": 0.95, **counts})  # fmt: skip
    rules = rows.assign(control="identity", f1=[0.7, 0.6, 0.5])
    basis = describe_basis(rows[:2])
    assert "rests on 400 (rel), 124 (nel) documents" in basis
    assert "rests on 400 documents\n" in describe_basis(rows[:1])
    few = describe_basis(rows[:1].assign(documents=9))
    assert "rests on 9 documents (no interval of fewer than 10)" in few
    table = probe_table(pd.concat([rows, rules], ignore_index=True))
    assert "over 400 (rel, a), 124 (NEL), 150 (rel, b) documents" in table.caption
    learned = (
        "90 targets tested, 684 in the first training set, most frequent label of the word 50.0"
    )
    assert f"rel (source, b): {learned}." in table.caption
    assert "different numbers of targets cannot be compared" in table.caption
    scene = table.lines.choose("NEL")
    assert scene.note == (
        "Shaded: 95 % intervals over 124 documents. The F1 is not tested against controls. "
        "Targets in the first training set: 138 (NEL)."
    )


def test_input_embeddings_are_a_control(tmp_path):
    """Half of the tags are the word's, the others its context's: the state knows both, the embedding one."""
    rng, words = np.random.default_rng(0), 12
    word, context = rng.integers(words, size=(2, DOCUMENTS * LENGTH))
    tags = np.where(word % 2, word, words + context % 3)
    embedded = np.eye(words, dtype=np.float32)[word]
    values = {
        "layers.0.self.input": embedded,
        "layers.0.hidden": np.hstack([embedded, np.eye(words)[context]]).astype(np.float32),
    }
    tokens = documents([f"w{i}" for i in word]).assign(pos=[f"T{tag}" for tag in tags])
    store = write_store(tmp_path / "store", values, tokens)
    rows = probe(store, "pos", sites=["*.self.input", "*.hidden"], most=1000, controls="static")
    by_control = rows.set_index(["site", "control"])["f1"]
    assert by_control["layers.0.self.input", "static"] == by_control["layers.0.self.input", "real"]
    hidden = rows[(rows["site"] == "layers.0.hidden") & (rows["control"] == "real")].iloc[0]
    assert hidden["f1"] > 0.95 > 0.8 > by_control["layers.0.self.input", "static"]
    assert hidden["beyond"]
    assert hidden["best_control"] in ("static", "identity")
    [embedding] = rows[(rows["site"] == "layers.0.self.input") & (rows["control"] == "real")].index
    assert rows.loc[embedding, "best_control"] == "identity"  # not itself
    table = probe_table(rows.assign(model="planted"))
    assert [*table.cells["side"]] == ["layers", "layers self"]
    assert f"{hidden['n_train']:,} in the first training set" in table.caption
    assert table.cells["strongest control"].str.contains("input embeddings|identity").all()
    titles = [axes.get_title(loc="left") for axes in table.draw().axes]
    assert titles == ["POS, layers", "POS, layers self"]
    assert f"in the first training set: {hidden['n_train']:,} (POS)" in table.scene.note
    assert screen(rows)["learned from"].tolist() == [f"{hidden['n_train']:,}"] * 2
    without = probe(store, "pos", sites="*.hidden", most=1000, controls="static")
    assert {*without["control"]} == {"real", "static", "majority", "identity"}
    others = tokens.assign(token=tokens["token"] + "!", document=tokens["sample"].map("d{}".format))
    test = write_store(tmp_path / "test", {"layers.0.hidden": values["layers.0.hidden"]}, others)
    elsewhere = probe(store, "pos", sites="*.hidden", most=1000, test=test)
    assert "static" not in {*elsewhere["control"]}


def test_a_penalty_at_the_border_of_the_grid_is_told(separable, capsys):
    tokens = separable.tokens
    rng = np.random.default_rng(1)
    probe(separable, "pos", controls="shuffled", most=1000)
    assert (
        "strongest penalty" not in capsys.readouterr().err
    )  # that of shuffled labels is none of it
    probe(separable, "pos", tokens=tokens.assign(pos=rng.permutation(tokens["pos"])), **PLAIN)
    messages = " ".join(capsys.readouterr().err.split())
    assert (
        "pos: 1 of 1 probes chose the strongest penalty of the grid (0.1): a stronger" in messages
    )


def test_a_turn_without_dev_documents_is_fitted(separable):
    """As of a twin that has read the first samples only: the penalty is that of the first turn."""
    task, settings = read_task("pos"), ProbeSettings.of(most=500)
    corpus = read_corpus(separable, separable.tokens, "source", [task], 0)
    splits = split_examples(task, corpus, None, settings).learning_from(500, 0)
    full_fold, second, *_ = splits.folds
    bare = second._replace(dev=second.dev[:0])
    (source,) = site_vectors(separable, [SITE], heads=False)
    reader = RowReader(source, torch.device("cpu"), 2**20)
    shortened = replace(splits, folds=(full_fold, bare))
    (trained,) = run_trials([Trial(source, shortened, LinearProbe(), 0, "real")], reader, settings)
    _, _, _, right, n, nats = trained.counts.sums[0].sum(0)
    assert n == len(full_fold.test) + len(bare.test)
    assert right / n > 0.8
    assert np.isfinite(nats)


def test_a_probe_tested_on_another_store_learns_from_all_other_documents(
    separable, tmp_path, monkeypatch
):
    """One text is in both stores."""
    monkeypatch.setattr(linear, "PENALTIES", (1e-2,))
    vectors, tokens = separable.read(SITE, slice(None)), separable.tokens
    shared = tokens["sample"].isin([0, 97]).to_numpy()  # of the same words
    others = tokens.assign(document=tokens["sample"].map("d{}".format))
    others["token"] = others["token"].astype(str) + np.where(shared, "", "!")
    test = write_store(tmp_path / "test", {SITE: vectors}, others)
    rows = probe(separable, "pos", test=test, most=0, out=tmp_path / "run", **PLAIN)
    assert real(rows)["n_train"] == len(tokens) - shared.sum()
    saved = load_probe(tmp_path / "run" / "probes" / f"pos.{SITE}.seed0")
    x, y = vectors[~shared], tokens["pos"][~shared]
    reference = make_pipeline(StandardScaler(), LogisticRegression(C=100 / len(x))).fit(x, y)
    shares = saved.estimator.logits(torch.from_numpy(vectors)).softmax(1).numpy()
    assert np.abs(shares - reference.predict_proba(vectors)).mean() < 0.002
    trained = real(probe(separable, "pos", test=test, schedule=Schedule(limit=1), **PLAIN))
    assert 0.85 < trained["n_train"] / len(x) < 0.95  # the others say when to stop


def test_the_linear_probe_is_a_classifier_of_scikit_learn():
    results = check_estimator(LinearProbe(), on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in results if result["status"] == "failed"}
    assert failed == set()
    assert len(results) > 40


def test_the_penalty_of_the_least_held_out_loss_is_chosen():
    """Random labels get the strongest penalty, labels that the vectors determine a weak one."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(300, 20))
    assert LinearProbe().fit(X, rng.integers(3, size=300)).penalty_ == pytest.approx(PENALTIES[0])
    determined = LinearProbe().fit(X, X[:, :3].argmax(1))
    assert determined.penalty_ < 1e-2
    losses = [loss for _, _, loss in determined.curve_]
    assert determined.penalty_ == pytest.approx(PENALTIES[int(np.argmin(losses))])
