"""Type checks of the suite: beartype in every function, axes matched where annotations have some.

jaxtyping's decorator costs 16 µs a call and more, beartype's 1, and either takes milliseconds to decorate. So a
function is decorated when it is first called, and its first two calls in a test are checked: solvers call a function
thousands of times, and took three quarters of their time to be checked. Of a function inside another, which would be
decorated whenever that is called, the first two definitions in a test are checked. Generators stay jaxtyping's:
beartype alone refuses some of their annotations.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial, wraps
from inspect import isgeneratorfunction
from typing import Any, Literal, get_args, get_origin

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, jaxtyped

MOST_CHECKED = 2  # calls of a function in a test
tests_begun = 0
definitions: Counter[int] = Counter()  # of functions inside others, by their code, in a test
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
    definitions.clear()


def is_defined_again(function: Any) -> bool:
    """Whether a function inside another was defined as often in this test as it is checked."""
    if "<locals>" not in function.__qualname__ or not hasattr(function, "__code__"):
        return False
    definitions[id(function.__code__)] += 1
    return definitions[id(function.__code__)] > MOST_CHECKED


def check_early_calls(
    function: Callable[..., Any], decorate: Callable[[Any], Any]
) -> Callable[..., Any]:
    """The function, of which so many calls a test are checked."""
    checked, test, calls = None, 0, 0

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        nonlocal checked, test, calls
        if test != tests_begun:
            test, calls = tests_begun, 0
        calls += 1
        if calls > MOST_CHECKED:
            return function(*args, **options)
        checked = checked or decorate(function)
        return checked(*args, **options)

    return call


def check(function: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """The function, or the class of data, whose arguments and results are checked."""
    if function is None:
        return partial(check, typechecker=typechecker)
    if not isinstance(function, type):
        if is_defined_again(function):
            return function
        if isgeneratorfunction(function):
            return jaxtyped(function, typechecker=typechecker)
        if any(map(has_axes, function.__annotations__.values())):
            return check_early_calls(function, partial(jaxtyped, typechecker=typechecker))
        return check_early_calls(function, typechecker)
    initialize = vars(function).get(
        "__init__"
    )  # that of transformers takes more than its signature says
    if is_dataclass(function) and initialize is not None and not hasattr(initialize, "__wrapped__"):
        function.__init__ = check(function.__init__, typechecker=typechecker)
    return function
