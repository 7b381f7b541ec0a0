"""The vocabulary of interventions: what each edit does, where, with a cache and without one."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tprprobe import interventions as edits
from tprprobe.errors import InputError
from tprprobe.interventions.batched_edits import (
    SYMBOLS_PER_PASS,
    score_variants,
)
from tprprobe.models import build
from tprprobe.models.decoding.generation import generate
from tprprobe.site.hooks import capture, find_sites, intervene

SIZES = {"d_model": 16, "n_heads": 2, "n_layers": (2, 2), "d_ff": 24}
CASES = {
    "tp-transformer": SIZES,
    "tpt": {**SIZES, "d_head": 8, "vocab_size": 30, "n_roles": 5},
    "tpgn": {"vocab_size": 12, "d_model": 4, "d_embedding": 5, "d_features": 6},
}
SOURCE = torch.tensor([[2, 9, 8, 7, 3], [2, 6, 3, 1, 1], [2, 5, 6, 9, 3]])
TARGET = torch.tensor([[2, 9, 4, 3], [2, 8, 3, 1], [2, 2, 5, 6]])
VECTORS = ("batch", "seq", "head", "d_head")


def model_of(case: str, seed: int = 0, shallow: bool = False):
    layers = {"n_layers": (1, 1)} if shallow and "n_layers" in CASES[case] else {}
    return build({"architecture": case, **CASES[case], **layers}, seed=seed).eval()


def source_of(case: str) -> Tensor:
    if case == "tpgn":
        return torch.randn(3, 6, generator=torch.Generator().manual_seed(1))
    return SOURCE


@pytest.mark.parametrize("case", ["tp-transformer", "tpt", "tpgn"])
def test_the_captured_values_change_nothing_bit_for_bit(case):
    model, source = model_of(case, shallow=True), source_of(case)
    for name in find_sites(model):
        with capture(model, name) as acts:  # attention maps are computed another way while read
            expected = model(source, TARGET)
        with intervene(model, {name: edits.patch(acts[name])}):
            assert model(source, TARGET).equal(expected), name
        with intervene(model, {name: edits.zero(strength=0.0)}):
            assert model(source, TARGET).equal(expected), name


@pytest.mark.parametrize("case", ["tp-transformer", "tpt"])
def test_cached_and_whole_passes_agree_under_edits(case):
    model, bank = (
        model_of(case, shallow=True),
        torch.randn(7, generator=torch.Generator().manual_seed(0)),
    )
    mask = torch.tensor([[True, False, True, True, False]] * 3)
    sites = find_sites(model)
    read_sites = [n for n in sites if n.startswith("decoder.") and not n.endswith("attention")]
    for number, name in enumerate(read_sites):
        site = sites[name]
        heads = [1] if "head" in site.axes and model.config.n_heads == 2 else None
        shape = (2, site.width) if "head" in site.axes else (site.width,)
        reference = bank[torch.arange(5 * shape[0] * (shape[1] if len(shape) > 1 else 1)) % 7]
        reference = reference.view(5, *shape)
        every = (
            edits.resample(reference, seed=3, heads=heads, positions=mask),
            edits.mean(reference, positions=mask, strength=0.5),
            edits.snap(reference.transpose(0, 1) if len(shape) > 1 else reference, heads=heads),
            edits.Chain((edits.one(positions=mask), edits.zero(heads=heads))),
        )
        edit = every[number % len(every)]
        with intervene(model, {name: edit}):
            ids = generate(model, SOURCE, max_length=5)
            start = torch.full((3, 1), model.config.sos)
            for length in range(ids.shape[1]):
                prefix = torch.cat([start, ids[:, :length]], 1)
                if length and (ids[:, :length] == model.config.eos).any():
                    break
                best = model(SOURCE, prefix)[:, -1].argmax(-1)
                assert best.equal(ids[:, length]), (name, edit, length)


def test_edits_reach_the_chosen_heads_and_positions_only():
    x = torch.randn(3, 5, 2, 8)
    mask = torch.tensor([[True, False, False, False, True]] * 3)
    out = edits.zero(heads=[1], positions=mask)(x, VECTORS)
    assert (out[:, [0, 4], 1] == 0).all()
    unedited = torch.ones(3, 5, 2, dtype=torch.bool)
    unedited[:, [0, 4], 1] = False
    assert out[unedited].equal(x[unedited])
    assert edits.one(positions=mask[:, :2])(x, VECTORS)[:, 2:].equal(x[:, 2:])  # behind its end
    numbered = edits.zero(positions=[1, 3])(x, VECTORS)
    assert not numbered[:, [1, 3]].any()
    assert numbered[:, [0, 2]].equal(x[:, [0, 2]])
    with pytest.raises(InputError, match=r"positions \[-1\]: count from 0"):
        edits.zero(positions=[-1])(x, VECTORS)
    maps = torch.rand(3, 2, 5, 5)
    edited_maps = edits.zero(heads=[0], positions=mask)(maps, ("batch", "head", "query", "key"))
    assert (edited_maps[:, 0, [0, 4]] == 0).all()
    assert edited_maps[:, 1].equal(maps[:, 1])


def test_the_vocabulary():
    x = torch.randn(3, 5, 2, 8)
    vector = torch.randn(2, 8)
    assert edits.set_to(vector)(x, VECTORS).equal(vector.expand_as(x))
    bank = torch.randn(9, 2, 8)
    assert edits.mean(bank)(x, VECTORS)[1, 2].allclose(bank.mean(0))
    resampled = edits.resample(bank, seed=1)(x, VECTORS)
    assert all(
        any(vector.equal(bank_vector) for bank_vector in bank) for vector in resampled.flatten(0, 1)
    )
    assert resampled.equal(edits.resample(bank, seed=1)(x, VECTORS))
    assert not resampled.equal(edits.resample(bank, seed=2)(x, VECTORS))
    half = edits.zero(strength=0.5)(x, VECTORS)
    assert half.allclose(x / 2)
    weights = torch.rand(3, 5, 2, 8)
    hot = edits.one_hot()(weights, VECTORS)
    assert hot.argmax(-1).equal(weights.argmax(-1))
    assert hot.sum(-1).eq(1).all()


@given(st.integers(1, 6), st.integers(0, 99))
def test_snapping_takes_the_nearest_centre(k, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, 3, 2, 4, generator=generator)
    centers = torch.randn(2, k, 4, generator=generator)
    scale = torch.rand(2, 4, generator=generator) + 0.5
    snapped = edits.snap(centers, scale)(x, VECTORS)
    distances = ((x[..., None, :] - centers) / scale[:, None, :]).square().sum(-1)
    nearest = distances.argmin(-1)
    assert snapped.equal(centers[torch.arange(2), nearest])
    assert edits.snap(centers, scale)(snapped, VECTORS).equal(snapped)


def test_a_swap_is_its_own_inverse_and_exchanges_the_pair():
    order = edits.exchange([(1,), (0, 2)], [(3,), (4, 1)], 5)
    assert order.tolist() == [[0, 3, 2, 1, 4], [4, 2, 1, 3, 0]]
    x = torch.randn(4, 6, 2, 8)  # two rows a sample, and a padded position
    out = edits.swap(order)(x, VECTORS)
    assert out[1, 1].equal(x[1, 3])
    assert out[2, 4].equal(x[2, 0])
    assert out[:, 5].equal(x[:, 5])
    assert edits.swap(order)(out, VECTORS).equal(x)


def test_swapping_whole_states_of_the_last_layer_changes_no_logits_but_rounding():
    model, order = model_of("tp-transformer"), edits.exchange([(1,)] * 3, [(2,)] * 3, 5)
    source = SOURCE.clone()
    source[1] = source[0]  # pads must not be exchanged with symbols
    expected = model(source, TARGET)
    for layer in (-1, 0):
        with intervene(model, {f"encoder.{layer}.hidden": edits.swap(order)}):
            assert model(source, TARGET).allclose(expected, atol=1e-5)
    with intervene(model, {"encoder.-1.self.role": edits.swap(order)}):
        assert not model(source, TARGET).allclose(expected, atol=1e-3)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (edits.zero(heads=[2]), "head 2: this site has heads 0 to 1"),
        (edits.patch(torch.zeros(3, 4, 2, 8)), "patch has 4 positions, the site 5"),
        (edits.swap(torch.tensor([[5]])), "swap reads a position"),
        (edits.swap(torch.zeros(2, 5).long()), "an edit for 2 samples was used on 3 rows"),
    ],
)
def test_an_edit_that_does_not_fit_says_why(edit, message):
    with pytest.raises(InputError, match=message):
        edit(torch.zeros(3, 5, 2, 8), VECTORS)


def test_heads_of_a_site_without_heads_are_refused():
    with pytest.raises(InputError, match="has no heads"):
        edits.zero(heads=[0])(torch.zeros(3, 5, 8), ("batch", "seq", "d_model"))


def test_a_swap_on_the_decoder_needs_a_whole_pass():
    model, order = model_of("tp-transformer"), edits.exchange([(0,)] * 3, [(2,)] * 3, 4)
    with intervene(model, {"decoder.0.self.role": edits.swap(order)}):
        assert model(SOURCE, TARGET).shape[1] == 4
        with pytest.raises(InputError, match="whole passes"):
            generate(model, SOURCE, max_length=4)


def test_nested_interventions_leave_the_model_as_it_was():
    model = model_of("tp-transformer")
    expected = model(SOURCE, TARGET)
    with intervene(model, {"encoder.0.self.role": edits.zero()}):
        with intervene(model, {"decoder.0.self.role": edits.zero()}):
            model(SOURCE, TARGET)
        assert "decode" in model.__dict__
    assert "decode" not in model.__dict__
    assert model(SOURCE, TARGET).equal(expected)


@pytest.mark.parametrize(  # one variant a pass, and all of a place
    ("case", "at_once"),
    [("tp-transformer", 1), *((case, 10**6) for case in ("tp-transformer", "tpt", "tpgn"))],
)
def test_variants_in_one_pass_are_the_same_as_one_by_one(case, at_once, monkeypatch):
    monkeypatch.setitem(SYMBOLS_PER_PASS, "cpu", at_once)
    model, source = model_of(case), source_of(case)
    names = [name for name in find_sites(model) if not name.endswith("attention")]
    variants = [{}, *({name: edits.zero(strength=0.7)} for name in names)]
    scores = score_variants(model, source, [TARGET, TARGET.flip(0)], variants)
    for variant_index, variant in enumerate(variants):
        with intervene(model, variant):
            for number, target in enumerate((TARGET, TARGET.flip(0))):
                logits = model(source, target[:, :-1]).log_softmax(-1)
                real = target[:, 1:] != model.config.pad
                nats = logits.gather(-1, target[:, 1:, None])[..., 0].masked_fill(~real, 0).sum(1)
                assert scores.log_probability[variant_index, number].allclose(nats, atol=1e-4), (
                    variant
                )
                best = (logits.argmax(-1) == target[:, 1:]) | ~real
                assert scores.is_written[variant_index, number].equal(best.all(1))
