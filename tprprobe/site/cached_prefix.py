"""Steps of a forward pass, recorded and held: what lies below an intervention is computed once.

A step is a submodule (``encoder.0``: its forward), or a method of one (``encoder.1.self.read``).
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch import nn

Method = Callable[..., Any]


@contextlib.contextmanager
def record(model: nn.Module, steps: Iterable[str]) -> Iterator[dict[str, Any]]:
    """A dictionary that has what these steps returned, in the order in which they ended."""
    found: dict[str, Any] = {}

    def recorded(step: str, method: Method) -> Method:
        def call(*args: Any, **options: Any) -> Any:
            found[step] = method(*args, **options)
            return found[step]

        return call

    with _replace(model, steps, recorded):
        yield found


@contextlib.contextmanager
def hold(model: nn.Module, outputs: Mapping[str, Any]) -> Iterator[None]:
    """A block in which these steps return this and compute nothing: ``hold(model, {"encoder.0": hidden})``."""
    with _replace(model, outputs, lambda step, _: lambda *_, **__: outputs[step]):
        yield


@contextlib.contextmanager
def _replace(
    model: nn.Module, steps: Iterable[str], replacement: Callable[[str, Method], Method]
) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for step in steps:
            module, method = _find(model, step)
            stack.callback(_restore, module, method, module.__dict__.get(method))
            setattr(module, method, replacement(step, getattr(module, method)))
        yield


def _find(model: nn.Module, step: str) -> tuple[nn.Module, str]:
    """The module of a step and the name of its method."""
    parent, _, name = step.rpartition(".")
    module = model.get_submodule(parent)
    own = module._modules.get(name)
    return (module, name) if own is None else (own, "forward")


def _restore(module: nn.Module, method: str, before: Method | None) -> None:
    module.__dict__.pop(method, None)
    if before is not None:
        setattr(module, method, before)
