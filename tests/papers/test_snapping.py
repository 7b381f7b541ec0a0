"""Roles snapped to one-hot: every distribution while it lasts, and none afterwards."""

import pytest
import torch

from tprpapers.jiang.snapping import find_weights, measure_snapping, snapped
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs
from tprprobe.models import load_model
from tprprobe.site.hooks import capture
from tprprobe.training.loop import held_out_loss

ENGLISH = "english:version=1,depth=1,sentences=4-6"


@pytest.fixture(scope="module")
def model():
    return load_model("tpt-d-english")


def test_snapping_makes_roles_one_hot_and_is_undone(model):
    assert find_weights(model)
    assert not find_weights(load_model("t5-english"))
    pairs = encode_pairs(load_data(ENGLISH, n=4), model.vocabulary)
    source, target = pairs.batch(torch.arange(4), model.config.pad)
    with torch.no_grad():
        soft = model(source, target)
        with snapped(model), capture(model, "*.role_weights") as acts:
            hard = model(source, target)
        for weights in acts.values():
            assert weights.equal((weights == weights.amax(-1, keepdim=True)).to(weights.dtype))
        assert not hard.allclose(soft)
        assert model(source, target).equal(soft)


def test_the_loss_as_trained_is_that_of_training(model):
    data = load_data(ENGLISH, split="test", n=4)
    scores = measure_snapping(model, [(example.source, example.target) for example in data])
    loss = held_out_loss(model, encode_pairs(data, model.vocabulary))
    assert scores.set_index("score").loc["loss", "as_trained"] == pytest.approx(loss, rel=1e-5)
