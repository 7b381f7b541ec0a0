"""Functions of a store that take its path as well."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from tprprobe.store.reader import Store, open_store

P = ParamSpec("P")
R = TypeVar("R")
Source = str | os.PathLike[str]


def takes_paths(
    function: Callable[Concatenate[Store, P], R],
) -> Callable[Concatenate[Store | Source, P], R]:
    """The function, whose first argument may be the path of a store, or ``hub:owner/name``."""

    @wraps(function)
    def opened(store: Any, *given: P.args, **named: P.kwargs) -> R:
        if isinstance(store, str | os.PathLike):
            store = open_store(store if isinstance(store, str) else Path(store))
        return function(store, *given, **named)

    return opened
