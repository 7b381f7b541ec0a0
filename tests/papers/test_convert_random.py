"""Conversion holds for any size and setting: against the equations, written out, on random weights."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from parity import literaljiang, literalschlag
from torch import Tensor

from tprpapers.equations import binding_contract
from tprprobe.models import load_model
from tprprobe.models.convert import convert
from tprprobe.site.hooks import capture

FLAGS = {
    "use_tp_enc": [True, False],
    "use_tp_dec": [True, False],
    "use_discrete_roles": [True, False],
    "roles_after_residual": [True, False],
    "multi_head_rar": [True, False],
    "tpr_binding_type": ["hadamard", "full_tensor_product"],
    "role_weights_input": ["input", "v_bar", "query", "v_bar_2"],
    "share_roles_among_heads": [True, False],
    "use_tpr_gate": [True, False],
    "tpr_output_type": ["add", "concat", "proj&add"],
}
SEEDS = st.integers(0, 2**31)
FEW_EXAMPLES = settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.filter_too_much]
)


def runs(c: dict[str, Any]) -> bool:
    """Whether the authors' code can run the setting."""
    fits = c["num_heads"] * c["d_kv"] == c["d_model"]
    hadamard, discrete = c["tpr_binding_type"] == "hadamard", c["use_discrete_roles"]
    if not (c["use_tp_enc"] or c["use_tp_dec"]):
        return True
    if c["roles_after_residual"]:
        return hadamard and (fits or not (discrete and c["multi_head_rar"]))
    return (discrete or hadamard) and (
        fits or not (discrete and c["role_weights_input"] == "v_bar")
    )


@st.composite
def jiang_configs(draw) -> dict[str, Any]:
    sizes = {
        "num_heads": draw(st.integers(1, 4)),
        "d_kv": draw(st.integers(1, 5)),
        "d_ff": draw(st.integers(1, 12)),
        "num_layers": draw(st.integers(1, 2)),
        "num_roles": draw(st.integers(1, 5)),
        "relative_attention_num_buckets": draw(st.sampled_from([4, 8, 32])),
    }
    flags = {flag: draw(st.sampled_from(values)) for flag, values in FLAGS.items()}
    d = sizes["num_heads"] * sizes["d_kv"]
    if flags["tpr_output_type"] == "concat" or draw(st.booleans()):
        d = draw(st.sampled_from([8, 16]))
    config = literaljiang.DEFAULTS | sizes | flags | {"d_model": d}
    assume(runs(config))
    return config


@st.composite
def batches(draw, vocab: int, pad: int, start: int) -> tuple[Tensor, Tensor]:
    """Padded ids of both sides; every source has a real symbol."""
    generator = torch.Generator().manual_seed(draw(SEEDS))
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 20), st.integers(1, 12)))
    source = torch.randint(2, vocab, shape[:2], generator=generator)
    target = torch.randint(2, vocab, (shape[0], shape[2]), generator=generator)
    source[0, draw(st.integers(1, shape[1])) :] = pad
    target[0, draw(st.integers(1, shape[2])) :] = pad
    target[:, 0] = start
    return source, target


def converted(checkpoint: dict[str, Any], config: dict[str, Any]) -> Any:
    """The model in double precision: norms of what cancels would enlarge the rounding of single."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        torch.save(checkpoint, path)
        return load_model(convert(path, Path(folder) / "out", config=config)).double()


def doubled(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.double() for name, tensor in state.items()}


def assert_close(values: Tensor, expected: Tensor, name: str) -> None:
    values = values.reshape(expected.shape)
    scale = expected.abs().max().clamp(min=1.0)
    assert (values - expected).abs().max() <= 2e-5 * scale, name


def check(model: Any, batch: tuple[Tensor, Tensor], expected: Tensor, vectors: dict[str, Tensor]):
    """Logits with and without reading, every vector of the equations, and the binding contract."""
    with torch.no_grad():
        assert_close(model(*batch), expected, "logits")
        with capture(model, "*") as captured:
            assert_close(model(*batch), expected, "logits, all sites read")
    for site, vector in vectors.items():
        assert_close(captured[site], vector, site)
    suffixes = (".role_weights", ".role", ".binding", ".tpr")
    bound = {site for site in captured if site.endswith(suffixes)}
    assert bound <= set(vectors)
    report = binding_contract(model, batch)
    assert set(report["site"]) == bound
    assert (report["deviation"] <= 2e-5 * report["scale"].clip(lower=1.0)).all()


def steps(model: Any, source: Tensor, target: Tensor) -> Tensor:
    """The logits, one position after another through the cache."""
    memory, cache, logits = model.encode(source), None, []
    for t in range(target.shape[1]):
        step, cache = model.decode(target[:, t : t + 1], memory, cache)
        logits.append(step)
    return torch.cat(logits, 1)


@FEW_EXAMPLES
@given(jiang_configs(), SEEDS, st.data())
def test_any_setting_of_jiang(config, seed, data):
    state = literaljiang.random_state(config, seed)
    model = converted({"state_dict": {f"model.{k}": v for k, v in state.items()}}, config)
    batch = data.draw(batches(config["vocab_size"], 0, 0))
    expected, vectors = literaljiang.forward(doubled(state), config, *batch)
    check(model, batch, expected, vectors)
    inside = config["use_tp_dec"] and not config["roles_after_residual"]
    reads_heads = config["role_weights_input"] in ("query", "v_bar_2")
    if not (inside and config["use_discrete_roles"] and reads_heads):  # those look ahead
        with torch.no_grad():
            assert_close(steps(model, *batch), expected, "through the cache")


@settings(FEW_EXAMPLES, max_examples=10)
@given(
    st.builds(
        literalschlag.Sizes,
        heads=st.integers(1, 4),
        width=st.sampled_from([2, 4, 6]),
        layers=st.integers(1, 2),
        filter=st.integers(1, 12),
        roles=st.booleans(),
        binding=st.booleans(),
    ),
    SEEDS,
    st.booleans(),
    st.data(),
)
def test_any_size_of_schlag(sizes, seed, parallel, data):
    assume(sizes.roles or not sizes.binding)
    state = literalschlag.random_state(sizes, seed)
    prefix = "module." if parallel else ""
    checkpoint = {"model": {prefix + k: v for k, v in state.items()}, "global_step": 7}
    model = converted(checkpoint, {"n_heads": sizes.heads})
    batch = data.draw(batches(sizes.vocab, 1, 2))
    expected, vectors = literalschlag.forward(doubled(state), sizes, *batch)
    check(model, batch, expected, vectors)
