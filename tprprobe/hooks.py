"""Reading and replacing vectors at named sites: the only place that registers hooks."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from tprprobe.errors import InputError, unknown
from tprprobe.models.sites import Site
from tprprobe.sitenames import select

Edit = Callable[[Tensor], Tensor]

PER_HEAD = ("query", "key", "value", "role", "filler", "binding")


def find_sites(model: nn.Module) -> dict[str, Site]:
    """The sites of a model by their dotted names, in the order of the modules."""
    found = {name: module for name, module in model.named_modules() if isinstance(module, Site)}
    if not found:
        raise InputError(
            f"{type(model).__name__} has no sites: give them with tp.attach(module, {{site: submodule}})"
        )
    return found


def sites(model: nn.Module) -> pd.DataFrame:
    """What can be read: a table of site, axes and width (of the last axis, where it is fixed)."""
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

    def reader(name: str):
        def read(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            captured[name] = output

        return read

    with contextlib.ExitStack() as stack:
        for name in select(patterns, list(found)):
            stack.callback(found[name].register_forward_hook(reader(name)).remove)
        yield captured


@contextlib.contextmanager
def intervene(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """While open, each site matching a pattern passes on ``edit(tensor)`` instead of its tensor.

    Captures opened after it see the edited values, those opened before it the original ones.

    Raises:
        InputError: a pattern matches no site, or an edit returns another shape.
    """
    found = find_sites(model)

    def editor(name: str, edit: Edit):
        def replace(_module: nn.Module, _inputs: Any, output: Tensor) -> Tensor:
            edited = edit(output)
            if edited.shape != output.shape:
                raise InputError(
                    f"the edit of {name} returned shape {tuple(edited.shape)}, "
                    f"the site has {tuple(output.shape)} ({' × '.join(found[name].axes)})"
                )
            return edited

        return replace

    with contextlib.ExitStack() as stack:
        for pattern, edit in edits.items():
            for name in select(pattern, list(found)):
                stack.callback(found[name].register_forward_hook(editor(name, edit)).remove)
        yield


class Attached(nn.Module):
    """A foreign module with sites: called as ``attached(source, target)``, read as one of ours."""

    def __init__(self, module: nn.Module, forward: Callable[..., Any] | None):
        super().__init__()
        self._call = forward
        self.__dict__["module"] = module  # not a submodule: only the sites are this module's own
        self.config = getattr(module, "config", None)

    def forward(self, *batch: Any) -> Any:
        module = self.__dict__["module"]
        return self._call(module, batch) if self._call else module(*batch)

    def train(self, mode: bool = True) -> "Attached":
        self.__dict__["module"].train(mode)
        return super().train(mode)


def attach(
    module: nn.Module,
    mapping: Mapping[str, str],
    heads: int | None = None,
    forward: Callable[[nn.Module, tuple], Any] | None = None,
) -> Attached:
    """The module, unedited, with sites: ``{"encoder.0.self.role": "layers.0.W_r"}``.

    A value names a submodule, whose output is the site, or with ``:input`` behind it its first
    input. Where ``heads`` is given, sites that are per head (query, key, value, role, filler,
    binding) are read as [batch, seq, head, d_head]. ``forward(module, batch)`` is how the module is
    called where that is not ``module(*batch)``.

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
        per_head = heads is not None and name.rsplit(".", 1)[-1] in PER_HEAD
        site = Site("batch seq head d_head" if per_head else "batch seq d_model")
        _place(attached, name, site)
        _route(submodules[path], site, heads if per_head else None, reads_input=end == "input")
    return attached


def _place(root: nn.Module, name: str, site: Site) -> None:
    *parents, last = name.split(".")
    for part in parents:
        if part not in root._modules:
            root.add_module(part, nn.Module())
        root = root.get_submodule(part)
    root.add_module(last, site)


def _route(submodule: nn.Module, site: Site, heads: int | None, reads_input: bool) -> None:
    def through(tensor: Tensor) -> Tensor:
        if heads is None:
            return site(tensor)
        return site(tensor.unflatten(-1, (heads, -1))).flatten(-2)

    def first(values: Any) -> Any:
        if isinstance(values, torch.Tensor):
            return through(values)
        return (through(values[0]), *values[1:])

    if reads_input:
        submodule.register_forward_pre_hook(lambda _m, inputs: first(inputs))
    else:
        submodule.register_forward_hook(lambda _m, _inputs, output: first(output))
