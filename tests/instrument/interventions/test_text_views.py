"""Salience of tokens, and two texts side by side."""

import numpy as np
import pytest
import torch

from tprprobe.dashboard import text_views
from tprprobe.interventions import compare_texts, salience
from tprprobe.interventions.salience import INTEGRATED
from tprprobe.interventions.text_comparison import align_tokens


@pytest.fixture(scope="module")
def model(make_model):
    return make_model(fluent=True, seed=4)


def test_integrated_gradients_add_up_to_what_random_tokens_change(model):
    table = salience(model, "12/(3-45)", "5", steps=2000, draws=3)
    source, (_, targets) = model.read("12/(3-45)"), model.vocabulary.encode_answers(["1"], ["5"])
    target = torch.tensor([targets.values.tolist()])[:, 1:]
    generator = torch.Generator().manual_seed(0)
    random = torch.randint(1, len(model.vocabulary.symbols), (3, len(table)), generator=generator)
    random[random == model.config.pad] = 0
    changed = model.score(source, target) - model.score(random, target.expand(3, -1)).mean()
    assert table[INTEGRATED].sum() == pytest.approx(changed.item(), abs=0.02)
    assert table["token"].iloc[1:3].tolist() == ["1", "2"]


def test_two_texts_differ_where_they_were_edited(model):
    same = compare_texts(model, "12/(3-45)", "12/(3-45)")
    assert same.states["distance"].max() == pytest.approx(0, abs=1e-6)
    assert same.heads["distance"].max() == pytest.approx(0, abs=1e-6)
    edited = compare_texts(model, "12/(3-45)", "12/(3-95)")
    pairs = edited.states[edited.states["token"] != edited.states["other_token"]]
    assert pairs[["token", "other_token"]].drop_duplicates().to_numpy().tolist() == [["4", "9"]]
    assert edited.heads["distance"].between(0, 1).all()
    assert {*edited.outputs} == {"answer", "text", "against"}
    summary = text_views.summarize_texts(edited)
    assert "States differ most at layer" in summary
    view = text_views.show_text_states(edited)
    assert np.isfinite(view.scene.values).all()


@pytest.mark.parametrize(
    ("tokens", "others", "pairs"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "axc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "abbc", [(0, 0), (1, 1), (2, 3)]),
        ("abc", "ac", [(0, 0), (2, 1)]),
    ],
)
def test_tokens_are_aligned(tokens, others, pairs):
    assert align_tokens(tuple(tokens), tuple(others)) == pairs
