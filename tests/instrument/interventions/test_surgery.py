"""Surgery on vectors, and behavior when states are replaced by their decompositions."""

import numpy as np
import pytest
import torch
from planted.bindings import HIDDEN, STATE, bind, draw_sequences, left, plant_bindings

import tprprobe as tp
from tprprobe.interventions.placement import Place
from tprprobe.interventions.surgeries import change_of

surgery = tp.interventions.surgery
AXES = Place(("batch", "seq", "d_model"))


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    store = plant_bindings(tmp_path_factory.mktemp("surgery") / "store", left, n=300, noise=0.01)
    return tp.decompose(store, STATE, "left", family="saturated", rank="2x2")


def state(sequence):
    """The planted vector of a sequence: its bindings are those of every planted store of seed 0."""
    everything = [*draw_sequences(300), sequence]
    return bind(everything, left)[-len(sequence) :].sum(0)


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ({"replace": ("1", "b", "h")}, "abc", "ahc"),
        ({"exchange": ("a", "0", "c", "2")}, "abc", "cba"),
        ({"move": ("b", "1", "3")}, "ab", None),
    ],
)
def test_changed_vectors_are_those_of_changed_sequences(fit, change, before, after):
    moved = state(list(before)) + change_of(fit, **change)[0]
    if after is None:  # no sequence has a gap: b is bound at 3 and no more at 1
        v = fit.bindings([("b", "3"), ("b", "1")])
        expected = state(list(before)) + v[0] - v[1]
    else:
        expected = state(list(after))
    assert np.linalg.norm(moved - expected) < 0.1 * np.linalg.norm(expected)


def test_changes_are_of_all_samples_or_one_a_sample(fit):
    single = change_of(fit, replace=("0", "a", "b"))
    per_sample = change_of(fit, replace=[("0", "a", "b"), None, ("0", "b", "a")])
    assert single.shape == (1, 16)
    assert np.allclose(per_sample, [single[0], 0 * single[0], -single[0]])
    combined = change_of(fit, replace=("0", "a", "b"), move=[None, ("c", "1", "2")])
    assert np.allclose(combined[0], single[0])


def test_controls_move_vectors_as_far_elsewhere(fit):
    x = torch.zeros(1, 2, 16)
    true, direction, role = (
        surgery(fit, replace=("0", "a", "b"), control=control)(x, AXES.axes)
        for control in (None, "direction", "role")
    )
    assert torch.allclose(true[0, 0], true[0, 1])
    assert torch.allclose(true.norm(dim=-1), direction.norm(dim=-1), rtol=1e-4)
    for elsewhere in (direction, role):
        assert torch.cosine_similarity(true[0, 0], elsewhere[0, 0], dim=0) < 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replace": ("9", "a", "b")}, "unknown role '9'"),
        ({"replace": ("0", "z", "b")}, "unknown filler 'z'"),
        ({"replace": ("0", "a", "b"), "control": "some"}, "unknown control"),
        ({"replace": [None] * 2, "move": [None] * 3}, "one a sample in every list"),
    ],
)
def test_bad_changes_are_told(fit, change, message):
    with pytest.raises(tp.InputError, match=message):
        surgery(fit, **change)


@pytest.fixture(scope="module")
def answered(make_model, make_data, tmp_path_factory):
    """A model, its questions, and the store of what it makes of them."""
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abc"), 4)) for _ in range(60)]
    data, model = make_data([(text, "a") for text in texts]), make_model(fluent=True)
    out = tmp_path_factory.mktemp("substituted") / "store"
    return model, data, tp.extract(model, data, ["encoder.0.hidden"], out, control=False)


def rows_of(table):
    return {row["edit"]: row for row in table.to_dict("records")}


def test_states_are_replaced_by_their_decompositions(answered):
    model, data, store = answered
    exact = tp.decompose(store, HIDDEN, "question*left", family="saturated", rank="2x2")
    rows = rows_of(tp.substitute(model, data, exact))
    assert list(rows) == [
        "unedited",
        "decomposition",
        "mean",
        "random",
        "remainder",
        "random as much",
    ]
    assert rows["remainder"]["probability"] == pytest.approx(rows["mean"]["probability"], rel=0.02)
    assert rows["remainder"]["probability"] != rows["random as much"]["probability"]
    assert rows["unedited"]["agreement"] > 0.9  # all but ties of this random model
    exactly = rows["decomposition"]  # a role a question and place: nothing is lost
    assert exactly["agreement"] > 0.9
    assert exactly["probability"] > rows["mean"]["probability"]
    bag = tp.decompose(store, HIDDEN, "bag", family="bag")
    coarse = rows_of(tp.substitute(model, data, [bag]))
    assert coarse["decomposition"]["probability"] < exactly["probability"]


def test_only_vectors_that_a_model_has_are_replaced(answered):
    model, data, store = answered
    pooled = tp.decompose(store, HIDDEN, "left", unit="sample", family="saturated", rank="2x2")
    with pytest.raises(tp.InputError, match="can replace vectors of tokens"):
        tp.substitute(model, data, pooled)
    attached = tp.attach(torch.nn.Linear(4, 2), {HIDDEN: ""})
    with pytest.raises(tp.InputError, match="is an attached module: pass decoder= to"):
        tp.substitute(attached, data, pooled)


def test_states_of_a_decoder_are_replaced_while_it_reads_its_own_answer(
    answered, tmp_path_factory, make_data
):
    model, data, _ = answered
    out = tmp_path_factory.mktemp("written") / "store"
    store = tp.extract(model, data, ["decoder.0.hidden"], out, target="generated", control=False)
    exact = tp.decompose(store, "decoder.0.hidden", "question*left", family="saturated", rank="2x2")
    rows = rows_of(tp.substitute(model, data, exact))
    assert rows["unedited"]["agreement"] > 0.9
    assert rows["decomposition"]["probability"] > rows["mean"]["probability"]
