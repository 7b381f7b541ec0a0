"""Numerators and denominators, decoded from clusters on questions whose truth is known."""

import numpy as np
import pandas as pd
import pytest
from planted.questions import plant_roles

import tprprobe as tp
from tprpapers.worlds.mathematics.polarity import decode_polarity, score_ones
from tprpapers.worlds.mathematics.structure_words import ARITHMETIC
from tprprobe.analyses.naming.fields import describe
from tprprobe.analyses.naming.names import name_clusters, read_gold
from tprprobe.estimators.clusters.predicates import build_lattice
from tprprobe.evaluation.splits import halve_documents


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    return read_gold(plant_roles(tmp_path_factory.mktemp("roles") / "store", "polarity"))


def test_polarity_is_decoded_from_clusters_that_have_it(gold):
    polarity = gold.tokens["polarity"].cat.codes.to_numpy(int) + 1
    literal = gold.tokens["literal"].fillna(False).to_numpy(int)
    net, own = (
        decode_polarity(labels, gold.tokens, gold.questions).set_index(["subset", "predictor"])
        for labels in (polarity[None], literal[None])
    )
    assert (net.xs("clusters", level="predictor")["accuracy"] == 1).all()
    assert own.loc[("discordant", "clusters"), "accuracy"] == 0
    assert own.loc[("all", "clusters"), "accuracy"] == own.loc[("all", "literal"), "accuracy"]
    gain = net.loc[("discordant", "surface")]
    assert gain["gain"] == pytest.approx(1 - gain["accuracy"])
    assert 0 < gain["gain_low"] <= gain["gain"] <= gain["gain_high"]
    assert own.loc[("all", "clusters"), "gain"] == 0


def test_accuracies_are_of_held_out_digits(gold):
    held_out = ~halve_documents(gold.questions, 0)
    digits = gold.tokens[(gold.tokens["kind"] == "digit") & held_out]
    found = decode_polarity(np.zeros((1, len(gold.tokens)), int), gold.tokens, gold.questions)
    found = found.set_index(["subset", "predictor"])
    surface = (digits["surface_polarity"].astype(str) == digits["polarity"].astype(str)).mean()
    assert found.loc[("all", "surface"), "accuracy"] == pytest.approx(surface)
    assert found.loc[("all", "surface"), "n"] == len(digits)
    assert found.loc[("all", "clusters"), "accuracy"] == found.loc[("all", "majority"), "accuracy"]
    answered = digits["discordant"].astype(bool) & digits["correct"]
    assert found.loc[("discordant, answered", "clusters"), "n"] == answered.sum()


def test_without_discordant_digits_there_is_no_number():
    tokens = pd.concat(
        [tp.gold.arithmetic("Calculate 1/2.").assign(sample=i, correct=True) for i in range(4)]
    )
    labels = np.zeros((1, len(tokens)), int)
    found = decode_polarity(labels, tokens, tokens["sample"].to_numpy())
    found = found.set_index(["subset", "predictor"])
    assert found.loc[("discordant", "clusters"), "n"] == 0
    assert np.isnan(found.loc[("discordant", "clusters"), "accuracy"])


def test_the_rule_that_the_claim_writes_is_told_from_wider_ones(gold):
    found = decode_polarity(np.zeros((1, len(gold.tokens)), int), gold.tokens, gold.questions)
    found = found[found["subset"] == "all"].set_index("predictor")
    digits = gold.tokens[(gold.tokens["kind"] == "digit") & ~halve_documents(gold.questions, 0)]
    denominators = digits["polarity"] == "denominator"
    for rule, behind in (
        ("adjacent", ["/"]),
        ("surface", ["/", "/(-"]),
        ("distant", ["/", "/(-", "/…"]),
    ):
        accuracy = (digits["behind"].isin(behind) == denominators).mean()
        assert found.loc[rule, "accuracy"] == pytest.approx(accuracy)
    assert found.loc["adjacent", "accuracy"] < found.loc["surface", "accuracy"]


def test_what_runs_of_kmeans_differ_by_is_in_the_interval(gold):
    polarity = gold.tokens["polarity"].cat.codes.to_numpy(int) + 1
    runs = np.stack([polarity, np.zeros_like(polarity)])
    one, both = (
        decode_polarity(labels, gold.tokens, gold.questions).iloc[0] for labels in (runs[:1], runs)
    )
    worst = decode_polarity(runs[1:], gold.tokens, gold.questions).iloc[0]
    assert one["accuracy_low"] == one["accuracy_high"] == 1
    assert both["accuracy"] == pytest.approx((1 + worst["accuracy"]) / 2)
    assert both["accuracy_low"] < worst["accuracy"]
    assert both["accuracy_high"] == 1


def test_ones_digits_are_counted_whatever_a_cluster_is_named(gold):
    """A cluster of ones digits of numerators whose shortest name is only `digit ∧ numerator`."""
    numerator = (gold.tokens["polarity"] == "numerator").to_numpy(bool)
    ones = (gold.tokens["place"] == 0).fillna(False).to_numpy(bool)
    labels = np.where(ones & numerator, 1, 0)
    kept = ~numerator | ones  # no other digit of a numerator: the place says nothing more
    tokens, questions = gold.tokens[kept], gold.questions[kept]
    lattice = build_lattice(describe(tokens, ARITHMETIC))
    assert "ones" not in name_clusters(labels[kept], lattice, questions)["name"][1]
    found = score_ones(labels[None, kept], tokens, questions).set_index("polarity")
    assert found.loc["numerator", "precision"] == 1
    assert found.loc["denominator", "precision"] < 0.5
