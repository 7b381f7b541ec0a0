"""Steps of a forward pass, recorded and held: what lies below an intervention is computed once.

A step is a submodule (``encoder.0``: its forward), or a method of one (``encoder.1.self.read``).
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch import nn

Method = Callable[..., object]


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
