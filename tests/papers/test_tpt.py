"""jiang's models: sizes, masks, and settings that cannot be."""

from typing import Any

import pytest
import torch

from tprpapers.architectures.tpt import buckets
from tprprobe.errors import InputError
from tprprobe.models import build, count_parameters

SMALL = {"architecture": "tpt", "vocab_size": 23, "d_model": 16, "n_heads": 4, "d_head": 4}
SMALL |= {"n_layers": (2, 2), "d_ff": 20, "n_roles": 5}
INSIDE = {"after_residual": False}
SOURCE = torch.tensor([[5, 6, 7, 8, 9], [4, 3, 0, 0, 0]])
TARGET = torch.tensor([[0, 5, 6, 7], [0, 7, 0, 8]])


def small(seed: int = 0, **options: Any) -> Any:
    return build(SMALL | options, seed=seed).eval()


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"preset": "tpt-d", "after_residual": False, "shared_roles": False}, 64_661_280),
        ({"preset": "tpt-d", "multi_head": False}, 61_429_380),
    ],
)
def test_parameter_counts_of_the_published_code(options, count):
    assert count_parameters(options) == count


def test_roles_read_at_heads_look_ahead_as_published():
    """The published view of [head, seq] as [seq, head]: a later symbol changes an earlier row."""
    changed = TARGET.clone()
    changed[:, -1] = 11
    for role_input, looks_ahead in (("input", False), ("query", True), ("v_bar_2", True)):
        model = small(after_residual=False, role_input=role_input)
        with torch.no_grad():
            early = [model(SOURCE, target)[:, 0] for target in (TARGET, changed)]
        assert early[0].allclose(early[1], atol=1e-6) != looks_ahead


def test_pads_are_masked_in_the_source_and_read_in_the_target():
    model = small()
    longer = torch.cat([SOURCE, torch.zeros(2, 3, dtype=torch.long)], 1)
    started = TARGET.clone()
    started[:, 0] = 4
    with torch.no_grad():
        assert model(longer, TARGET).allclose(model(SOURCE, TARGET), atol=1e-5)
        later = [model(SOURCE, target)[:, 2] for target in (TARGET, started)]
        nothing = model(torch.zeros(1, 4, dtype=torch.long), TARGET[:1])
    assert not later[0].allclose(later[1], atol=1e-4)  # the start symbol is the pad id
    assert nothing.isfinite().all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"binding": "full_tensor_product"}, "after the residual"),
        ({"d_head": 3}, "4 heads of 3"),
        ({"d_model": 12, "d_head": 3, "output": "concat"}, "8 divides"),
        (INSIDE | {"roles": "continuous", "binding": "full_tensor_product"}, "continuous"),
        (INSIDE | {"role_input": "v_bar", "d_head": 3}, "v_bar"),
        ({"n_buckets": 2}, "n_buckets"),
        ({"role_input": "q"}, "query"),
        ({"n_layers": (1, 0)}, "n_layers"),
    ],
)
def test_settings_that_the_authors_code_cannot_run(options, says):
    with pytest.raises(InputError, match=says):
        small(**options)


def test_buckets_of_distances():
    two_sided = buckets(torch.arange(-300, 301)[None], 32, bidirectional=True)[0]
    assert two_sided[300] == 0
    assert two_sided[299].item() == 1  # one behind
    assert two_sided[301].item() == 17  # one ahead
    assert (two_sided.min(), two_sided.max()) == (0, 31)
    one_sided = buckets(torch.arange(-300, 301)[None], 32, bidirectional=False)[0]
    assert (one_sided[300:] == 0).all()  # everything ahead shares the first bucket
    assert one_sided[284:301].tolist() == list(range(16, -1, -1))
    assert (one_sided.diff() <= 0).all()
    assert one_sided[:173].unique().tolist() == [31]  # 128 behind and more
