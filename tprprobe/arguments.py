"""Arguments of the public functions: of the types that their signatures name, else one line."""

import functools
import inspect
import numbers
import os
import reprlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from tprprobe.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
SEEDS = range(2**32)
NUMBERS = {int: numbers.Integral, float: numbers.Real}
SEVERAL = (Sequence, Iterable, list, tuple)
WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    NoneType: "None",
    os.PathLike: "a path",
    Callable: "a function",
    "Store": "a store (tp.open_store)",
    "Dataset": "data (tp.load_data)",
    "Language": "a model (tp.load_model)",
    "Model": "a model (tp.load_model)",
    "Attached": "a module with sites (tp.attach)",
    "Module": "a module of torch",
    "Adaptable": "a model of transformers or of a library around it",
    "Decomposition": "a fit (tp.decompose)",
    "Clusters": "clusters (tp.cluster)",
    "Tensor": "a tensor",
    "DataFrame": "a table of pandas",
}


@functools.cache
def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The public function, which refuses an argument of another type; an error of the input has no traceback of the tool.

    Raises:
        InputError: An argument is of none of the types that the signature names.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value, hint in _arguments(function, args, kwargs):
            if not _fits(value, hint) or (name == "seed" and value not in SEEDS):
                accepted = f"{name} is {' or '.join(dict.fromkeys(_words(hint)))}"
                value_text = WORDS.get(type(value).__name__, " ".join(reprlib.repr(value).split()))
                raise InputError(f"tp.{function.__name__}: {accepted}, not {value_text}")
        try:
            return function(*args, **kwargs)
        except InputError as error:  # its line says everything: the tool's own frames would hide it
            raise error.with_traceback(None) from None

    setattr(call, "__module__", __package__)  # noqa: B010  where pickle finds it
    return call


@functools.cache
def _signature(function: Callable[..., object]) -> inspect.Signature:
    return inspect.signature(function, eval_str=True)


def _arguments(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> Iterator[tuple[str, object, Any]]:
    """Name, value and type of every argument; none of a call with names that the function lacks."""
    signature = _signature(function)
    try:  # what is missing is Python's to refuse
        values = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:
        return
    for name, value in values.items():
        if signature.parameters[name].kind is not inspect.Parameter.VAR_KEYWORD:
            yield name, value, signature.parameters[name].annotation


def _split(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type and those in its brackets; of an annotation with axes, the type of the array."""
    hint = getattr(hint, "array_type", hint)
    return get_origin(hint) or hint, get_args(hint)


def _fits(value: object, hint: Any) -> bool:
    """True if a value, and what it holds, is of a type; an iterator is not used up."""
    kind, inner = _split(hint)
    if kind in (Union, UnionType):
        return any(_fits(value, item) for item in inner)
    if kind is Literal:
        return isinstance(value, str) and value in inner
    if kind is tuple and Ellipsis not in inner:
        return isinstance(value, list | tuple) and [*map(_fits, value, inner)] == [True] * len(
            inner
        )
    if kind is Mapping or kind is dict:
        return isinstance(value, Mapping) and all(_fits(item, inner[0]) for item in value)
    if kind in SEVERAL:
        if not isinstance(value, Collection):
            return isinstance(value, Iterable)
        is_collection = not isinstance(value, str | bytes | Mapping)
        return is_collection and all(_fits(item, inner[0]) for item in value)
    if kind in NUMBERS:
        return isinstance(value, NUMBERS[kind]) and not isinstance(value, bool)
    return kind is Any or not isinstance(kind, type) or isinstance(value, kind)  # or a variable


def _words(hint: Any) -> Iterator[str]:
    """What is accepted, in plain words."""
    kind, inner = _split(hint)
    if kind in (Union, UnionType):
        for item in inner:
            yield from _words(item)
    elif kind is Literal:
        yield from map(repr, inner)
    elif kind is Mapping or kind is dict:
        yield "a dictionary"
    elif kind in SEVERAL:
        yield f"a list ({', '.join(' or '.join(_words(item)) for item in inner if item is not ...)})"
    else:
        name = getattr(kind, "__name__", str(kind))
        yield WORDS.get(kind) or WORDS.get(name) or f"a {name}"
