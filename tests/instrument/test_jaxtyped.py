"""What the suite calls is checked: axes where they are written, types everywhere."""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
import torch
from beartype.roar import BeartypeCallHintParamViolation
from jaxtyped import MOST_CHECKED, check, has_axes, typed
from jaxtyping import Float, TypeCheckError

from tprprobe.algebra import duals
from tprprobe.errors import unknown

Rows = Float[np.ndarray, "token d"]


def test_axes_of_arguments_are_matched():
    with pytest.raises(TypeCheckError):
        duals(torch.ones(3))


def test_types_of_arguments_are_checked():
    with pytest.raises(BeartypeCallHintParamViolation):
        unknown(3, "x", ["y"])  # pyright: ignore


@pytest.mark.parametrize(
    "kind", [Rows, Rows | None, dict[str, Rows], Callable[[Rows], int], "Rows"]
)
def test_annotations_with_axes(kind):
    assert has_axes(kind)


@pytest.mark.parametrize("kind", [int, None, dict[str, int], Literal["a"], Callable[..., int]])
def test_annotations_without(kind):
    assert not has_axes(kind)


def test_a_function_inside_another_is_checked_where_it_is_first_defined():
    def define() -> Callable[[int], int]:
        def double(x: int) -> int:
            return 2 * x

        return check(double, typechecker=typed)

    early, *_, late = (define() for _ in range(MOST_CHECKED + 2))
    with pytest.raises(BeartypeCallHintParamViolation):
        early("a")  # pyright: ignore
    assert late("a") == "aa"  # pyright: ignore
