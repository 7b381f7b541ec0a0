"""Scores of summaries against values by hand and of ROUGE-1.5.5; sheets, votes, facts, baselines."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import torch

from tprpapers.jiang.summary_folders import load_matches, load_summaries, make_sheet
from tprpapers.scoring import (
    baseline_rows,
    compare_scores,
    count_votes,
    mean_scores,
    score_summaries,
)
from tprpapers.scoring.baselines import sentences
from tprpapers.scoring.extractiveness import novelty, words
from tprpapers.scoring.faithfulness import PRINTED, fisher_test
from tprpapers.scoring.meteor import stemmed_meteor
from tprpapers.scoring.ngrams import repetition
from tprpapers.scoring.predictions import summarize_scores, write_summaries
from tprpapers.scoring.rouge import rouge
from tprpapers.scoring.sheets import key_of
from tprprobe.data import load_data
from tprprobe.data.vocabularies.subwords import train_subwords
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.models import build
from tprprobe.models.answers import evaluate, save_evaluation, save_lines, summarize
from tprprobe.statistics import sign_test

# Scores of one text


def test_rouge_is_that_of_rouge_155_of_sentences():
    """Printed by ROUGE-1.5.5 with -n 2 -m, the sentences split as files2rouge splits them."""
    reference = (
        "The professor is Helen Fischer . A nation has exiled a professor in Antarctica . "
        "Cuba exiled Helen Fischer in Antarctica on Monday ."
    )
    prediction = (
        "A nation has exiled a professor in Antarctica . Maria Jordan , a guard , claims that she "
        "did not repair eight factories . Austria voted in Wellington at midnight ."
    )
    scores = rouge(reference, prediction)
    assert scores["rouge1"] == pytest.approx(0.38298, abs=1e-5)
    assert scores["rouge2"] == pytest.approx(0.31111, abs=1e-5)
    assert scores["rougeLsum"] == pytest.approx(0.38298, abs=1e-5)
    turned = rouge("a b c . d e f .", "d e f . a b c .")
    assert (turned["rougeL"], turned["rougeLsum"]) == (0.5, 1.0)
    assert rouge("a b c. d e f.", "d e f. a b c.")["rougeLsum"] == 0.5  # no space: one sentence


def test_meteor_by_hand():
    """α .9, β 3, γ .5: F = PR / (.9 P + .1 R), less .5 (chunks / matches)³."""
    assert stemmed_meteor(words("a b c d"), words("a b c d")) == pytest.approx(1 - 0.5 / 64)
    precision, recall = 3 / 3, 3 / 4
    f = precision * recall / (0.9 * precision + 0.1 * recall)
    score = stemmed_meteor(words("a b c d"), words("a b d"))
    assert score == pytest.approx(f * (1 - 0.5 * (2 / 3) ** 3))
    by_stem = stemmed_meteor(words("They jumped"), words("they jump"))
    assert by_stem == pytest.approx(1 - 0.5 / 8)
    assert stemmed_meteor(words("the film"), words("a movie")) == 0  # synonyms are not known


def test_repetition_and_novelty_by_hand():
    assert repetition("a b c a b c a") == pytest.approx(2 / 5)
    assert repetition("a b c d") == 0
    assert math.isnan(repetition("a b"))
    assert novelty("The cat sat.", "the dog sat", 1) == pytest.approx(1 / 3)
    assert novelty("The cat sat.", "the dog sat", 2) == 1
    assert math.isnan(novelty("The cat sat.", "", 1))


# The generated English


# Means and differences


def test_means_and_differences_are_paired_by_document():
    rng = np.random.default_rng(0)
    hard = rng.random(200)
    scores = pd.DataFrame({"rouge1": hard, "exact_match": hard > 0.4, "repetition": np.nan})
    lower_scores = pd.DataFrame(
        {"rouge1": hard - 0.01, "exact_match": hard > 0.5, "repetition": 0.1}
    )
    means = mean_scores(scores)
    assert means.loc["rouge1", "value"] == pytest.approx(hard.mean())
    assert means.loc["rouge1", "high"] - means.loc["rouge1", "low"] > 0.05
    assert means.loc["repetition", "n"] == 0
    differences = compare_scores(scores, lower_scores)
    assert differences.loc["rouge1", ["value", "low", "high"]].tolist() == pytest.approx([0.01] * 3)
    assert differences.loc["rouge1", "p"] < 0.01
    lacking = pd.concat([scores, pd.DataFrame({"rouge1": [0.5]})], ignore_index=True)
    assert mean_scores(lacking).loc["exact_match"].equals(means.loc["exact_match"])
    wins = int(((hard > 0.4) & (hard <= 0.5)).sum())
    assert differences.loc["exact_match", "p"] == pytest.approx(sign_test(wins, 0))
    with pytest.raises(InputError, match="same documents"):
        compare_scores(scores, lower_scores.iloc[:50])


# Baselines


def test_baselines_are_sentences_of_the_document():
    text = "We study e.g. graphs. A bound is 3.5 times better! It holds.\nAlways"
    expected = ["We study e.g. graphs.", "A bound is 3.5 times better!", "It holds.", "Always"]
    assert sentences(text) == expected
    rows = pd.DataFrame({"source": [text] * 60 + [""], "target": "t"})
    lead, random = (baseline_rows(rows, name) for name in ("lead-1", "random-sentence"))
    assert set(lead["prediction"][:60]) == {expected[0]}
    assert set(random["prediction"][:60]) == set(expected)
    assert random.equals(baseline_rows(rows, "random-sentence"))
    with pytest.raises(InputError, match="lead-1"):
        baseline_rows(rows, "lead-2")


# Evaluations in files, tables of them

SOURCE = "Ford sold a hotel in May. Kim said that Ford sold it to Dell."
TARGETS = [f"Ford sold hotel {i} to Dell in 1999." for i in range(12)]


def evaluation(folder, name, damage, data="corpus"):
    """What `tprprobe eval --out` writes of a model that is wrong in every so-manieth summary."""
    texts = [t.replace("1999", "1998") if i % damage == 0 else t for i, t in enumerate(TARGETS)]
    sources = [f"{i} {SOURCE}" for i in range(12)]
    rows = pd.DataFrame({"source": sources, "target": TARGETS, "prediction": texts})
    rows = rows.join(score_summaries(rows))
    folder = folder / name
    folder.mkdir(parents=True)
    manifest = {"model": name, "data": data, "split": "test", "seed": 0, "decoding": {"beam": 4}}
    save_lines(rows, manifest | summarize_scores(rows), folder, name)
    return folder


@pytest.fixture
def two(tmp_path):
    return evaluation(tmp_path, "tpt-d", 6), evaluation(tmp_path, "t5", 2)


def test_evaluations_are_read_as_they_were_written(two):
    manifest = json.loads((two[0] / "tpt-d.json").read_text())
    assert manifest["decoding"] == {"beam": 4}
    assert manifest["exact_match"] == pytest.approx(10 / 12)
    summaries = load_summaries(two)
    counts = summaries.groupby("model", sort=False).size().to_dict()
    assert counts == dict.fromkeys(("tpt-d", "t5", "lead-1", "random-sentence"), 12)
    tpt_rows = summaries[summaries["model"] == "tpt-d"]
    assert summarize_scores(
        tpt_rows[[*["source", "target", "prediction"], "exact_match", "rouge1"]]
    )["scores"]["rouge1"] == pytest.approx(manifest["scores"]["rouge1"])
    with pytest.raises(InputError, match="no summaries"):
        load_summaries([two[0].parent])


def test_table_2_has_models_baselines_and_paired_differences(two, tmp_path):
    cells = catalogue.make("jiang-table2", summaries=two).cells.set_index("model")
    assert list(cells.index) == ["tpt-d", "t5", "lead-1", "random-sentence", "tpt-d − t5"]
    assert cells.loc["tpt-d", "exact match"].startswith("83.3 [")
    assert cells.loc["tpt-d − t5", "exact match"].startswith("+33.3 [")
    text = catalogue.write_figure("jiang-table2", sources=two, out=tmp_path / "t.md").read_text()
    assert "are not known" in text
    assert catalogue.write_figure("jiang-table2", sources=two, out=tmp_path / "t.png").exists()


# What models write


@pytest.fixture(scope="module")
def model():
    """A tiny random TPT-d that knows sub-words of the generated English."""
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 24, "d_head": 8, "n_roles": 5}
    texts = [report.source for report in load_data("english", "train", n=20)]
    vocabulary = train_subwords(texts, 400, max_source=60, max_target=12)
    model = build({"architecture": "tpt", **sizes, "vocab_size": len(vocabulary)}, seed=0)
    for linear in (module for module in model.modules() if isinstance(module, torch.nn.Linear)):
        linear.weight.data.mul_(3)  # or else it writes the same whatever it reads
    model.vocabulary, model.name = vocabulary, "tpt-d-tiny"
    return model


def test_documents_are_summarized_and_scored(model, tmp_path):
    data = load_data("english", "dev", n=7)
    rows = evaluate(model, data)
    assert rows["source"].tolist() == [report.source for report in data]
    assert rows["target"].tolist() == [report.target for report in data]
    one_by_one = [write_summaries(model, [r.source], [""], model.vocabulary) for r in data]
    assert rows["prediction"].tolist() == [text for (text,) in one_by_one]
    assert len(set(rows["prediction"])) > 1
    assert not rows["faithful"].any()
    path = save_evaluation(rows, model, data, tmp_path, {"beam": 2})
    manifest = json.loads(path.read_text())
    assert manifest | summarize(rows) == manifest
    assert (manifest["n"], manifest["decoding"]) == (7, {"beam": 2})
    assert load_summaries([tmp_path])["model"].iloc[0] == "tpt-d-tiny"
    short = evaluate(model, data, max_length=2, beam=2)["prediction"]
    assert (short.str.len() < rows["prediction"].str.len()).any()


def test_answers_to_questions_take_no_options(make_model, make_data):
    with pytest.raises(InputError, match="beam"):
        evaluate(make_model(), make_data([("1 + 1", "2")]), beam=4)


# Sheets, votes and facts


def fill(path, answer):
    """Every cell filled in by what the answer makes of a row and a question."""
    sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
    for question in sheet.columns[list(sheet.columns).index("B") + 1 :]:
        sheet[question] = [answer(row, question) for _, row in sheet.iterrows()]
    sheet.sample(frac=1, random_state=1).to_csv(path, index=False)
    return path


def better(row, question):
    """The one who has the year right; one item is not judged, one is a tie."""
    return {"1": "", "2": "tie"}.get(row["item"], "A" if "1999" in row["A"] else " b ")


def test_votes_are_counted_for_the_model_that_wrote_the_summary(two, tmp_path):
    path = make_sheet(*two, tmp_path / "sheet.csv", n=4, seed=1)
    sheet, key = path.read_text(), json.loads(key_of(path).read_text())
    assert "tpt-d" not in sheet
    assert "t5" not in sheet
    assert len(set(key["swapped"])) == 2
    fill(path, better)
    votes = count_votes([path]).set_index("criterion")
    assert list(votes.index) == ["grammar", "saliency", "overall"]
    row = votes.loc["overall"]
    assert row[["first", "wins", "losses", "ties", "n"]].tolist() == ["tpt-d", 2, 0, 1, 3]
    assert row["p"] == sign_test(2, 0)
    three = [tmp_path / f"rater{i}.csv" for i in range(3)]
    for i, copy in enumerate(three):
        key_of(copy).write_text(key_of(path).read_text())
        copy.write_text(sheet)
        fill(copy, better if i else lambda row, question: "tie")
    majority = count_votes(three).set_index("criterion").loc["overall"]
    assert (majority["wins"], majority["losses"], majority["n"]) == (2, 0, 4)
    table = catalogue.make("jiang-table3", votes=three).cells
    assert table["votes"].tolist() == ["2 : 0"] * 3


def test_sheets_that_cannot_be_counted_are_refused(two, tmp_path):
    path = make_sheet(*two, tmp_path / "sheet.csv", n=4)
    with pytest.raises(InputError, match="n = 9 of 4"):
        make_sheet(*two, tmp_path / "more.csv", n=9)
    fill(path, lambda row, question: "first")
    with pytest.raises(InputError, match="'first'"):
        count_votes([path])
    key_of(path).unlink()
    with pytest.raises(InputError, match=r"\.key\.json"):
        count_votes([path])


def test_unsupported_facts_that_two_models_wrote(two):
    (counts,) = load_matches(two)
    assert (counts["references"], counts["unsupported"]) == (12, 12)  # 1999 is in no source
    assert (counts["first"], counts["second"]) == (10, 6)
    assert (counts["only_first"], counts["only_second"]) == (4, 0)


def test_facts_that_people_found(two, tmp_path):
    def judge(row, question):
        return {"A": "1999" in row["A"], "B": "1999" in row["B"]}.get(question[-1], True)

    path = make_sheet(*two, tmp_path / "facts.csv", kind="facts", n=12)
    assert "reference" in pd.read_csv(path)
    fill(path, lambda row, question: "yes" if judge(row, question) else "no")
    (counts,) = load_matches([path])
    assert counts["models"] == ("tpt-d", "t5")
    assert (counts["first"], counts["second"]) == (10, 6)
    assert (counts["only_first"], counts["only_second"]) == (4, 0)
    cells = catalogue.make("jiang-unfaithful", matches=[path]).cells
    assert cells["from"].str.startswith("printed").tolist() == [False, True]
    assert cells["have them"].tolist() == ["10 : 6", "21 : 17"]
    n = PRINTED["unsupported"]
    assert f"{fisher_test(21, n, 17, n):.3f}" == cells["p (Fisher)"].iloc[1] == "0.570"
