"""Our models with the authors' weights give every tensor that jiang's code gave.

Decoder rows whose label is −100 are left out: the authors mask them by label, we do not mask.
"""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from parity.authors import BATCHES, JIANG, assert_close, double, record
from parity.publishedbeam import published_beam
from parity.singlesoftmax import attend_singly, single_softmax

from tprpapers.architectures import sublayers
from tprpapers.architectures.tpt import CROSS_HIDDEN, SELF_HIDDEN, additive
from tprpapers.jiang.adafactor import Adafactor
from tprprobe.models.decoding.generation import generate
from tprprobe.training.loop import relative_step
from tprprobe.training.losses import summed_loss

AFTER_RESIDUAL = {"role_weights": "role_weights", "selected_roles": "role", "filler": "filler"}
AFTER_RESIDUAL |= {"tpr": "binding", "out": "tpr"}
INSIDE = {"role_weights": "role_weights", "selected_roles": "role", "filler": "filler"}
INSIDE |= {"tpr": "binding", "context": "tpr", "out": ""}
PLAIN = {"out": "filler"}
NAMES = {"tptd_rar": AFTER_RESIDUAL, "tptd_rar_gate": AFTER_RESIDUAL, "t5_plain": PLAIN}
NAMES |= {"tptd_attn": INSIDE, "tptc_t5": INSIDE}
WHOLE = {"encoder.out": "encoder_norm", "decoder.out": "decoder_norm"}
CASES = [pytest.param(name, batch, id=f"{name}-{batch}") for name, batch in product(JIANG, BATCHES)]


def our_name(key: str, names: dict[str, str], discrete: bool) -> str:
    """The site, or else the submodule, that holds the authors' tensor ``key``."""
    if key in WHOLE:
        return WHOLE[key]
    stack, _, layer, *rest = key.split(".")
    if rest == ["out"]:
        return f"{stack}.{layer}.hidden"
    _, number, name = rest
    if int(number) == (1 if stack == "encoder" else 2):
        return f"{stack}.{layer}.feed_forward"
    at = f"{stack}.{layer}.{'cross' if number == '1' else 'self'}"
    fixed = {"attention": "attention", "attn_out": "output"}
    fixed["r_linear"] = "roles.to_weights" if discrete else "to_role"
    return f"{at}.{(names | fixed)[name]}".removesuffix(".")


def rows(key: str, tensor: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The rows that count: of the decoder's positions those with a label."""
    return tensor[labels != -100] if key.startswith("decoder.") else tensor


def run(ours, tensors):
    return ours.model(tensors["input_ids"], tensors["decoder_input_ids"])


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_logits(reference, name, batch, monkeypatch):
    ours, tensors = reference(name), reference(name).batch(batch)
    real = tensors["lm_labels"] != -100
    with torch.no_grad():
        assert_close(run(ours, tensors)[real], tensors["logits"][real], "logits")
    monkeypatch.setattr(sublayers, "attend", attend_singly)
    exact = double(ours.model, tensors["input_ids"], tensors["decoder_input_ids"])
    assert (exact - ours.logits64[f"{batch}/logits"])[real].abs().max() <= 1e-9


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_intermediate_tensors(reference, name, batch):
    ours, tensors = reference(name), reference(name).batch(batch)
    labels, discrete = tensors["lm_labels"], ours.model.config.roles == "discrete"
    names = {
        key: our_name(key, NAMES[name], discrete)
        for key in tensors
        if key.startswith(("encoder.", "decoder.")) and not key.endswith("incl_mask")
    }
    with torch.no_grad(), record(ours.model, names.values()) as found:
        logits = run(ours, tensors)
    assert_close(logits[labels != -100], tensors["logits"][labels != -100], "logits, all read")
    for key, own in names.items():
        theirs, vectors = tensors[key], found[own]
        if key.endswith(("attention", "role_weights")):  # theirs: head before position
            theirs = theirs.transpose(1, 2)
            vectors = vectors.transpose(1, 2) if key.endswith("attention") else vectors
        theirs = rows(key, theirs, labels)
        assert_close(rows(key, vectors, labels).reshape(theirs.shape), theirs, key)
    assert len(names) > 25


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_position_biases_and_masks(reference, name, batch):
    ours, tensors = reference(name), reference(name).batch(batch)
    model, labels = ours.model, tensors["lm_labels"]
    with torch.no_grad():
        memory = model.encode(tensors["input_ids"])
        seq = memory.mask.shape[-1]
        encoder = model.encoder_bias(0, seq, seq)
        encoder = encoder + additive(memory.mask, SELF_HIDDEN, encoder)
        own, cross = model._biases(0, labels.shape[1], memory)
    theirs = "{}.block.0.layer.{}.position_bias_incl_mask"
    assert_close(encoder, tensors[theirs.format("encoder", 0)], "encoder")
    for number, ours_there in enumerate((own, cross)):
        bias = tensors[theirs.format("decoder", number)]
        found = ours_there.expand_as(bias).transpose(1, 2)[labels != -100]
        assert_close(found, bias.transpose(1, 2)[labels != -100], f"decoder {number}")
    assert CROSS_HIDDEN < SELF_HIDDEN


def smoothed_loss(logits, labels):
    """The mean over labels, as jiang's code has it."""
    return summed_loss(logits, labels, pad=0, smoothing=0.1) / (labels != 0).sum()


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_losses(reference, name, batch):
    ours, tensors = reference(name), reference(name).batch(batch)
    logits = run(ours, tensors)
    entropy = F.cross_entropy(logits.flatten(0, 1), tensors["lm_labels"].flatten())
    assert_close(entropy, tensors["loss"].squeeze(), "cross-entropy")
    smoothed = smoothed_loss(logits, tensors["target_ids"])
    assert_close(smoothed, tensors["label_smoothed_loss"].squeeze(), "label-smoothed loss")


@pytest.mark.parametrize("name", JIANG)
def test_training_step(reference, name):
    ours, tensors = reference(name), reference(name).batch("a")
    optimizer = Adafactor(ours.model.parameters(), lr=relative_step(1))
    smoothed_loss(run(ours, tensors), tensors["target_ids"]).backward()
    for own, parameter in ours.model.named_parameters():
        assert_close(parameter.grad, ours.step[f"grad/{ours.published(own)}"], own)
    optimizer.step()
    for own, parameter in ours.model.named_parameters():
        assert_close(parameter, ours.step[f"after_adafactor/{ours.published(own)}"], own)


@pytest.mark.parametrize("name", JIANG)
@pytest.mark.parametrize("batch", ["a", "nopad"])
def test_greedy(reference, name, batch):
    ours, tensors = reference(name), reference(name).batch(batch)
    expected = tensors["greedy_cache"][:, 1:]
    found = generate(ours.model, tensors["input_ids"], max_length=expected.shape[1])
    assert found.equal(expected)


@pytest.mark.parametrize("name", JIANG)
@pytest.mark.parametrize("batch", ["a", "nopad"])
def test_published_beam_search_over_our_cache(reference, name, batch):
    ours, tensors = reference(name), reference(name).batch(batch)
    found = published_beam(ours.model, tensors["input_ids"], beam=4, max_length=14, min_length=3)
    assert found.equal(tensors["beam4_cache"])


@settings(max_examples=50)
@given(st.integers(1, 70), st.integers(0, 2**31), st.floats(0.1, 30.0))
def test_single_softmax_is_the_softmax_in_float32(keys, seed, scale):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, keys, generator=generator, dtype=torch.float64) * scale
    scores[0, keys // 2 + 1 :] -= 1e9  # masked keys
    found = single_softmax(scores)
    assert found.float().double().equal(found)
    exact = scores.softmax(-1)
    assert (found - exact).abs().max() <= 3e-7 + scale * 2e-6
    if keys > 1:
        assert found[0, keys // 2 + 1 :].eq(0).all()
