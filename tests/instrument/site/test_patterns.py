import pytest
from hypothesis import given
from hypothesis import strategies as st

from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of, select, side_of

NAMES = [
    "embedding.role",
    *(f"encoder.{l}.self.{kind}" for l in range(12) for kind in ("role", "filler")),
    *(f"encoder.{l}.hidden" for l in range(12)),
    *(f"decoder.{l}.{attention}.role" for l in range(2) for attention in ("self", "cross")),
]


@given(st.lists(st.sampled_from(NAMES), min_size=1))
def test_names_are_patterns_of_themselves_and_come_in_the_models_order(names):
    assert select(names, NAMES) == [name for name in NAMES if name in names]


@given(st.integers(0, 11))
def test_negative_layers_count_from_the_last_of_their_stack(layer):
    assert select(f"encoder.{layer - 12}.hidden", NAMES) == [f"encoder.{layer}.hidden"]
    assert select(f"encoder.{layer - 12}.*", NAMES) == select(f"encoder.{layer}.*", NAMES)


def test_globs():
    assert select("encoder.*.role", NAMES) == [f"encoder.{l}.self.role" for l in range(12)]
    assert select("*", NAMES) == NAMES
    assert select(["*.cross.*", "embedding.*"], NAMES) == [
        "embedding.role",
        "decoder.0.cross.role",
        "decoder.1.cross.role",
    ]
    assert select("encoder.1?.hidden", NAMES) == ["encoder.10.hidden", "encoder.11.hidden"]
    assert select("encoder.[01].hidden", NAMES) == ["encoder.0.hidden", "encoder.1.hidden"]


@pytest.mark.parametrize(
    ("pattern", "nearest"),
    [
        ("encoder.0.self.rol", "encoder.0.self.role"),
        ("encoder.5.hiden", "encoder.5.hidden"),
        ("embeding.role", "embedding.role"),
        ("decoder.-1.cros.role", "decoder.1.cross.role"),
    ],
)
def test_a_pattern_without_a_match_is_refused_with_the_nearest_name(pattern, nearest):
    with pytest.raises(InputError) as refused:
        select(["*", pattern], NAMES)
    message = str(refused.value)
    assert repr(pattern) in message
    assert f"did you mean {nearest!r}" in message
    assert "\n" not in message


@pytest.mark.parametrize("pattern", ["encoder.-13.hidden", "decoder.-3.*", "", "encoder.-0.hidden"])
def test_layers_that_are_not_there_are_refused(pattern):
    with pytest.raises(InputError, match="unknown site"):
        select(pattern, NAMES)


def test_layers_and_sides():
    assert layer_of("encoder.11.self.role") == 11
    assert layer_of("embedding.role") is None
    assert side_of("encoder.0.self.key") == side_of("embedding.binding") == "source"
    assert side_of("decoder.0.self.key") == side_of("embedding.target.role") == "target"
    assert side_of("decoder.0.cross.query") == side_of("decoder.0.hidden") == "target"
    assert side_of("decoder.0.cross.key") == side_of("decoder.0.cross.value") == "source"
