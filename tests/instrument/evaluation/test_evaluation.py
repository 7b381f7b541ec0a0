"""How numbers come about: nobody is tested on what was fitted, controls keep what they must, intervals by hand, one table."""

import numpy as np
import pandas as pd
import pytest
from planted.sentences import FILLER, ROLE, plant
from planted.stores import number_tokens, write_store
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import tprprobe as tp
from tprprobe.analyses.probing.rows import list_rows
from tprprobe.errors import InputError
from tprprobe.evaluation.controls import draw_labels, predict_without_vectors, shuffle_labels
from tprprobe.evaluation.intervals import (
    compare,
    draw_blocks,
    interval_by_blocks,
    interval_of,
    t_test,
)
from tprprobe.evaluation.metrics import (
    Predictions,
    accuracy,
    count_labels,
    count_terms,
    macro_f1,
    micro_f1,
    precision,
    predict_one_label,
    recall,
    sum_groups,
)
from tprprobe.evaluation.results import Results, load_results, number, tabulate
from tprprobe.evaluation.runner import Fold, as_codes, cross_fit, predict
from tprprobe.evaluation.splits import divide_documents, halve_documents, leave_out

SITE = "encoder.0.hidden"


class NearestVector(ClassifierMixin, BaseEstimator):
    """The label of the nearest vector that was seen, so that whoever was seen is known."""

    def fit(self, X, y):
        self.X_, self.y_ = X, y
        return self

    def predict(self, X):
        return self.y_[((X[:, None] - self.X_[None]) ** 2).sum(-1).argmin(1)]


class Spy(NearestVector):
    """It lists what it was fitted to, and what it was asked."""

    fits: list[list] = []  # noqa: RUF012

    def fit(self, X, y):
        self.fits.append([X, y, None])
        return super().fit(X, y)

    def predict(self, X):
        self.fits[-1][2] = X
        return super().predict(X)


@pytest.fixture(scope="module")
def unlike(tmp_path_factory):
    """A store in which every word has a vector of its own and a label by chance: nothing can be learned."""
    rng = np.random.default_rng(0)
    n_documents, length = 30, 12
    n = n_documents * length
    words = np.array([f"w{i}" for i in range(n)]).reshape(n_documents, length)
    tokens = number_tokens(words.tolist())
    tokens["pos"] = [f"T{label}" for label in rng.integers(4, size=n)]
    path = tmp_path_factory.mktemp("unlike") / "store"
    return write_store(path, {SITE: rng.normal(size=(n, 16))}, tokens)


def real(rows):
    return rows[rows["control"] == "real"].iloc[0]


# ---------------------------------------------------------------- leaks


@pytest.mark.parametrize("estimator", [NearestVector(), "linear"])
def test_no_score_leaks(unlike, estimator):
    """An estimator that knows what it has seen scores as one that guesses."""
    row = real(tp.probe(unlike, "pos", estimator, controls=()))
    assert row["n_test"] == len(unlike.tokens)
    assert row["accuracy"] < 0.35


def test_a_score_is_that_of_ten_independent_lines(unlike):
    """Documents and folds by the rows that were tested, scores by hand: no property of the package is asked."""
    Spy.fits.clear()
    row = real(tp.probe(unlike, "pos", Spy(), controls=()))
    vectors, labels = unlike.read(SITE), unlike.tokens["pos"].to_numpy()
    rows_of = {vector.tobytes(): i for i, vector in enumerate(vectors.astype(np.float32))}
    right = n = 0
    for X, _, X_test in Spy.fits[:5]:
        train_rows, held_out = ([rows_of[x.tobytes()] for x in vectors] for vectors in (X, X_test))
        sample = unlike.tokens["sample"].to_numpy()
        assert not {*sample[train_rows]} & {*sample[held_out]}
        distance = ((vectors[held_out][:, None] - vectors[train_rows][None]) ** 2).sum(-1)
        right += (labels[train_rows][distance.argmin(1)] == labels[held_out]).sum()
        n += len(held_out)
    assert n == len(labels)
    assert row["accuracy"] == pytest.approx(right / n)


def test_folds_are_fitted_on_their_own_rows_and_all_are_counted_once():
    X, marks = np.arange(6.0)[:, None], np.eye(2, dtype=bool)[[0, 1, 0, 1, 0, 1]]
    folds = [Fold(np.array([2, 3]), np.array([4, 5]), np.array([0, 1])),
             Fold(np.array([0, 1]), np.array([4, 5]), np.array([2, 3]))]  # fmt: skip
    counts = []

    def count(i, predictions, rows):
        counts.append((i, rows.tolist(), predictions.likeliest.tolist()))
        return np.ones((1, 1, 1)) * len(rows)

    fit = cross_fit([NearestVector()], X, marks[None], folds, (X, [marks]), count)
    assert counts == [(0, [0, 1], [0, 0]), (0, [2, 3], [1, 1])]
    assert fit.sums.item() == 4
    assert fit.estimators[0].X_.tolist() == [[2], [3]]


def test_a_row_leaves_the_fit_if_one_of_its_sequences_is_tested():
    """Its text is new, but its symbols are those of a tested row."""
    sequences = np.array([[1, 1], [2, 1], [3, 3], [4, 4]], np.uint64)
    is_fitted = leave_out(np.array([False, True, True, True]), np.array([True, False, False, False]), sequences)  # fmt: skip
    assert is_fitted.tolist() == [False, False, True, True]


def test_documents_are_divided_as_a_whole():
    documents = np.repeat(np.arange(40), 5)
    test, dev = divide_documents(documents, np.random.default_rng(0))
    for flags in (test, dev):
        assert {*flags.reshape(40, 5).sum(1)} == {0, 5}
    assert not (test & dev).any()
    halves = halve_documents(documents)
    assert halves.reshape(40, 5).all(1).sum() == 20


# ---------------------------------------------------------------- controls


def test_control_labels_are_of_the_word_and_shuffled_ones_of_nobody():
    rng = np.random.default_rng(0)
    labels = np.eye(3, dtype=bool)[rng.choice(3, 300, p=[0.6, 0.3, 0.1])]
    words = rng.integers(40, size=(300, 1))
    control = draw_labels(words, labels, 0).argmax(1)
    for word in np.unique(words):
        assert len({*control[words[:, 0] == word]}) == 1
    shuffled = shuffle_labels(labels, 0)
    assert (shuffled.sum(0) == labels.sum(0)).all()
    assert (shuffled == labels).all(1).mean() < 0.7


def test_rules_without_vectors_are_the_most_frequent_labels():
    labels = np.eye(3, dtype=bool)[[0, 0, 0, 1, 1, 2]]
    words = np.array([[5], [5], [6], [6], [6], [7]])
    rules = dict(predict_without_vectors(labels, words, np.array([[5], [6], [7], [8]])))
    assert rules["majority"].tolist() == [0, 0, 0, 0]
    assert rules["identity"].tolist() == [0, 1, 2, 0]


def test_an_unseen_pair_of_words_has_the_label_of_the_word_that_tells_more():
    labels = np.eye(3, dtype=bool)[[0, 1, 2, 1, 0]]
    pairs = np.array([[1, 5], [2, 5], [3, 5], [2, 6], [1, 6]])  # the first word tells all labels
    tested = np.array([[1, 7], [2, 9], [9, 9], [3, 5]])
    rules = dict(predict_without_vectors(labels, pairs, tested))
    assert rules["identity"].tolist() == [0, 1, 0, 2]


# ---------------------------------------------------------------- metrics


def test_counts_of_a_target_with_one_label():
    gold = np.eye(3, dtype=bool)[[0, 1, 2]]
    likeliest = np.array([0, 2, 2])
    predictions = Predictions(likeliest, np.eye(3, dtype=bool)[likeliest], np.zeros(3))
    terms = count_terms(predictions, gold, np.array([0, 1, 0]), np.array([True, True, False]))
    assert terms[:, :5].tolist() == [[1, 0, 0, 1, 1], [0, 0, 2, 0, 1], [0, 0, 0, 0, 0]]
    sums = sum_groups(terms, np.array([1, 1, 0]), 3, [np.array([True, False, True])])
    assert sums[:, 1, 0].tolist() == [1, 1]
    assert sums[0, :, 2].tolist() == [0, 2, 0]
    assert sums[1, :, 2].tolist() == [0, 0, 0]
    totals = sums[0].sum(0, keepdims=True)
    assert [float(f(totals)[0]) for f in (micro_f1, accuracy, precision, recall)] == pytest.approx(
        [0.5, 0.5, 1, 1 / 3]
    )


def test_macro_f1_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    gold, likeliest = rng.choice(5, (2, 400), p=[0.5, 0.3, 0.15, 0.05, 0])
    blocks = draw_blocks(40)[np.arange(400) % 40]
    marks, predictions = np.eye(5, dtype=bool)[gold], predict_one_label(likeliest, 5)
    outcomes = count_labels(predictions, marks, np.ones(5, bool), blocks, 20)
    score = interval_by_blocks(outcomes, macro_f1, 40)
    assert score.value == pytest.approx(f1_score(gold, likeliest, average="macro"))
    without = [
        f1_score(gold[blocks != b], likeliest[blocks != b], average="macro") for b in range(20)
    ]
    assert score.high - score.value == pytest.approx(
        2.093 * np.sqrt(19 * np.var(without)), rel=1e-3
    )
    assert np.isnan(interval_by_blocks(outcomes, macro_f1, 9).low)


def test_predictions_without_and_with_probabilities():
    X, marks = np.array([[0.0], [1.0], [3.0]]), np.eye(2, dtype=bool)[[0, 0, 1]]
    classifier = LogisticRegression().fit(X, as_codes(marks))
    predictions = predict(classifier, X, marks)
    shares = classifier.predict_proba(X)
    np.testing.assert_allclose(
        predictions.nats, -np.log(0.99 * shares[[0, 1, 2], [0, 0, 1]] + 0.005)
    )
    assert np.isnan(predict(NearestVector().fit(X, as_codes(marks)), X, marks).nats).all()
    unknown = predict(classifier, X, marks & False).nats  # labels that nobody knows
    assert unknown.tolist() == [0, 0, 0]
    several = np.array([[True, True], [False, True]])
    assert as_codes(several).tolist() == [[1, 1], [0, 1]]


# ---------------------------------------------------------------- intervals


def sums_of(right, n):
    sums = np.zeros((len(right), 6))
    sums[:, 3], sums[:, 4] = right, n
    return sums


def test_too_few_groups_have_no_interval_and_none_that_errs_leaves_doubt():
    few = interval_of(sums_of(np.array([3, 5, 9]), 10), accuracy)
    assert np.isnan(few.low)
    assert "fewer than" in number("accuracy", few)["note"]
    perfect = interval_of(sums_of(np.full(20, 10), 10), accuracy)
    assert (perfect.low, perfect.high) == pytest.approx((0.025 ** (1 / 20), 1))


def test_a_difference_is_paired():
    rng = np.random.default_rng(0)
    counts = rng.binomial(20, rng.random(30))
    comparison = compare(sums_of(counts + 1, 21), sums_of(counts, 21), accuracy)
    assert comparison.difference.value == pytest.approx(1 / 21)
    assert comparison.difference.low == pytest.approx(1 / 21)  # one more in every group
    assert (comparison.p, comparison.n_groups) == (0, 30)
    assert comparison.reference == pytest.approx(counts.sum() / 21 / 30)
    assert compare(sums_of(counts, 21), sums_of(counts, 21), accuracy).p == 1


def test_p_of_a_difference():
    assert t_test(0.0, 0.0, 9) == 1
    assert t_test(0.1, 0.0, 9) == 0
    assert t_test(2.0, 1.0, 1) == 1
    assert t_test(2.262, 1.0, 10) == pytest.approx(0.05, abs=1e-3)
    assert t_test(-2.262, 1.0, 10) == pytest.approx(0.05, abs=1e-3)


# ---------------------------------------------------------------- one table


def test_one_long_table_its_folder_and_its_views(tmp_path):
    store = plant(tmp_path / "store", 30)
    rows = tp.probe(store, "pos", sites=(ROLE, FILLER), controls=("control",), out=tmp_path / "run")
    results = load_results(tmp_path / "run")
    assert {*results.table["control"]} == {"", "control", "majority", "identity"}
    f1 = results.select(metric="f1", control="", site=FILLER).table.iloc[0]
    row = rows[(rows["control"] == "real") & (rows["site"] == FILLER)].iloc[0]
    assert [f1["value"], f1["low"], f1["high"], f1["n"]] == pytest.approx(
        [row["f1"], row["f1_low"], row["f1_high"], row["n_test"]]
    )
    rivals = rows[~rows["control"].isin(["real", "control"]) & rows["site"].isin([FILLER, ""])]
    assert f1["rival"] == rivals.loc[rivals["f1"].idxmax(), "control"]
    rival = rivals["f1"].max()
    assert f1["beyond"] == pytest.approx(row["f1"] - rival)
    assert (f1["p"] < 0.05) == row["beyond"]
    assert results.settings["settings"]["estimator"]["name"] == "linear"
    pd.testing.assert_frame_equal(list_rows(results), pd.DataFrame(rows))
    wide = results.wide()
    assert len(wide) == len(rows)
    assert wide["f1_low"].notna().sum() == rows["f1_low"].notna().sum()


def test_a_table_has_a_number_a_row_and_whatever_names_it():
    rows = [
        {"task": "a", "site": "s", "k": 2} | number("share", 0.5, n=4),
        {"task": "a", "site": "s", "k": 2} | number("size", 7),
        {"task": "a", "site": "s", "k": 3} | number("share", 0.25, n=4),
    ]
    results = Results(tabulate(rows))
    assert list(results.table)[:8] == [
        *("task", "site", "layer", "head", "estimator", "control"), "k", "metric",
    ]  # fmt: skip
    wide = results.wide()
    assert wide[["k", "share"]].to_numpy().tolist() == [[2, 0.5], [3, 0.25]]
    assert np.isnan(wide["size"].iloc[1])
    assert "share_low" not in wide
    draws = Results(tabulate([{"control": "random"} | number("share", x) for x in (0.1, 0.2)]))
    assert draws.wide()["share"].to_list() == [0.1, 0.2]


# ---------------------------------------------------------------- the door

ESTIMATORS = [
    LogisticRegression(C=10.0),
    make_pipeline(StandardScaler(), LinearSVC()),
    GridSearchCV(LogisticRegression(), {"C": [1.0, 10.0]}, cv=2),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_any_classifier_is_a_probe(tmp_path, estimator):
    store = plant(tmp_path / "store", 30)
    rows = tp.probe(store, "pos", estimator, sites=FILLER, controls=("control", "shuffled"))
    assert real(rows)["probe"] == type(estimator).__name__
    by_control = rows.set_index("control")["accuracy"]
    assert by_control["real"] > by_control["shuffled"] + 0.2


def test_codelengths_of_a_classifier_with_probabilities(tmp_path):
    store = plant(tmp_path / "store", 30)
    options = {"sites": FILLER, "controls": (), "information": True}
    linear, logistic = (
        real(tp.probe(store, "pos", estimator, **options))
        for estimator in ("linear", LogisticRegression(C=1.0))
    )
    assert 0.5 < logistic["codelength"] / linear["codelength"] < 2


def test_a_label_of_few_documents_is_counted_and_not_fitted_where_it_is_unknown(unlike):
    """It is in the fourth document alone, which is not in the training part of every fold."""
    is_fourth = (unlike.tokens["sample"] == 3) & (unlike.tokens["position"] < 2)
    tokens = unlike.tokens.assign(pos=unlike.tokens["pos"].astype(str).where(~is_fourth, "RARE"))
    for seed in range(3):
        rows = tp.probe(unlike, "pos", NearestVector(), tokens=tokens, controls=(), seed=seed)
        assert real(rows)["n_test"] == len(tokens)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression, "is a class: give an instance"),
        (LinearRegression(), "is a regressor, labels need a classifier"),
        (PCA(), "has no predict"),
        ("liner", "unknown probe 'liner'; did you mean 'linear'"),
    ],
)
def test_what_is_no_estimator_is_one_line(unlike, estimator, message):
    with pytest.raises(InputError, match=message):
        tp.probe(unlike, "pos", estimator)


def test_old_keywords_warn_and_work(unlike):
    with pytest.warns(FutureWarning, match="estimator="):
        rows = tp.probe(unlike, "pos", probe="linear", controls=())
    assert real(rows)["probe"] == "linear"
    with pytest.warns(FutureWarning, match="test="), pytest.raises(InputError, match="no targets"):
        tp.probe(unlike, "pos", unlike)


def test_few_documents_that_share_a_sentence_are_probed(tmp_path):
    """Interviews that all end in the same word: 14 documents, and none is fitted on a sentence that it tests."""
    rng, folder = np.random.default_rng(0), tmp_path / "store"
    texts = [[f"w{i}" for i in rng.integers(1000, size=4)] for _ in range(84)]
    texts[5::6] = [["thanks"]] * 14
    tokens = number_tokens(texts)
    tokens["document"] = [f"interview {sample // 6}" for sample in tokens["sample"]]
    is_last = (tokens["token"] == "thanks").to_numpy()
    labels = rng.integers(4, size=len(tokens))
    tokens["pos"] = [f"T{label}" for label in np.where(is_last, 0, labels)]
    vectors = np.where(is_last[:, None], 1.0, rng.normal(size=(len(tokens), 16)))
    write_store(folder, {SITE: vectors}, tokens)
    Spy.fits.clear()
    row = real(tp.probe(folder, "pos", Spy(), controls=()))
    for X, _, X_test in Spy.fits:
        assert {x.tobytes() for x in X}.isdisjoint(x.tobytes() for x in X_test)
    assert row["n_test"] == 14 * 21
    assert row["f1_low"] < row["f1"] < row["f1_high"]
