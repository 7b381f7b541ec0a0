"""A model that reads digits without blanks: its embeddings bind nothing, its layers as much as an independent program finds."""

import numpy as np
import pytest
import torch
import transformers

import tprprobe as tp
from tprprobe.analyses.decomposition.binding_claims import binds
from tprprobe.analyses.decomposition.variance_shares import score_shares

LONGEST, SITES = 7, ("layers.embedding", "layers.0.hidden", "layers.1.hidden")


@pytest.fixture(scope="module")
def strings():
    rng = np.random.default_rng(4)
    return ["".join(map(str, rng.integers(10, size=rng.integers(4, 1 + LONGEST)))) for _ in range(700)]  # fmt: skip


@pytest.fixture(scope="module")
def store(strings, tmp_path_factory):
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    digits = Tokenizer(models.WordLevel({name: i for i, name in enumerate(["?", *"0123456789"])}, "?"))  # fmt: skip
    digits.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=digits, unk_token="?", pad_token="?"
    )
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=11, n_embd=24, n_layer=2, n_head=2, n_positions=16, initializer_range=0.4, bos_token_id=0, eos_token_id=0)  # fmt: skip
    module = transformers.GPT2Model(config).eval()
    model = tp.load_model(module, tokenizer)
    return tp.extract(
        model, strings, SITES, tmp_path_factory.mktemp("digits"), control=False, pool="mean"
    )


def share_by_halves(strings, states):
    """The products of two halves' least squares of what places add to the bag of digits, over the variance."""
    counts = np.zeros((len(strings), 10, LONGEST))
    for i, string in enumerate(strings):
        counts[i, [int(digit) for digit in string], range(len(string))] = 1 / len(string)
    expected = counts.sum(2, keepdims=True) * (counts.sum(1, keepdims=True) > 0)
    order = (counts - expected * counts.sum(1, keepdims=True)).reshape(len(strings), -1)
    columns = np.hstack([order, counts.sum(2), counts.sum(1)])
    fits = [np.linalg.lstsq(columns[half::2], states[half::2])[0][: order.shape[1]] for half in (0, 1)]  # fmt: skip
    return ((order @ fits[0]) * (order @ fits[1])).sum() / ((states - states.mean(0)) ** 2).sum()


@pytest.fixture(scope="module")
def bindings(store):
    table = score_shares(store, SITES, ["left"], "mean")
    return table[(table["family"] == "factored") & (table["control"] == "")].set_index("site")


def test_embeddings_do_not_bind(bindings):
    row = bindings.loc[SITES[0]]
    assert row["share_low"] - 1e-9 < 0 < row["share_high"] + 1e-9  # exactly 0, but for rounding
    assert not binds(row.to_dict())


def test_layers_bind_as_much_as_an_independent_program_finds(bindings, store, strings):
    for site in SITES[1:]:
        share = share_by_halves(strings, store.read(site).astype(float))
        print(site, share, bindings.loc[site, ["share", "share_low", "share_high"]].tolist())
        assert share > 0.01
        assert bindings.loc[site, "share_low"] <= share <= bindings.loc[site, "share_high"]
