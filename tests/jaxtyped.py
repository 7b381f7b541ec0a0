"""Type checks of the suite: beartype in every function, axes matched where annotations have some.

jaxtyping's decorator costs 16 µs a call and more, also of functions that have no axes; there, beartype alone
costs 1. Where axes are matched, the first two calls of a test are checked: solvers call a function thousands of times,
and took three quarters of their time to be checked. Generators stay jaxtyping's: beartype alone refuses some of their
annotations.
"""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial, wraps
from inspect import isgeneratorfunction
from typing import Any, Literal, get_args, get_origin

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, jaxtyped

MOST_CHECKED = 2  # calls of a function in a test
tests_begun = 0
typed = beartype(conf=BeartypeConf(is_pep484_tower=True))


def has_axes(annotation: Any) -> bool:
    """Whether an annotation is of arrays, or a text, which only jaxtyping reads."""
    if isinstance(annotation, str | list):
        return isinstance(annotation, str) or any(map(has_axes, annotation))
    if isinstance(annotation, type) and issubclass(annotation, AbstractArray):
        return True
    return get_origin(annotation) is not Literal and any(map(has_axes, get_args(annotation)))


def begin_test() -> None:
    """Calls are checked again."""
    global tests_begun
    tests_begun += 1


def check_early_calls(
    function: Callable[..., Any], checked: Callable[..., Any]
) -> Callable[..., Any]:
    """The function, of which so many calls a test are checked."""
    test = calls = 0

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        nonlocal test, calls
        if test != tests_begun:
            test, calls = tests_begun, 0
        calls += 1
        return (checked if calls <= MOST_CHECKED else function)(*args, **options)

    return call


def check(function: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """The function, or the class of data, whose arguments and results are checked."""
    if function is None:
        return partial(check, typechecker=typechecker)
    if not isinstance(function, type):
        if isgeneratorfunction(function):
            return jaxtyped(function, typechecker=typechecker)
        if any(map(has_axes, function.__annotations__.values())):
            return check_early_calls(function, jaxtyped(function, typechecker=typechecker))
        return typechecker(function)
    initialize = vars(function).get(
        "__init__"
    )  # that of transformers takes more than its signature says
    if is_dataclass(function) and initialize is not None and not hasattr(initialize, "__wrapped__"):
        function.__init__ = check(function.__init__, typechecker=typechecker)
    return function
