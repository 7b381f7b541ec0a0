"""Our model with the authors' weights gives every tensor that schlag's code gave."""

import dataclasses
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from papers.parity.authors import BATCHES, SCHLAG, assert_close, double, record

from tprpapers.architectures import transformer
from tprpapers.architectures.transformer import sinusoids
from tprprobe.models.decoding.generation import generate

PER_HEAD = {"q": "query", "k": "key", "v": "value", "r": "role", "v_bar": "filler"}
PER_HEAD["binding"] = "binding"
ATTENTIONS = {"MHA": "self", "selfAttn": "self", "encAttn": "cross"}
EMBEDDING = {"e": "filler", "role": "role", "out": "binding"}
FEED_FORWARD = {"hidden_preact": "feed_forward.expand", "out": "feed_forward"}
CASES = [
    pytest.param(name, batch, id=f"{name}-{batch}") for name, batch in product(SCHLAG, BATCHES)
]


def our_name(key: str, plain: bool) -> str:
    """The site, or else the submodule, that holds the authors' tensor ``key``."""
    stack, kind, *path = key.split(".")
    if kind == "embedding":
        return f"embedding.{'' if stack == 'encoder' else 'target.'}{EMBEDDING[path[0]]}"
    layer, *path = path
    if path == ["out"]:
        return f"{stack}.{layer}.hidden"
    sublayer, name = path
    if sublayer.startswith("layernorm"):
        return f"{stack}.{layer}.norm{sublayer[-1]}"
    if sublayer == "densefilter":
        return f"{stack}.{layer}.{FEED_FORWARD[name]}"
    prefix = f"{stack}.{layer}.{ATTENTIONS[sublayer]}"
    if name == "out":
        return prefix if plain else f"{prefix}.tpr"
    return f"{prefix}.{PER_HEAD.get(name, name)}"


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_logits(reference, name, batch):
    case, tensors = reference(name), reference(name).batch(batch)
    with torch.no_grad():
        logits = case.model(tensors["src"], tensors["decoder_input"])
    assert_close(logits, tensors["logits"], "logits")
    exact = double(case.model, tensors["src"], tensors["decoder_input"])
    assert (exact - case.logits64[f"{batch}/logits"]).abs().max() <= 1e-9


@pytest.mark.parametrize("name", SCHLAG)
def test_logits_do_not_depend_on_the_processor(reference, name, monkeypatch):
    def elsewhere(length: int, d_model: int) -> torch.Tensor:
        return sinusoids(length, d_model) * (1 + 1.5e-5)  # what vector units differ in

    monkeypatch.setattr(transformer, "sinusoids", elsewhere)
    case, tensors = reference(name), reference(name).batch("a")
    exact = double(case.model, tensors["src"], tensors["decoder_input"])
    assert (exact - case.logits64["a/logits"]).abs().max() <= 1e-9


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_intermediate_tensors(reference, name, batch):
    case, tensors = reference(name), reference(name).batch(batch)
    plain = name == "transformer_d64"
    names = {k: our_name(k, plain) for k in tensors if k.startswith(("encoder.", "decoder."))}
    if plain:  # no role, no site: the embedding is the module's output, for either side
        for key, ids in (
            ("encoder.embedding.out", "src"),
            ("decoder.embedding.out", "decoder_input"),
        ):
            assert_close(case.model.embedding(tensors[ids]), tensors[key], key)
            del names[key]
    with torch.no_grad(), record(case.model, names.values()) as recorded:
        logits = case.model(tensors["src"], tensors["decoder_input"])
    assert_close(logits, tensors["logits"], "logits while everything is read")
    for key, site in names.items():
        per_head = key.rsplit(".", 1)[-1] in PER_HEAD
        assert_close(
            recorded[site].transpose(1, 2) if per_head else recorded[site], tensors[key], key
        )
    assert len(names) > 50


@pytest.mark.parametrize(("name", "batch"), CASES)
def test_loss_and_correct_sequences(reference, name, batch):
    case, tensors = reference(name), reference(name).batch(batch)
    logits, labels = case.model(tensors["src"], tensors["decoder_input"]), tensors["labels"]
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=1)
    assert_close(loss, tensors["loss"].squeeze(), "loss")
    right = (logits.argmax(-1) == labels) | (labels == 1)
    assert right.all(1).float().mean().item() == pytest.approx(
        tensors["sequence_correct"].float().mean().item()
    )


@pytest.mark.parametrize("name", SCHLAG)
def test_training_step(reference, name):
    case, tensors = reference(name), reference(name).batch("a")
    model, adam = case.model.train(), case.hparams["adam"]
    optimizer = torch.optim.Adam(
        model.parameters(), lr=adam["lr"], betas=adam["betas"], eps=adam["eps"]
    )
    logits = model(tensors["src"], tensors["decoder_input"])
    loss = F.cross_entropy(logits.flatten(0, 1), tensors["labels"].flatten(), ignore_index=1)
    loss.backward()
    assert_close(loss, case.step["loss"].squeeze(), "loss")
    for key, parameter in model.named_parameters():
        assert_close(parameter.grad, case.step[f"grad/{case.published(key)}"], key)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), adam["max_grad_norm"])
    assert_close(norm, case.step["total_norm"].squeeze(), "gradient norm")
    clip = adam["max_grad_norm"] / norm.item()
    optimizer.step()
    rounding, total = 0, 0
    for key, parameter in model.named_parameters():
        after = case.step[f"after/{case.published(key)}"]
        # Adam's first step is lr g / (|g| + ε): where |g| is of the size of ε, a key's bias (its
        # gradient is 0 but for rounding) and single other numbers, rounding alone decides it.
        gradient = case.step[f"grad/{case.published(key)}"].abs() * clip
        settled = (gradient > 10 * adam["eps"]) | (gradient == 0)
        assert_close(parameter[settled], after[settled], key)
        assert (parameter - after)[~settled].abs().le(2 * adam["lr"]).all()
        if not key.endswith("to_key.bias"):
            rounding, total = rounding + int((~settled).sum()), total + settled.numel()
    assert rounding < 0.01 * total


@pytest.mark.parametrize(("name", "batch"), CASES)
@pytest.mark.parametrize("end", ["greedy", "greedy_noeos", "greedy_eos_alt"])
def test_greedy(reference, name, batch, end):
    case, tensors = reference(name), reference(name).batch(batch)
    eos = {"greedy": 3, "greedy_noeos": -1}.get(end) or tensors["greedy_eos_alt_id"].item()
    case.model.config = dataclasses.replace(case.model.config, eos=eos)
    expected = tensors[end][:, 1:]
    ids = generate(case.model, tensors["src"], max_length=expected.shape[1])
    ended = (expected == eos).cumsum(1)
    ended = (ended - (expected == eos).long()) > 0  # behind the end, where the authors' rows go on
    assert ids.equal(expected.masked_fill(ended, case.model.config.pad)[:, : ids.shape[1]])
