"""What the suite calls is checked: axes where they are written, types everywhere."""

from collections.abc import Callable

import pytest
import torch
from beartype.roar import BeartypeCallHintParamViolation
from jaxtyped import MOST_CHECKED, check, typed
from jaxtyping import TypeCheckError

from tprprobe.algebra import duals
from tprprobe.errors import unknown


def test_axes_of_arguments_are_matched():
    with pytest.raises(TypeCheckError):
        duals(torch.ones(3))


def test_types_of_arguments_are_checked():
    with pytest.raises(BeartypeCallHintParamViolation):
        unknown(3, "x", ["y"])  # pyright: ignore


def test_a_function_inside_another_is_checked_where_it_is_first_defined():
    def define() -> Callable[[int], int]:
        def double(x: int) -> int:
            return 2 * x

        return check(double, typechecker=typed)

    early, *_, late = (define() for _ in range(MOST_CHECKED + 2))
    with pytest.raises(BeartypeCallHintParamViolation):
        early("a")  # pyright: ignore
    assert late("a") == "aa"  # pyright: ignore
