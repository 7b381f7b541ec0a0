"""Whatever is done to one tensor of a checkpoint, conversion ends in one line and writes nothing."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planted.publishedfiles import HEADS, jiang_state, schlag_state

from tprprobe.errors import InputError
from tprprobe.models.convert import convert

INSIDE = {"roles_after_residual": False, "use_tpr_gate": True, "share_roles_among_heads": False}
STATES: list[tuple[str, dict[str, torch.Tensor], dict[str, Any]]] = [
    ("model", schlag_state(), HEADS),
    ("state_dict", jiang_state(tied=False), {}),
    ("state_dict", jiang_state(tied=False, **INSIDE), {}),
]
SHAPES = st.lists(st.integers(0, 20), max_size=4).map(tuple)
KINDS = [torch.int64, torch.bool, torch.complex64]


OPTIONAL = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(STATES), st.sampled_from(["lost", "renamed", "reshaped", "cast"]), st.data())
def test_any_damage_to_a_tensor_is_one_line(tmp_path: Path, family, damage, data):
    wrapper, intact, config = family
    key = data.draw(st.sampled_from(sorted(set(intact) - {OPTIONAL})))
    state = {name: tensor for name, tensor in intact.items() if name != key}
    if damage == "renamed":
        names = ["encoder.block.99.x", "decoder.layers.7.y", f"{key}x"]
        state[data.draw(st.sampled_from(names))] = intact[key]
    elif damage == "reshaped":
        state[key] = torch.zeros(data.draw(SHAPES.filter(lambda shape: shape != intact[key].shape)))
    elif damage == "cast":
        state[key] = intact[key].to(data.draw(st.sampled_from(KINDS)))
    torch.save({wrapper: state}, tmp_path / "c.pt")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError) as caught:
        convert(tmp_path / "c.pt", tmp_path / "out", config=config)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before
