"""Modules that have shapes, but neither values nor memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

DRAWN = (Tensor.normal_, Tensor.uniform_)


@contextmanager
def sketched() -> Iterator[None]:
    """A block in which modules are made without values.

    PyTorch would draw them on the device "meta" in Python, for which it loads its compiler: two seconds.
    """
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in DRAWN or getattr(func, "__module__", "") == torch.nn.init.__name__:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
