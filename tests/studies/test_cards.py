"""Cards of checkpoints that summarize: a triple shipped from tiny runs, and what a card then says."""

import json

import pytest
import torch
from safetensors.torch import load_file

from studies.checkpoints import summary_models as summaries
from studies.checkpoints.summary_models import Finished, ship_summaries
from tprpapers.jiang.snapping import find_weights, measure_snapping, snapped
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs
from tprprobe.files.settings import parse
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate
from tprprobe.site.hooks import capture
from tprprobe.training.loop import held_out_loss, train
from tprprobe.training.recipes import Recipe

SIZES = {"d_model": 16, "n_heads": 2, "d_head": 8, "n_layers": 1, "d_ff": 16}
ROLES = {"t5": {"roles": "none"}, "tpt-d": {"n_roles": 4}}
ENGLISH = "english:depth=1,sentences=4-5"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of four steps on the generated English."""
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for name, roles in ROLES.items():
        recipe = parse(
            Recipe,
            {
                "name": name,
                "model": {"architecture": "tpt", **SIZES, **roles},
                "subwords": {"size": 500, "texts": 40, "max_source": 60, "max_target": 30},
                "batch_size": 8,
                "stages": [
                    {
                        "steps": 4,
                        "learning_rate": 0.01,
                        "mix": [{"data": ENGLISH, "split": "train", "n": 32}],
                    }
                ],
                "evaluate": [{"data": ENGLISH, "split": "dev", "n": 8}],
            },
            "recipe",
        )
        train(recipe, folder / name)
        made.append(Finished(folder / name, recipe))
    return made


@pytest.fixture(scope="module")
def shipped(runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summaries, "TESTED", {"test": 12, "compositional": 6})
        patch.setattr(summaries, "SNAPPED", 6)
        patch.setattr(summaries, "RECOMPUTED", 5)
        ship_summaries(runs, out)
    return out


def test_a_card_has_every_number(shipped):
    card = (shipped / "tpt-d" / "README.md").read_text()
    for part in (
        "4 steps of 8 documents (32 of 32;",
        "| compositional, greedy |",
        "| lead-1 |",
        "| true of the document |",
        "| tpt-d − t5 | exact match |",
        "| encoder.self |",
        "| decoder.cross |",
        "| loss (nats a sub-word) |",
    ):
        assert part in card
    assert "## Roles" not in (shipped / "t5" / "README.md").read_text()


def test_a_checkpoint_is_in_half_precision_and_scores_as_expected(shipped):
    weights = load_file(shipped / "tpt-d" / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float16}
    expected = json.loads((shipped / "tpt-d" / "expected.json").read_text())
    recompute = expected["recompute"]
    data = load_data(recompute["data"], split=recompute["split"], n=recompute["n"])
    rows = evaluate(load_model(shipped / "tpt-d"), data)
    assert rows["rougeL"].mean() == pytest.approx(recompute["rougeL"])
    assert set(expected["scores"]) == {"test", "compositional"}
    assert expected["scores"]["test"]["rougeL"]["n"] == 12


def test_snapping_makes_roles_one_hot_and_is_undone(runs):
    model = runs[1].model
    assert find_weights(model)
    assert not find_weights(runs[0].model)
    pairs = encode_pairs(load_data(ENGLISH, n=6), model.vocabulary)
    source, target = pairs.batch(torch.arange(6), model.config.pad)
    with torch.no_grad():
        soft = model(source, target)
        with snapped(model), capture(model, "*.role_weights") as acts:
            hard = model(source, target)
        for weights in acts.values():
            assert weights.equal((weights == weights.amax(-1, keepdim=True)).to(weights.dtype))
        assert not hard.allclose(soft)
        assert model(source, target).equal(soft)


def test_one_measure_of_snapping_serves_the_card_and_the_figure(runs, shipped):
    model, data = runs[1].model, load_data(ENGLISH, split="test", n=6)
    texts = [(each.source, each.target) for each in data]
    found = measure_snapping(model, texts).set_index("score")
    loss = held_out_loss(model, encode_pairs(data, model.vocabulary))
    assert found.loc["loss", "as_trained"] == pytest.approx(loss, rel=1e-5)
    card = (shipped / "tpt-d" / "README.md").read_text()
    told = f"| {found.loc['loss', 'as_trained']:.3f} | {found.loc['loss', 'one_hot']:.3f} |"
    assert f"| loss (nats a sub-word) {told}" in card


def test_the_card_counts_every_distribution(shipped):
    card = (shipped / "tpt-d" / "README.md").read_text()
    rows = [line.split(" | ") for line in card.splitlines() if line.endswith(" of 4 |")]
    counts = {row[0].strip("| "): int(row[1].replace(",", "")) for row in rows}
    assert list(counts) == ["encoder.self", "decoder.self", "decoder.cross", "all"]
    data = load_data(ENGLISH, split="test", n=6)
    pairs = encode_pairs(data, load_model(shipped / "tpt-d").vocabulary)
    assert counts["encoder.self"] == 2 * int(pairs.source.lengths.sum())
    assert counts["all"] == sum(counts.values()) - counts["all"]
