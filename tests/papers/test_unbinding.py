"""Planted clusters of unbinding vectors are read for what they are, and controls for what they are."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from planted.captions import plant_captions
from planted.cli import run_command
from planted.questions import ROLE, plant

from tprpapers.huang import figures as huang
from tprpapers.huang.unbinding import (
    find_clusters,
    interpret,
    load_fitted_clusters,
    measure_conformity,
    partition_space,
    read_words,
    summarize_subjects,
)
from tprpapers.huang.unbinding.categories import categorize
from tprpapers.huang.unbinding.conformity import TOTAL
from tprpapers.huang.unbinding.regions import CONTROLS, MEASURES, READINGS, SPLITS
from tprpapers.huang.unbinding.ten_clusters import (
    dominant_kind,
    find_position,
    hybrid_roles,
    labels_of,
)
from tprpapers.huang.unbinding_tables import regions_table
from tprpapers.verdicts import judge_cases
from tprprobe.errors import InputError
from tprprobe.statistics import Interval

GROUPS = 6  # that are planted

EVEN = {"": Interval(0.6, 0.55, 0.65)}  # above what the claims ask for


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return read_words(plant_captions(tmp_path_factory.mktemp("captions") / "store"))


@pytest.fixture(scope="module")
def labels(words):
    return labels_of(words, find_clusters(words, [GROUPS], n_seeds=2)[GROUPS])


def by_side(words, wrong=0.0):
    """Two clusters that are the two sides, but for a share of the words; first words alternate."""
    rng = np.random.default_rng(1)
    side = (words.table["side"] != "nominal").to_numpy()
    is_initial = (words.table["position"] == 1).to_numpy()
    return np.where(
        is_initial | (rng.random(len(side)) < wrong), rng.integers(2, size=len(side)), side
    )


def test_a_word_is_the_token_after_the_row_that_unbound_it(words):
    tokens = words.store.tokens_of(words.site)
    table = words.table
    after = tokens.iloc[table["row"] + 1]
    assert (after["token"].astype(str).to_numpy() == table["word"]).all()
    assert (after["sample"].to_numpy() == table["sample"]).all()
    assert (after["position"].to_numpy() == table["position"]).all()
    before = tokens.iloc[table["row"]]
    assert (before["token"].astype(str).to_numpy() == table["previous"]).all()
    assert set(table.loc[table["position"] == 1, "previous_pos"]) == {"start"}
    assert words.untagged == 0
    assert len(table) == (tokens["position"] > 0).sum()


def test_images_are_halved_not_words(words):
    assert words.table.groupby("group")["learned"].nunique().eq(1).all()
    assert words.table.groupby("group")["learned"].first().mean() == 0.5


def test_articles_go_by_their_form_and_prepositions_by_where_they_point():
    words = ["A", "the", "some", "on", "of", "and", "man", ".", "two"]
    tags = ["DT", "DT", "DT", "IN", "IN", "CC", "NN", ".", "CD"]
    categories = categorize(np.array(words), np.array(tags))
    articles, bound = ["indefinite article", "definite article", ""], "preposition or conjunction"
    assert list(categories["category"]) == [*articles, *[bound] * 3, "noun", "", ""]
    kinds = "determiner determiner determiner preposition preposition other noun period other"
    assert " ".join(categories["kind"]) == kinds
    assert list(categories["spatial"]) == ["", "", "", "spatial", "other", "", "", "", ""]


def test_two_sides_conform_and_random_clusters_do_not(words):
    exact = measure_conformity(words, by_side(words)).set_index("category")
    assert 0.9 < exact.loc[TOTAL, "low"] < exact.loc[TOTAL, "share"] == 1  # exact at the border
    assert exact["n"].drop(TOTAL).sum() == exact.loc[TOTAL, "n"]
    noisy = measure_conformity(words, by_side(words, wrong=0.4)).set_index("category")
    assert noisy.loc[TOTAL, "low"] < 0.8 < noisy.loc[TOTAL, "high"]
    rng = np.random.default_rng(0)
    nothing = measure_conformity(words, rng.integers(2, size=len(words.table)))
    assert nothing.set_index("category").loc[TOTAL, "share"] == pytest.approx(0.5, abs=0.15)


def test_clusters_are_named_and_told_as_what_was_planted(words, labels):
    interpretation = interpret(words, labels)
    names = dict(zip(interpretation["cluster"], interpretation["name"], strict=True))
    assert {"position 1", "position 2", "DT", "verb"} <= {*names.values()}
    texts = dict(zip(interpretation["name"], interpretation["told"], strict=True))
    assert texts["position 1"] == "position 1 (1.00)"
    assert texts["verb"] == "verb (1.00)"


def test_clusters_of_positions_are_found(words, labels):
    for position in (1, 2):
        assert find_position(words, labels, position).low == 1
    assert find_position(words, labels, 3).high < 0.9
    shuffled = np.random.default_rng(0).permutation(labels)
    assert find_position(words, shuffled, 1).high < 0.5


def test_kinds_dominate_planted_clusters_beyond_the_word_before(words, labels):
    shares = dominant_kind(words, labels)
    assert shares["clusters"].value > shares["previous"].value
    assert shares["difference"].low > 0
    gain = shares["clusters"].value - shares["previous"].value
    assert shares["difference"].value == pytest.approx(gain)
    shuffled = dominant_kind(words, np.random.default_rng(0).permutation(labels))
    assert shuffled["difference"].high < 0


def test_hybrid_roles_are_beyond_chance_only_where_they_are(words, labels):
    information = hybrid_roles(words, labels)
    assert information["position"].value == pytest.approx(1)
    assert information["pos"].low > 0.3
    nothing = hybrid_roles(words, np.random.default_rng(0).integers(GROUPS, size=len(labels)))
    assert all(interval.low < 0.05 for interval in nothing.values())
    assert all(abs(interval.value) < 0.08 for interval in nothing.values())


@pytest.fixture(scope="module")
def regions(words):
    return partition_space(words)


def test_planted_regions_are_purer_than_permuted_ones_and_the_twins(regions):
    table = regions.table().set_index(["reading", "vectors", "split"])
    for split in ("in sample", "held out"):
        pure = table.loc[("k-means", "u", split), "macro_low"]
        assert pure > table.loc[("k-means", "u, tags permuted", split), "macro_high"]
        assert pure > table.loc[("k-means", "u of the untrained twin", split), "macro_high"]


def test_a_gain_names_its_reading_and_how_many_readings_agree(regions):
    rows = regions.table().set_index(["reading", "split", "vectors"]).sort_index()
    purity = rows.loc["k-means", "held out"]["micro"]
    [(name, gain)] = regions.gain("k-means", "held out", "micro").items()
    control = name.removeprefix("k-means, held out, over words, against ")
    assert purity[control] == purity[CONTROLS].max()
    assert gain.value == pytest.approx(purity["u"] - purity[control])
    numbers = [rows.loc[key][mean] for key in product(READINGS, SPLITS) for mean in MEASURES]
    n_above = sum(number["u"] > number[CONTROLS].max() for number in numbers)
    assert f" in {n_above} of its 12 numbers." in regions_table(regions, "", []).caption


def test_centers_of_another_store_count_its_words(words, tmp_path):
    other_store = plant_captions(tmp_path / "other", 90, noise=0.3)
    folder, out = tmp_path / "two", tmp_path / "table.md"
    options = ["--site", "word.unbinding", "--k", 2, "--raw", "--out", folder]
    run_command("cluster", other_store.path, *options)
    expected = find_clusters(words, [2], learned_on=other_store)[2]
    loaded = load_fitted_clusters(words, folder, 2)
    assert loaded.labels.tolist() == expected.labels.tolist()
    vectors = words.store.read(words.site, slice(None))
    distances = ((vectors[:, None] - expected.centers[None]) ** 2).sum(-1)
    assert loaded.labels.tolist() == distances.argmin(1).tolist()
    options = ["--store", words.store.path, "--clusters", folder, "--out", out]
    run_command("figure", "huang-table2", *options)
    n = len(other_store.tokens_of(words.site))
    assert f"Centers: k-means of {n:,} vectors of other captions" in out.read_text()
    with pytest.raises(InputError, match=r"has no 10 clusters of raw word\.unbinding"):
        load_fitted_clusters(words, folder, 10)


def test_subjects_are_told_beyond_place_only_where_vectors_tell_them(words, tmp_path):
    plain = summarize_subjects(words).set_index("vectors")
    assert plain.loc["position", "auc"] > 0.8  # subjects come first
    assert plain.loc["position", "matched_low"] < 0.5 < plain.loc["position", "matched_high"]
    assert plain.loc["u", "matched_low"] < 0.5
    marked = read_words(plant_captions(tmp_path / "marked", subjects=1.0))
    summary = summarize_subjects(marked).set_index("vectors")
    assert summary.loc["u", "matched_low"] > 0.8
    assert summary.loc["u, tags permuted", "matched_low"] < 0.6


def test_what_holds_whatever_the_model_does_is_not_decided(words, labels):
    by_caption = words.table["sample"].to_numpy() % 2  # clusters that tell captions apart
    for two, decided in ((by_caption, False), (by_side(words), True)):
        void = huang.explain_void_two(words, two)
        (verdict,) = judge_cases({"huang-initial-word": EVEN}, "document", 100, void)
        assert (verdict.outcome == "not decidable here") != decided
        assert ("100.0% of captions lie in one cluster" in verdict.reason) != decided
    column = words.table["spatial"]
    all_spatial = column.where(column == "", "spatial").to_numpy().copy()
    for n_other, decided in ((0, False), (len(all_spatial), True)):
        rows = np.flatnonzero(all_spatial == "spatial")[:n_other:2]
        spatial = all_spatial.copy()
        spatial[rows] = "other"
        void = huang.explain_void_ten(replace(words, table=words.table.assign(spatial=spatial)))
        (verdict,) = judge_cases({"huang-spatial-prepositions": EVEN}, "document", 100, void)
        assert (verdict.outcome == "not decidable here") != decided
        assert ("100.0% of the prepositions are spatial" in verdict.reason) != decided


def test_what_cannot_be_read_is_told(tmp_path):
    with pytest.raises(InputError, match="give --tagger"):
        read_words(plant_captions(tmp_path / "plain", 6, tagged=False))
    words = read_words(plant_captions(tmp_path / "some", 8))
    with pytest.raises(InputError, match="of both are needed"):
        summarize_subjects(words)
    with pytest.raises(InputError, match="give 4 or more"):
        read_words(plant_captions(tmp_path / "few", 3))
    with pytest.raises(InputError, match="holds source tokens"):
        read_words(plant(tmp_path / "questions", 4), ROLE)
