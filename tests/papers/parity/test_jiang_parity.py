"""Our models with the authors' weights give every tensor that jiang's code gave.

Decoder rows whose label is −100 are left out: the authors mask them by label, we do not mask.
"""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from papers.parity.authors import BATCHES, JIANG, assert_close, double, record
from papers.parity.singlesoftmax import attend_singly, single_softmax

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
STACK_OUTPUTS = {"encoder.out": "encoder_norm", "decoder.out": "decoder_norm"}
CASES = [pytest.param(name, batch, id=f"{name}-{batch}") for name, batch in product(JIANG, BATCHES)]


def our_name(key: str, names: dict[str, str], discrete: bool) -> str:
    """The site, or else the submodule, that holds the authors' tensor ``key``."""
    if key in STACK_OUTPUTS:
        return STACK_OUTPUTS[key]
    stack, _, layer, *path = key.split(".")
    if path == ["out"]:
        return f"{stack}.{layer}.hidden"
    _, number, name = path
    if int(number) == (1 if stack == "encoder" else 2):
        return f"{stack}.{layer}.feed_forward"
    prefix = f"{stack}.{layer}.{'cross' if number == '1' else 'self'}"
    fixed = {"attention": "attention", "attn_out": "output"}
    fixed["r_linear"] = "roles.to_weights" if discrete else "to_role"
    return f"{prefix}.{(names | fixed)[name]}".removesuffix(".")


def rows(key: str, tensor: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The rows that count: of the decoder's positions those with a label."""
    return tensor[labels != -100] if key.startswith("decoder.") else tensor


def run(case, tensors):
    return case.model(tensors["input_ids"], tensors["decoder_input_ids"])


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_logits(reference, name, batch, monkeypatch):
    case, tensors = reference(name), reference(name).batch(batch)
    real = tensors["lm_labels"] != -100
    with torch.no_grad():
        assert_close(run(case, tensors)[real], tensors["logits"][real], "logits")
    monkeypatch.setattr(sublayers, "attend", attend_singly)
    exact = double(case.model, tensors["input_ids"], tensors["decoder_input_ids"])
    assert (exact - case.logits64[f"{batch}/logits"])[real].abs().max() <= 1e-9


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_intermediate_tensors(reference, name, batch):
    case, tensors = reference(name), reference(name).batch(batch)
    labels, discrete = tensors["lm_labels"], case.model.config.roles == "discrete"
    names = {
        key: our_name(key, NAMES[name], discrete)
        for key in tensors
        if key.startswith(("encoder.", "decoder.")) and not key.endswith("incl_mask")
    }
    with torch.no_grad(), record(case.model, names.values()) as recorded:
        logits = run(case, tensors)
    assert_close(logits[labels != -100], tensors["logits"][labels != -100], "logits, all read")
    for key, site in names.items():
        expected, vectors = tensors[key], recorded[site]
        if key.endswith(("attention", "role_weights")):  # theirs: head before position
            expected = expected.transpose(1, 2)
            vectors = vectors.transpose(1, 2) if key.endswith("attention") else vectors
        expected = rows(key, expected, labels)
        assert_close(rows(key, vectors, labels).reshape(expected.shape), expected, key)
    assert len(names) > 25


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_position_biases_and_masks(reference, name, batch):
    case, tensors = reference(name), reference(name).batch(batch)
    model, labels = case.model, tensors["lm_labels"]
    with torch.no_grad():
        memory = model.encode(tensors["input_ids"])
        seq = memory.mask.shape[-1]
        encoder = model.encoder_bias(0, seq, seq)
        encoder = encoder + additive(memory.mask, SELF_HIDDEN, encoder)
        self_bias, cross = model._biases(0, labels.shape[1], memory)
    template = "{}.block.0.layer.{}.position_bias_incl_mask"
    assert_close(encoder, tensors[template.format("encoder", 0)], "encoder")
    for number, ours_there in enumerate((self_bias, cross)):
        bias = tensors[template.format("decoder", number)]
        values = ours_there.expand_as(bias).transpose(1, 2)[labels != -100]
        assert_close(values, bias.transpose(1, 2)[labels != -100], f"decoder {number}")
    assert CROSS_HIDDEN < SELF_HIDDEN


def smoothed_loss(logits, labels):
    """The mean over labels, as jiang's code has it."""
    return summed_loss(logits, labels, pad=0, smoothing=0.1) / (labels != 0).sum()


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_losses(reference, name, batch):
    case, tensors = reference(name), reference(name).batch(batch)
    logits = run(case, tensors)
    entropy = F.cross_entropy(logits.flatten(0, 1), tensors["lm_labels"].flatten())
    assert_close(entropy, tensors["loss"].squeeze(), "cross-entropy")
    smoothed = smoothed_loss(logits, tensors["target_ids"])
    assert_close(smoothed, tensors["label_smoothed_loss"].squeeze(), "label-smoothed loss")


@pytest.mark.parametrize("name", JIANG)
def test_training_step(reference, name):
    case, tensors = reference(name), reference(name).batch("a")
    optimizer = Adafactor(case.model.parameters(), lr=relative_step(1))
    smoothed_loss(run(case, tensors), tensors["target_ids"]).backward()
    for key, parameter in case.model.named_parameters():
        assert_close(parameter.grad, case.step[f"grad/{case.published(key)}"], key)
    optimizer.step()
    for key, parameter in case.model.named_parameters():
        assert_close(parameter, case.step[f"after_adafactor/{case.published(key)}"], key)


@pytest.mark.parametrize("name", JIANG)
@pytest.mark.parametrize("batch", ["a", "nopad"])
def test_greedy(reference, name, batch):
    case, tensors = reference(name), reference(name).batch(batch)
    expected = tensors["greedy_cache"][:, 1:]
    ids = generate(case.model, tensors["input_ids"], max_length=expected.shape[1])
    assert ids.equal(expected)


@settings(max_examples=50)
@given(st.integers(1, 70), st.integers(0, 2**31), st.floats(0.1, 30.0))
def test_single_softmax_is_the_softmax_in_float32(keys, seed, scale):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, keys, generator=generator, dtype=torch.float64) * scale
    scores[0, keys // 2 + 1 :] -= 1e9  # masked keys
    weights = single_softmax(scores)
    assert weights.float().double().equal(weights)
    exact = scores.softmax(-1)
    assert (weights - exact).abs().max() <= 3e-7 + scale * 2e-6
    if keys > 1:
        assert weights[0, keys // 2 + 1 :].eq(0).all()
