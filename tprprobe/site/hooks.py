"""Reading and replacing vectors at named sites: the only place that registers hooks."""

import contextlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd
from torch import Tensor, nn

from tprprobe.errors import InputError, unknown
from tprprobe.site.patterns import select, side_of
from tprprobe.site.site import Site, attention_map

Edit = Callable[[Tensor], Tensor]

FOREIGN = "_foreign"
NAME = re.compile(r"[A-Za-z]\w*(\.\w+)*")
PER_HEAD = ("query", "key", "value", "role", "filler", "binding")


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


@contextlib.contextmanager
def hold(model: nn.Module, outputs: Mapping[str, Tensor]) -> Iterator[None]:
    """A block in which these submodules return these tensors and compute nothing.

    What lies below an intervention is so computed only once: ``hold(model, {"encoder.0": hidden})``.
    """
    modules = {name: model.get_submodule(name) for name in outputs}
    try:
        for name, module in modules.items():
            module.forward = lambda *_args, output=outputs[name], **_options: output
        yield
    finally:
        for module in modules.values():
            module.__dict__.pop("forward", None)


class Attached(nn.Module):
    """A foreign module with sites, called as ``attached(source, target)`` and read as one of our
    models.

    ``vocabulary`` and ``source`` (where it was loaded from) are None until somebody sets them.
    """

    architecture = folder = None

    def __init__(self, module: nn.Module, forward: Callable[..., Any] | None):
        super().__init__()
        self.add_module(FOREIGN, module)
        self._call = forward
        self.config: Any = getattr(module, "config", None)
        self.name: str = getattr(module, "name", type(module).__name__)
        self.vocabulary: Any = None
        self.source: str | None = None

    def forward(self, *batch: Any) -> Any:
        module = self.get_submodule(FOREIGN)
        read = any(isinstance(each, Site) and each.is_read for each in self.modules())
        with _padded(module) if read else contextlib.nullcontext():
            return self._call(module, batch) if self._call else module(*batch)


@contextlib.contextmanager
def _padded(module: nn.Module) -> Iterator[None]:
    """A block in which torch's encoders pass on [batch, seq, …], not nested tensors without pads."""
    stacks = [each for each in module.modules() if isinstance(each, nn.TransformerEncoder)]
    before = [stack.use_nested_tensor for stack in stacks]
    try:
        for stack in stacks:
            stack.use_nested_tensor = False
        yield
    finally:
        for stack, used in zip(stacks, before, strict=True):
            stack.use_nested_tensor = used


def attach(
    module: nn.Module,
    mapping: Mapping[str, str],
    heads: int | None = None,
    forward: Callable[[nn.Module, tuple], Any] | None = None,
) -> Attached:
    """The module, unedited, with sites: ``{"encoder.0.self.role": "layers.0.W_r"}``.

    A value names a submodule, whose output is the site, or with ``:input`` behind it its first
    input. Where ``heads`` is given, sites that are per head (query, key, value, role, filler,
    binding) are read as [batch, seq, head, d_head]; one named ``….attention`` is a map, [batch, head,
    query, key]. ``forward(module, batch)`` is how the module is called where that is not
    ``module(*batch)``.

    Raises:
        InputError: the module has no such submodule, or a site's name is no dotted name.
    """
    attached = Attached(module, forward)
    submodules = dict(module.named_modules())
    for name, where in mapping.items():
        path, _, end = where.partition(":")
        if path not in submodules:
            raise unknown("submodule", path, [key for key in submodules if key])
        if end not in ("", "input"):
            raise InputError(f"{where!r}: a submodule's output is 'path', its input 'path:input'")
        kind = name.rsplit(".", 1)[-1]
        per_head = heads is not None and kind in PER_HEAD
        vectors = Site("batch seq head d_head" if per_head else "batch seq d_model")
        site = attention_map() if kind == "attention" else vectors
        _place(attached, name, site)
        _route(submodules[path], site, _passer(site, where, heads if per_head else None), end)
    return attached


def _place(root: nn.Module, name: str, site: Site) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"site {name!r}: give a dotted name like 'encoder.0.self.role'")
    *parents, last = name.split(".")
    for part in parents:
        if not hasattr(root, part):
            root.add_module(part, nn.Module())
        root = getattr(root, part)
    if not isinstance(root, nn.Module) or isinstance(root, Site) or hasattr(root, last):
        raise InputError(f"site {name!r}: this name, or a part of it, is taken already")
    root.add_module(last, site)


def _passer(site: Site, where: str, heads: int | None) -> Callable[[Any], Any]:
    """The function that passes a submodule's value (the first of several) through its site."""

    def through(tensor: Tensor) -> Tensor:
        if "query" in site.axes and tensor.ndim != len(site.axes):
            raise InputError(
                f"{where!r} has shape {tuple(tensor.shape)}, a map of attention is [batch, head, query, "
                "key]: give the submodule that puts it out, such as a softmax or the dropout behind it"
            )
        if heads is None:
            return site(tensor)
        if tensor.shape[-1] % heads:
            raise InputError(
                f"{where!r} has width {tensor.shape[-1]}, which {heads} heads do not divide"
            )
        return site(tensor.unflatten(-1, (heads, -1))).flatten(-2)

    def passed(values: Any) -> Any:
        if isinstance(values, Tensor):
            return through(values)
        if isinstance(values, tuple) and values and isinstance(values[0], Tensor):
            return (through(values[0]), *values[1:])
        raise InputError(f"{where!r} is no tensor nor begins with one: give another submodule")

    return passed


def _route(submodule: nn.Module, site: Site, passed: Callable[[Any], Any], end: str) -> None:
    """Hooks the submodule; nothing is touched while its site is not read."""
    if end == "input":
        submodule.register_forward_pre_hook(
            lambda _m, inputs: passed(inputs) if site.is_read else None
        )
    else:
        submodule.register_forward_hook(
            lambda _m, _i, output: passed(output) if site.is_read else None
        )
