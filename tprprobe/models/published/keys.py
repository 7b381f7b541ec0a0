"""Tensors by name: the contents that a state dictionary must have, with one-line errors."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Size, Tensor

from tprprobe.errors import InputError

# option → the values that a file admits, the default first
Options = dict[str, tuple[Any, ...]]


def shape_of(state: Mapping[str, Tensor], key: str, axes: int = 2) -> Size:
    if key not in state:
        raise missing(key, state)
    return checked(key, state[key].shape, axes)


def checked(key: str, shape: Size, axes: int) -> Size:
    """The shape, checked to have so many axes, none of them empty."""
    if len(shape) != axes or 0 in shape:
        raise InputError(f"{key} has shape {tuple(shape)}, {axes} axes are needed")
    return shape


def missing(key: str, names: Iterable[str]) -> InputError:
    return InputError(f"the file lacks the tensor {key!r}{nearest(key, names)}")


def nearest(key: str, names: Iterable[str]) -> str:
    """The nearest other name, phrased as the end of a sentence."""
    near = difflib.get_close_matches(key, [name for name in names if name != key], n=1)
    return f" (the nearest name is {near[0]!r})" if near else ""


def count_layers(state: Mapping[str, Tensor], stack: str) -> int:
    found = (re.match(rf"{stack}\.(\d+)\.", key) for key in state)
    numbers = {int(match[1]) for match in found if match}
    if not numbers or max(numbers) >= len(numbers):
        raise InputError(f"{stack} has the layers {sorted(numbers)}: 0, 1, … are needed")
    return len(numbers)


def rename(
    state: Mapping[str, Tensor],
    names: Mapping[str, str],
    shapes: Mapping[str, Size],
    ignored: Iterable[str],
) -> dict[str, Tensor]:
    """The tensors under our names, ``{our name: name in the file}``, float32."""
    extra = sorted(set(state) - set(names.values()) - set(ignored))
    for key in names.values():
        if key not in state:
            raise missing(key, extra or state)
    if extra:
        raise InputError(
            f"the file has {len(extra)} tensors that this model does not, "
            f"the first is {extra[0]!r}{nearest(extra[0], names.values())}"
        )
    for own, key in names.items():
        if state[key].shape != shapes[own]:
            raise InputError(
                f"{key} has shape {tuple(state[key].shape)}, "
                f"this configuration asks for {tuple(shapes[own])}"
            )
    return {own: state[key].float() for own, key in names.items()}
