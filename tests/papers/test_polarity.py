"""Numerators and denominators, decoded from clusters on questions whose truth is known."""

import numpy as np
import pytest
from planted.questions import plant_roles

from tprpapers.worlds.mathematics.polarity import decode_polarity, score_ones
from tprpapers.worlds.mathematics.structure_words import ARITHMETIC
from tprprobe.analyses.naming.fields import describe
from tprprobe.analyses.naming.names import name_clusters, read_gold
from tprprobe.estimators.clusters.names import build_lattice
from tprprobe.evaluation.splits import halve_documents


@pytest.fixture(scope="module")
def gold(tmp_path_factory):
    return read_gold(plant_roles(tmp_path_factory.mktemp("roles") / "store", "polarity"))


def test_polarity_is_decoded_from_clusters_that_have_it(gold):
    polarity = gold.tokens["polarity"].cat.codes.to_numpy(int) + 1
    literal = gold.tokens["literal"].fillna(False).to_numpy(int)
    by_net, by_literal = (
        decode_polarity(labels, gold.tokens, gold.questions).set_index(["subset", "predictor"])
        for labels in (polarity[None], literal[None])
    )
    assert (by_net.xs("clusters", level="predictor")["accuracy"] == 1).all()
    assert by_literal.loc[("discordant", "clusters"), "accuracy"] == 0
    accuracy = by_literal["accuracy"]
    assert accuracy["all", "clusters"] == accuracy["all", "literal"]
    gain = by_net.loc[("discordant", "surface")]
    assert gain["gain"] == pytest.approx(1 - gain["accuracy"])
    assert 0 < gain["gain_low"] <= gain["gain"] <= gain["gain_high"]
    assert by_literal.loc[("all", "clusters"), "gain"] == 0


def test_accuracies_are_of_held_out_digits(gold):
    held_out = ~halve_documents(gold.questions, 0)
    digits = gold.tokens[(gold.tokens["kind"] == "digit") & held_out]
    accuracies = decode_polarity(np.zeros((1, len(gold.tokens)), int), gold.tokens, gold.questions)
    accuracies = accuracies.set_index(["subset", "predictor"])
    surface = (digits["surface_polarity"].astype(str) == digits["polarity"].astype(str)).mean()
    assert accuracies.loc[("all", "surface"), "accuracy"] == pytest.approx(surface)
    assert accuracies.loc[("all", "surface"), "n"] == len(digits)
    accuracy = accuracies["accuracy"]
    assert accuracy["all", "clusters"] == accuracy["all", "majority"]
    answered = digits["discordant"].astype(bool) & digits["correct"]
    assert accuracies.loc[("discordant, answered", "clusters"), "n"] == answered.sum()


def test_ones_digits_are_counted_whatever_a_cluster_is_named(gold):
    """A cluster of ones digits of numerators whose shortest name is only `digit ∧ numerator`."""
    numerator = (gold.tokens["polarity"] == "numerator").to_numpy(bool)
    ones = (gold.tokens["place"] == 0).fillna(False).to_numpy(bool)
    labels = np.where(ones & numerator, 1, 0)
    is_included = ~numerator | ones  # no other digit of a numerator: the place says nothing more
    tokens, questions = gold.tokens[is_included], gold.questions[is_included]
    lattice = build_lattice(describe(tokens, ARITHMETIC))
    assert "ones" not in name_clusters(labels[is_included], lattice, questions)["name"][1]
    precision = score_ones(labels[None, is_included], tokens, questions).set_index("polarity")
    assert precision.loc["numerator", "precision"] == 1
    assert precision.loc["denominator", "precision"] < 0.5
