"""Reading and replacing vectors at named sites: the only place that registers hooks on them.

Steps of a pass can be recorded and held, so that what lies below an intervention is computed once. A step is a submodule
(``encoder.0``: its forward), or a method of one (``encoder.1.self.read``).
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol, runtime_checkable

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tprprobe.errors import InputError
from tprprobe.site.adapters import Adaptable, followed, with_sites
from tprprobe.site.patterns import select, side_of
from tprprobe.site.site import FOREIGN, Site

Edit = Callable[[Tensor], Tensor]
Method = Callable[..., object]


class PlacedEdit(ABC):
    """An edit that gets its place: the axes of the site, and the first position (0 in a whole pass)."""

    @abstractmethod
    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        """The tensor that takes the given one's place."""


def find_sites(model: nn.Module) -> dict[str, Site]:
    modules = [m for m in model.named_modules() if not m[0].startswith(f"{FOREIGN}.")]
    sites_by_name = {name: module for name, module in modules if isinstance(module, Site)}
    if not sites_by_name:
        name = type(model).__name__
        raise InputError(
            f"{name} has no sites: give them with tp.attach(module, {{site: submodule}})"
        )
    return sites_by_name


def sites(model: nn.Module | Adaptable) -> pd.DataFrame:
    """The sites of a model: the named tensors that can be read and edited.

    Args:
        model: A model of :func:`load_model`, a module of :func:`attach`, or a model that transformers, peft,
            sentence-transformers, nnsight or TransformerLens holds.

    Returns:
        One row per site, with the columns site, axes (their names, joined by ``×``) and width (of the last axis;
        missing where it is not fixed).

    Examples:
        >>> tp.sites(model).set_index("site").loc["encoder.0.self.role", "axes"]
        'batch × seq × head × d_head'
    """
    listed = find_sites(with_sites(model)).items()
    rows = [(name, " × ".join(site.axes), site.width) for name, site in listed]
    table = pd.DataFrame(rows, columns=["site", "axes", "width"])
    return table.astype({"width": "Int64"})


@contextlib.contextmanager
def capture(
    model: nn.Module | Adaptable, patterns: str | Iterable[str]
) -> Iterator[dict[str, Tensor]]:
    """A block in which the tensors of sites are kept while the model runs.

    Of several calls (or decoding steps) the last one remains. Where one call passes a site several times (a
    recurrent cell, a module that is called once a symbol), all passes are joined along positions.

    Args:
        model: The model, as in :func:`sites`.
        patterns: Names of sites, as shell globs; layer -1 is the last.

    Yields:
        A dictionary of tensors by site, filled by a forward pass. Axes are those of :func:`sites`; tensors
        keep their gradient history.

    Raises:
        InputError: A pattern matches no site.

    Examples:
        >>> source = torch.tensor([model.vocabulary.encode("1/(2/3).")])
        >>> with tp.capture(model, "encoder.*.self.role") as vectors:
        ...     _ = model(source, source[:, :1])
        >>> vectors["encoder.2.self.role"].shape
        torch.Size([1, 8, 4, 24])
    """
    captured: dict[str, Tensor] = {}
    with contextlib.ExitStack() as stack:
        readable = stack.enter_context(followed(model))
        sites_by_name, calls = find_sites(readable), stack.enter_context(_count_calls(readable))
        for name in select(patterns, list(sites_by_name)):
            keeper = _Keeper(calls, name, sites_by_name[name].axes, captured)
            stack.callback(sites_by_name[name].register_forward_hook(keeper).remove)
        yield captured


@runtime_checkable
class Counting(Protocol):
    """A model that counts its calls: what passes a site during one belongs together."""

    calls: int


class _Keeper:
    def __init__(
        self, calls: Counting, name: str, axes: tuple[str, ...], captured: dict[str, Tensor]
    ):
        self.calls, self.name, self.axes, self.captured = calls, name, axes, captured
        self.call, self.held = None, []

    def __call__(self, site: Site, _inputs: object, output: Tensor) -> None:
        call = self.calls.calls
        is_same_call = call == self.call and self.name in self.captured
        self.held = [*self.held, output] if is_same_call else [output]
        if len({_outline(tensor, self.axes) for tensor in self.held}) > 1:
            shapes = " and ".join(str(tuple(tensor.shape)) for tensor in self.held[-2:])
            raise InputError(
                f"{self.name} passes tensors of shapes {shapes} in one call of the model: attach a submodule "
                "that is called once, or the input of one that follows, 'path:input'"
            )
        self.call, self.captured[self.name] = call, _joined(self.held, self.axes)
        site.passes = len(self.held)


def _outline(tensor: Tensor, axes: tuple[str, ...]) -> tuple[int, ...]:
    """The number of axes, and the lengths of all but positions, in which tensors of several passes are alike."""
    if "query" in axes:
        return tensor.ndim, *tensor.shape[:2]
    is_step = tensor.ndim < len(axes) or "seq" not in axes  # a vector a step
    return tensor.ndim, *(tensor.shape if is_step else (len(tensor), *tensor.shape[2:]))


def _joined(tensors: list[Tensor], axes: tuple[str, ...]) -> Tensor:
    """The tensors of several passes, along the axis of positions; maps with as many keys as the last has."""
    if len(tensors) == 1:
        return tensors[0]
    if "query" in axes:
        keys = tensors[-1].shape[-1]
        return torch.cat([F.pad(weights, (0, keys - weights.shape[-1])) for weights in tensors], 2)
    if tensors[0].ndim < len(axes) or "seq" not in axes:
        return torch.stack(tensors, 1)  # a vector a step
    return torch.cat(tensors, 1)


@contextlib.contextmanager
def intervene(
    model: nn.Module | Adaptable, edits: Mapping[str, Edit | PlacedEdit]
) -> Iterator[None]:
    """A block in which sites pass on edited tensors.

    A capture that is opened inside the block sees edited tensors, one opened before it the original ones.

    Args:
        model: The model, as in :func:`sites`.
        edits: An edit for every pattern of sites: one of :mod:`tprprobe.interventions`, or a function that
            takes the site's tensor and returns one of the same shape. Edits of one site are made in this order.

    Yields:
        Nothing.

    Raises:
        InputError: A pattern matches no site, or an edit returns another shape.

    Examples:
        >>> source = torch.tensor([model.vocabulary.encode("1/(2/3).")])
        >>> with tp.intervene(model, {"encoder.-1.self.role": torch.zeros_like}):
        ...     edited = model(source, source[:, :1])
        >>> torch.equal(edited, model(source, source[:, :1]))
        False
    """
    with contextlib.ExitStack() as stack:
        readable = stack.enter_context(followed(model))
        sites_by_name, calls = find_sites(readable), stack.enter_context(_count_calls(readable))
        for pattern, edit in edits.items():
            for name in select(pattern, list(sites_by_name)):
                hook = partial(_replace, name, sites_by_name[name].axes, edit, Passes(calls))
                stack.callback(sites_by_name[name].register_forward_hook(hook).remove)
        yield


def _replace(
    name: str,
    axes: tuple[str, ...],
    edit: Edit | PlacedEdit,
    passes: "Passes",
    _module: nn.Module,
    _inputs: object,
    output: Tensor,
) -> Tensor:
    if isinstance(edit, PlacedEdit):
        is_step = "seq" in axes and output.ndim == len(axes) - 1  # of a cell: a vector a sample
        sequence = output.unsqueeze(1) if is_step else output
        length = sequence.shape[axes.index("query")] if "query" in axes else sequence.shape[1]
        edited = edit(sequence, axes, passes.start_of(name, length))
        edited = edited.squeeze(1) if is_step else edited
    else:
        edited = edit(output)
    shape = tuple(edited.shape) if isinstance(edited, Tensor) else None
    if shape != output.shape:
        place = f"the site has {tuple(output.shape)} ({' × '.join(axes)})"
        raise InputError(f"the edit of {name} returned shape {shape}, {place}")
    return edited


class Calls:
    """The calls of a model of ours, and the position that its decoder begins at."""

    def __init__(self):
        self.calls = self.depth = self.start = self.end = 0

    def counting(self, name: str, method: Method) -> Method:
        """A method of the model, counted with all that it calls; a decoder moves to the positions behind its cache's."""

        def counted(*args: Any, **kwargs: Any) -> object:
            if name == "decode":
                cache = args[2] if len(args) > 2 else kwargs.get("cache")
                self.start = 0 if cache is None else getattr(cache, "length", self.end)
                self.end = self.start + (args[0] if args else kwargs["target"]).shape[1]
            self.calls, self.depth = self.calls + (self.depth == 0), self.depth + 1
            try:
                return method(*args, **kwargs)
            finally:
                self.depth -= 1

        return counted

    def start_of(self, name: str) -> int:
        return self.start if side_of(name) == "target" else 0


@contextlib.contextmanager
def _count_calls(model: nn.Module) -> Iterator[Counting]:
    """What counts the model's calls and their positions meanwhile: the model itself where it does."""
    if isinstance(model, Counting):
        yield model
        return
    calls = Calls()
    methods = [name for name in ("encode", "decode", "forward") if hasattr(model, name)]
    with replace_methods(model, methods, calls.counting):
        yield calls


class Passes:
    """The positions that passed a site during a call: a module may be called once a symbol."""

    def __init__(self, calls: Counting):
        self.calls, self.call, self.passed = calls, None, 0

    def start_of(self, name: str, length: int) -> int:
        """The position of the first vector of a site's tensor: where the model knows it, as it says."""
        first_position = getattr(self.calls, "first", None)
        if first_position is not None:
            return 0 if name.endswith((".cross.key", ".cross.value")) else first_position
        start = self.passed if self.call == self.calls.calls else 0
        self.call, self.passed = self.calls.calls, start + length
        return start + (self.calls.start_of(name) if isinstance(self.calls, Calls) else 0)


@contextlib.contextmanager
def record(model: nn.Module, steps: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A dictionary that has what these steps returned, in the order in which they ended."""
    outputs: dict[str, Any] = {}

    def recorded(step: str, method: Method) -> Method:
        def call(*args: object, **options: object) -> object:
            outputs[step] = method(*args, **options)
            return outputs[step]

        return call

    with replace_methods(model, steps, recorded):
        yield outputs


@contextlib.contextmanager
def hold(model: nn.Module, outputs: Mapping[str, object]) -> Iterator[None]:
    """A block in which these steps return this and compute nothing: ``hold(model, {"encoder.0": hidden})``."""
    with replace_methods(model, outputs, lambda step, _: lambda *_, **__: outputs[step]):
        yield


@contextlib.contextmanager
def replace_methods(
    model: nn.Module, steps: Iterable[str], replacement: Callable[[str, Method], Method]
) -> Iterator[None]:
    """A block in which ``replacement(step, method)`` is called in place of every step."""
    with contextlib.ExitStack() as stack:
        for step in steps:
            parent, _, name = step.rpartition(".")
            module, method = model.get_submodule(parent), name
            if name in module._modules:
                module, method = module.get_submodule(name), "forward"
            stack.callback(_restore, module, method, module.__dict__.get(method))
            setattr(module, method, replacement(step, getattr(module, method)))
        yield


def _restore(module: nn.Module, method: str, before: Method | None) -> None:
    module.__dict__.pop(method, None)
    if before is not None:
        setattr(module, method, before)
