"""tprprobe: see and test the roles and fillers inside Tensor-Product-Representation networks."""

import inspect
from typing import Any

import lazy_loader

from tprprobe.arguments import checked
from tprprobe.errors import unknown

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(str(unknown("name in tprprobe", name, __all__)))
    value = _find(name)
    if inspect.isfunction(value):
        globals()[name] = value = checked(value)
    return value
