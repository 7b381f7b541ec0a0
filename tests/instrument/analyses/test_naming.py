"""Names and agreement on stores whose truth is known, and what the command leaves on disk."""

import json

import numpy as np
import pandas as pd
import pytest
from planted.cli import run_command
from planted.questions import plant, plant_roles
from sklearn import metrics

import tprprobe as tp
from tprpapers.worlds.mathematics.field_agreement import PERMUTATIONS, agreement
from tprpapers.worlds.mathematics.naming import NamingPlan
from tprpapers.worlds.mathematics.polarity_tables import polarity_table
from tprpapers.worlds.mathematics.structure_words import ARITHMETIC
from tprprobe.analyses.naming import name_all
from tprprobe.analyses.naming.fields import describe
from tprprobe.analyses.naming.names import decide, name_clusters, p_values, read_gold
from tprprobe.analyses.naming.word_names import agree_without_parts
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.names import build_lattice
from tprprobe.evaluation.splits import halve_documents
from tprprobe.figures.naming import list_names

ROLE = "encoder.0.self.role"
NAMES = {"digit ∧ numerator", "digit ∧ denominator", "op", "lpar", "rpar", "space", "template"}
NAMES |= {"<sos>", "<eos>"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return plant_roles(tmp_path_factory.mktemp("roles") / "store", "polarity")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return plant_roles(tmp_path_factory.mktemp("roles") / "small", "polarity", samples=16)


@pytest.fixture(scope="module")
def gold(store):
    return read_gold(store)


@pytest.fixture(scope="module")
def roles(store):
    return tp.cluster(store, ROLE, head=0, k=len(NAMES))


@pytest.fixture(scope="module")
def finished(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("names") / "run"
    return folder, name_all(store, k=len(NAMES), out=folder)


# ---------------------------------------------------------------- predicates


def test_predicates_are_the_shortest_of_those_that_hold_for_the_same_tokens(gold):
    lattice = gold.lattice
    assert len(set(lattice.names)) == len(lattice.names)
    extensions = lattice.members.toarray().astype(bool)
    assert len(np.unique(extensions, axis=0)) == len(extensions)
    alike = pd.DataFrame({"a": [*"xxyy"], "b": [*"ppqq"], "c": [*"rssr"]}, dtype="category")
    assert [name for name in build_lattice(alike).names if {*"pq"} & {*name}] == []
    numerators = (gold.tokens["kind"] == "digit") & (gold.tokens["polarity"] == "numerator")
    np.testing.assert_array_equal(lattice.extension("digit ∧ numerator"), numerators)


def test_rare_conjunctions_are_no_predicates():
    described = pd.DataFrame({"a": pd.Categorical(["x"] * 98 + ["y"] * 2)})
    assert build_lattice(described, support=0.05).names == ["x"]
    assert set(build_lattice(described, support=0.02).names) == {"x", "y"}


def test_values_are_put_into_words():
    table = tp.gold.arithmetic("Calculate 12345/(6 + 7).")
    words = describe(table, ARITHMETIC)
    digit = words[table["kind"] == "digit"].iloc[0]
    assert (digit["place"], digit["msd"]) == ("ten thousands+", "first digit")
    assert (digit["argument"], digit["n_digits"]) == ("argument 1 of /", "of 4+ digits")
    assert words.loc[table["kind"] == "op", "polarity"].isna().all()


# ---------------------------------------------------------------- names


def test_planted_clusters_get_their_names(store, roles):
    names = tp.name_roles(store, roles)
    assert set(names["name"]) == NAMES
    for measure_ in ("precision", "recall", "f05", "lift"):
        assert (names[f"{measure_}_low"] <= names[measure_] + 1e-12).all()
        assert (names[measure_] <= names[f"{measure_}_high"] + 1e-12).all()
    assert (names["precision"] > 0.99).all()
    assert (names["q_value"] < 1e-4).all()


def test_measures_are_those_of_the_other_half(gold):
    labels = (gold.tokens["kind"] == "digit").to_numpy(int)
    labels[(gold.tokens["kind"] == "op") & (gold.tokens["position"] % 3 == 0)] = 1
    held_out = ~halve_documents(gold.questions, 3)
    row = name_clusters(labels, gold.lattice, gold.questions, seed=3).iloc[1]
    is_named = gold.lattice.extension(row["name"])[held_out]
    inside = labels[held_out] == 1
    precision, recall = (
        (is_named & inside).sum() / inside.sum(),
        (is_named & inside).sum() / is_named.sum(),
    )
    assert row["size"] == inside.sum()
    assert row["coverage"] == pytest.approx(inside.mean())
    assert row["precision"] == pytest.approx(precision)
    assert row["recall"] == pytest.approx(recall)
    assert row["f05"] == pytest.approx(1.25 * precision * recall / (0.25 * precision + recall))
    assert row["lift"] == pytest.approx(precision / is_named.mean())
    together = (is_named & inside).mean()
    assert row["npmi"] == pytest.approx(np.log(precision / is_named.mean()) / -np.log(together))


def test_what_was_overfitted_on_one_half_is_no_name(gold):
    chosen_on = halve_documents(gold.questions, 0)
    numerator = (gold.tokens["polarity"] == "numerator").to_numpy(bool)
    rng = np.random.default_rng(0)
    labels = np.where(chosen_on, numerator, rng.permutation(numerator)).astype(int)
    row = name_clusters(labels, gold.lattice, gold.questions).iloc[1]
    assert row["candidate"] == "digit ∧ numerator" or "numerator" in row["candidate"]
    assert row["name"] == "unnamed"


def test_names_are_corrected_for_the_clusters_that_have_a_candidate():
    scored = pd.DataFrame(
        {
            "candidate": ["NN", "DT", ""],
            "p_value": [0.004, 0.5, 1.0],
            "precision": [0.9, 0.9, np.nan],
            "lift": [3.0, 3.0, np.nan],
            "documents": [12, 1, 12],
            "unnamed_because": ["", "", "VB: precision 0.61, 0.7 needed (where it was chosen)"],
        }
    )
    decided = decide(scored)
    assert decided["q_value"].tolist() == [0.008, 0.5, 1.0]
    assert decided["name"].tolist() == ["NN", "unnamed", "unnamed"]
    expected = ["", "DT: its held-out tokens are of one document"]
    assert decided["unnamed_because"].tolist() == [*expected, scored["unnamed_because"][2]]
    of_limit = decide(scored.assign(p_value=[0.005002, 0.5, 1.0]))  # q is 0.010004
    assert (
        of_limit["unnamed_because"][0] == "NN: in 12 documents, not certain (q 0.0101, 0.01 needed)"
    )
    imprecise = decide(scored.assign(precision=[0.699, 0.9, np.nan]))
    assert imprecise["unnamed_because"][0] == "NN: precision 0.69, 0.7 needed"


def test_seven_documents_suffice_for_a_name_that_holds_in_all():
    """The p-value of n documents of any length is 2 to the power of −n."""
    n_tokens = np.array([4, 6, 8, 10, 40, 80, 200])
    joint, described = n_tokens / 2, n_tokens / 2
    p = p_values(
        np.stack([joint, joint, described, n_tokens])[..., None].astype(float), np.array([True]), 0
    )
    assert p[0] == pytest.approx(1 / 128, abs=0.004)


@pytest.mark.parametrize("n_documents", [14, 40, 200])
def test_clusters_of_chance_get_no_names(n_documents):
    """Clusters that ignore the labels: documents differ in length, in their labels and in their clusters."""
    n_names, n_candidates, draws = 0, 0, 20
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        documents = np.repeat(np.arange(n_documents), rng.geometric(0.03, n_documents) + 3)
        shares = rng.dirichlet([8, 1, 1], n_documents)[documents]
        labels = (rng.random(len(documents))[:, None] > shares.cumsum(1)).sum(1)
        clusters = (rng.dirichlet(np.full(6, 0.5), n_documents)[documents].cumsum(1)).T
        clusters = (rng.random(len(documents)) > clusters[:5]).sum(0)
        fields = pd.DataFrame({"pos": pd.Categorical(np.array(["NN", "DT", "VB"])[labels])})
        names = name_clusters(clusters, build_lattice(fields), documents, seed)
        n_candidates += (names["candidate"] != "").sum()
        n_names += (names["name"] != "unnamed").sum()
    assert n_candidates > draws
    assert n_names <= 0.05 * draws


def test_other_clusters_and_stores_are_refused(store, roles, tmp_path):
    second_store = plant(tmp_path / "other")
    with pytest.raises(InputError, match="give the store that they were found in"):
        tp.name_roles(second_store, roles)
    with pytest.raises(InputError, match="give 4 or more"):
        halve_documents(np.array([0, 0, 1, 2]))


# ---------------------------------------------------------------- agreement


def test_agreement_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, 300)
    labels = np.where(rng.random(300) < 0.6, classes, rng.integers(0, 6, 300))
    described = pd.DataFrame({"class": pd.Categorical(classes.astype(str))})
    scores = agreement(labels[:, None], described, "class", {"all": np.zeros(300, int)})
    expected = metrics.adjusted_mutual_info_score(classes, labels)
    assert scores["value"].tolist() == pytest.approx([expected])
    documents = np.repeat(np.arange(30), 10)
    values = agree_without_parts(labels, classes.astype(str), documents)
    without_last = metrics.adjusted_mutual_info_score(classes[:-10], labels[:-10])
    assert len(values) == 31
    assert values[[0, -1]].tolist() == pytest.approx([expected, without_last])


def test_agreement_is_told_from_chance_within_strata(gold):
    kind = gold.tokens["kind"].cat.codes.to_numpy(int)
    noise = np.random.default_rng(0).integers(0, 4, len(kind))
    by_character = pd.factorize(gold.tokens["token"])[0]
    labels = np.stack([kind, noise, by_character], 1)
    nulls = {"question": gold.questions, "character": by_character}
    tables = [
        agreement(labels, gold.described, field, nulls, permutations=39)
        for field in ("kind", "place")
    ]
    ami = pd.concat(tables).set_index(["clustering", "field", "null"])
    assert ami.loc[(0, "kind", "question"), "value"] == pytest.approx(1)
    assert ami.loc[(0, "kind", "question"), "p_value"] == 1 / 40
    assert ami.loc[(1, "kind", "question"), "p_value"] > 0.05
    # digits' symbols say a little of their place (no number starts with 0), all that goes with them
    assert ami.loc[(2, "place", "character"), "p_value"] == 1


def test_polarity_that_follows_from_the_place_alone_counts_for_nothing(gold):
    has_both = gold.described[["polarity", "place"]].notna().all(axis=1)
    place = gold.described["place"].cat.codes.to_numpy(int) + 1
    polarity = gold.described["polarity"].cat.codes.to_numpy(int) + 1
    labels = np.stack([place, polarity], 1)
    nulls = {"given": np.zeros(len(place), int), "question": gold.questions}
    table = agreement(labels, gold.described, "polarity", nulls, ["kind", "place"], 39)
    table = table.set_index(["clustering", "null"])
    assert has_both.sum() > 500
    assert abs(table.loc[(0, "given"), "value"]) < 1e-9
    assert table.loc[(0, "given"), "p_value"] == 1
    assert table.loc[(1, "given"), "value"] == pytest.approx(1)
    assert (table.loc[1, "p_value"] == 1 / 40).all()
    assert table.loc[(1, "question"), "null_mean"] > table.loc[(1, "given"), "null_mean"]


# ---------------------------------------------------------------- whole runs


def test_structure_is_found_where_it_is_and_not_in_controls(finished):
    summary = finished[1].summary.set_index(["model", "vectors", "head"])
    assert len(summary) == 2 * 6 + 1 + 2  # role, shuffled, three siblings, random; z; the twin
    planted = summary.loc[("trained", "role", 0)]
    assert planted["named"] == len(NAMES) - 2  # special tokens are known without a model
    assert planted["with_polarity"] == 2
    assert planted["polarity_given_surface"] > 0.9
    assert planted["polarity_given_surface_p"] == pytest.approx(1 / (1 + PERMUTATIONS))
    assert planted["accuracy_discordant"] == 1
    assert planted["accuracy_discordant_low"] > planted["majority_discordant"]
    controls = summary.drop(index=("trained", "role", 0))
    assert (controls["named"] == 0).all()
    assert (controls["polarity_given_place"].dropna() < 0.02).all()
    assert (controls["accuracy_discordant_low"] <= controls["majority_discordant"]).all()


def test_a_run_says_what_it_compared(finished):
    naming = finished[1]
    assert naming.facts["missing"] == ["baseline"]
    assert naming.facts["questions"]["n"] == 200
    assert naming.facts["questions"]["exact_match"] == 0.75
    fields = set(naming.agreement["field"])
    assert {"kind", "place", "polarity", "polarity_global", "argument", "word"} <= fields
    marginal = naming.agreement[~naming.agreement["measure"].str.contains("given")]
    assert set(marginal["null"]) == {"question", "character"}
    assert set(marginal["measure"]) == {"ami"}
    assert "digit ∧ denominator" in list_names(naming.asked, finished[0])
    printed = polarity_table(naming).markdown()
    assert "Controls that this run does not have: a Transformer's" in printed
    assert "more than the best other predictor, " in printed
    document = json.loads(json.dumps(naming.as_dict(), allow_nan=False))
    assert len(document["names"]) == len(naming.names)


def test_a_baseline_must_hold_the_same_questions(store, tmp_path):
    with pytest.raises(InputError, match="other questions"):
        name_all(store, k=3, baseline=plant_roles(tmp_path / "other", samples=8, seed=1))
    with pytest.raises(InputError, match="unknown site"):
        name_all(store, "encoder.7.self.role")


def test_precision_can_be_computed_from_what_the_folder_lists(finished, gold):
    folder, naming = finished
    held_out = pd.read_csv(folder / "held_out.csv").query("model == 'trained'")["sample"]
    labels = pd.read_parquet(folder / "labels.parquet")[f"{ROLE} 0 {len(NAMES)}"]
    is_held_out = gold.tokens["sample"].isin(held_out).to_numpy()
    for row in naming.clusters.query(f"site == '{ROLE}' and head == 0").to_dict("records"):
        is_inside = is_held_out & (labels == row["cluster"]).to_numpy()
        is_named = gold.lattice.extension(row["name"])
        assert row["precision"] == pytest.approx(is_named[is_inside].mean())


def test_the_command_prints_a_table_or_json(store, finished):
    words = ["name", store.path, "--k", len(NAMES), "--out", finished[0], "--resume"]
    result = run_command(*words)
    assert "digit ∧ denominator" in result.stdout
    assert "Numerator or denominator, predicted from clusters alone" in result.stdout
    assert json.loads(run_command(*words, "--json").stdout)["facts"] == finished[1].facts


def test_shuffled_roles_stay_in_their_question(small, monkeypatch):
    """Every question keeps its roles, in another order, by the samples of its tokens."""
    labels_of, read_names = {}, NamingPlan._read

    def watch(plan, labels, runs, place):
        if place["model"] == "trained":
            labels_of[place["vectors"], place["head"]] = labels
        return read_names(plan, labels, runs, place)

    monkeypatch.setattr(NamingPlan, "_read", watch)
    name_all(small, k=3, projections=0)
    samples = small.tokens.loc[small.tokens["side"] == "source", "sample"].to_numpy()
    for head in (0, 1):
        roles, shuffled = labels_of["role", head], labels_of["shuffled", head]
        assert (roles != shuffled).any()
        for sample in np.unique(samples):
            in_sample = samples == sample
            assert sorted(roles[in_sample]) == sorted(shuffled[in_sample])
