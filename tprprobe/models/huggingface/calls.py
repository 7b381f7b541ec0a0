"""The calls that one run of a model of transformers makes: of its submodules, and of the attention in common.

A model asks ``AttentionInterface.get_interface`` for the function that attends. While a block of
:func:`intercepted` is open, it gets that function inside another; outside of it nothing differs.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from transformers import AttentionInterface

from tprprobe.models.huggingface.products import Operation, recorded

AttentionResult = tuple[Tensor, Tensor | None]  # the sums of values, and the map
Attend = Callable[..., AttentionResult]  # of module, query, key, value, mask, …

METHOD = "get_interface"


@dataclass(frozen=True)
class Call:
    """A call of a submodule: when it began and ended, the first tensors it was given and returned."""

    path: str
    module: nn.Module
    start: int
    end: int
    received: Tensor | None
    returned: Tensor | None

    def holds(self, inner: "Call") -> bool:
        return self.start < inner.start and inner.end < self.end

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.returned is None else tuple(self.returned.shape)

    @property
    def is_linear(self) -> bool:
        return isinstance(self.module, nn.Linear) or type(self.module).__name__ == "Conv1D"


class Attended(NamedTuple):
    """A call of the attention in common: when, by which module, of tensors [batch, head, seq, d_head]."""

    time: int
    module: nn.Module
    query: torch.Size
    key: torch.Size
    value: torch.Size


@contextmanager
def intercepted(around: Callable[[Attend], Attend]) -> Iterator[None]:
    """A block in which models call ``around(attention)`` in place of their attention."""
    interface = AttentionInterface
    before: Callable[..., Attend] = interface.get_interface
    setattr(interface, METHOD, lambda *args, **options: around(before(*args, **options)))

    try:
        yield
    finally:
        setattr(interface, METHOD, before)


class Record(NamedTuple):
    """What happened during a run: calls of submodules, of the attention in common, and operations outside of that."""

    calls: list[Call]
    attended: list[Attended]
    operations: list[tuple[int, Operation]]


@torch.no_grad()
def record(module: nn.Module, run: Callable[[], object]) -> Record:
    clock, calls, attended, operations = itertools.count(), [], [], []
    inside: list[nn.Module] = []  # an attention in common
    begun: dict[str, list[tuple[int, Tensor | None]]] = defaultdict(list)

    def enter(path: str, _module: nn.Module, args: tuple, kwargs: dict) -> None:
        begun[path].append((next(clock), first_tensor((*args, *kwargs.values()))))

    def leave(path: str, submodule: nn.Module, _args: object, returned: object) -> None:
        start, received = begun[path].pop()
        calls.append(Call(path, submodule, start, next(clock), received, first_tensor(returned)))

    def attend(attention: Attend) -> Attend:
        def noted(
            submodule: nn.Module,
            query: Tensor,
            key: Tensor,
            value: Tensor,
            *args: object,
            **options: object,
        ) -> AttentionResult:
            inside.append(submodule)
            result = attention(submodule, query, key, value, *args, **options)
            inside.pop()
            attended.append(Attended(next(clock), submodule, query.shape, key.shape, value.shape))
            return result

        return noted

    def take(operation: Operation) -> None:
        if not inside:
            operations.append((next(clock), operation))

    with ExitStack() as stack:
        for path, submodule in module.named_modules():
            before = submodule.register_forward_pre_hook(partial(enter, path), with_kwargs=True)
            after = submodule.register_forward_hook(partial(leave, path))
            stack.callback(before.remove)
            stack.callback(after.remove)
        stack.enter_context(intercepted(attend))
        stack.enter_context(recorded(take))
        run()
    return Record(calls, attended, operations)


def first_tensor(values: object) -> Tensor | None:
    """The first tensor of floating-point numbers of what a module is given or returns."""
    values = values if isinstance(values, tuple | list) else (values,)
    floats = (value for value in values if isinstance(value, Tensor) and value.is_floating_point())
    return next(floats, None)
