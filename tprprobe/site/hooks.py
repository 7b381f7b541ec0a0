"""Reading and replacing vectors at named sites: the only place that registers hooks on them."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd
from torch import Tensor, nn

from tprprobe.errors import InputError
from tprprobe.site.patterns import select, side_of
from tprprobe.site.site import FOREIGN, Site

Edit = Callable[[Tensor], Tensor]


class PlacedEdit(ABC):
    """An edit that is told its place: the axes of the site, and the first position.

    ``start`` is 0 in a whole pass; a decoder with a cache passes on one position at a time.
    """

    @abstractmethod
    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        """The tensor that takes the given one's place."""


def find_sites(model: nn.Module) -> dict[str, Site]:
    """The sites of a model by their dotted names, in the order of the modules."""
    found = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, Site) and not name.startswith(f"{FOREIGN}.")
    }
    if not found:
        raise InputError(
            f"{type(model).__name__} has no sites: give them with tp.attach(module, {{site: submodule}})"
        )
    return found


def sites(model: nn.Module) -> pd.DataFrame:
    """The sites of a model: a table of site, axes and width (of the last axis, where it is fixed)."""
    rows = [(name, " × ".join(site.axes), site.width) for name, site in find_sites(model).items()]
    table = pd.DataFrame(rows, columns=["site", "axes", "width"])
    return table.astype({"width": "Int64"})


@contextlib.contextmanager
def capture(model: nn.Module, patterns: str | Iterable[str]) -> Iterator[dict[str, Tensor]]:
    """A dictionary that holds the tensors of all sites matching ``patterns`` after a forward pass.

    Shapes are those of ``sites(model)``. Tensors keep their gradient history, if any; of several
    passes (or decoding steps) the last one remains.
    """
    found = find_sites(model)
    captured: dict[str, Tensor] = {}

    with contextlib.ExitStack() as stack:
        for name in select(patterns, list(found)):
            hook = found[name].register_forward_hook(partial(_keep, captured, name))
            stack.callback(hook.remove)
        yield captured


def _keep(
    captured: dict[str, Tensor], name: str, _module: nn.Module, _inputs: Any, output: Tensor
) -> None:
    captured[name] = output


@contextlib.contextmanager
def intervene(model: nn.Module, edits: Mapping[str, Edit | PlacedEdit]) -> Iterator[None]:
    """A block in which each site that matches a pattern passes on ``edit(tensor)`` instead of its
    tensor.

    Several edits of one site are made in the order of ``edits``. Captures opened after it see the
    edited values, those opened before it the original ones.

    Raises:
        InputError: a pattern matches no site, or an edit returns another shape.
    """
    found = find_sites(model)

    with contextlib.ExitStack() as stack:
        steps = stack.enter_context(_count_steps(model))
        for pattern, edit in edits.items():
            for name in select(pattern, list(found)):
                hook = partial(_replace, name, found[name].axes, edit, steps)
                stack.callback(found[name].register_forward_hook(hook).remove)
        yield


def _replace(
    name: str,
    axes: tuple[str, ...],
    edit: Edit | PlacedEdit,
    steps: "Steps",
    _module: nn.Module,
    _inputs: Any,
    output: Tensor,
) -> Tensor:
    if isinstance(edit, PlacedEdit):
        edited = edit(output, axes, steps.start if side_of(name) == "target" else 0)
    else:
        edited = edit(output)
    shape = tuple(edited.shape) if isinstance(edited, Tensor) else None
    if shape != output.shape:
        raise InputError(
            f"the edit of {name} returned shape {shape}, "
            f"the site has {tuple(output.shape)} ({' × '.join(axes)})"
        )
    return edited


class Steps:
    """The range of positions that a decoder is at."""

    def __init__(self):
        self.start = self.end = 0

    def begin(self, n: int, cache: Any) -> None:
        """Moves to the next n positions, after those in the cache (if it knows how many these are)."""
        self.start = 0 if cache is None else getattr(cache, "length", self.end)
        self.end = self.start + n


@contextlib.contextmanager
def _count_steps(model: Any) -> Iterator[Steps]:
    """A block that yields the positions the model's decoder is at."""
    steps, decode = Steps(), getattr(model, "decode", None)
    before = model.__dict__.get("decode")

    if decode is not None:
        model.decode = partial(_decode, steps, decode)
    try:
        yield steps
    finally:
        model.__dict__.pop("decode", None)
        if before is not None:
            model.decode = before


def _decode(
    steps: Steps, decode: Callable[..., Any], target: Tensor, memory: Any, cache: Any = None
) -> Any:
    steps.begin(target.shape[1], cache)
    return decode(target, memory, cache)
