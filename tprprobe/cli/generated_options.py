"""Options of a command that are arguments of the function behind it: names, types, defaults, help.

They are read from its source, so that ``--help`` imports nothing that computes.
"""

import ast
import contextlib
import functools
import importlib.util
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tprprobe import plugins

PACKAGE = Path(__file__).parents[1]
ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n(?: {8}.*)?)*)", re.MULTILINE)
TYPES = {"PathLike": Path, "Store": Path, "bool": bool, "int": int, "float": float, "str": str}
MARKUP = re.compile(r":(func|class|mod):|`")
SEED = "random_state"  # which the command's seed sets
SEVERAL = re.compile(r"(Sequence|Iterable|tuple)\[")

Command = Callable[..., None]


def options_of(
    function: str,
    only: Collection[str] = (),
    without: Collection[str] = (),
    panel: str | None = None,
    unset: bool = False,
    every: bool = False,
    group: str = "",
    into: str = "",
    **names: str,
) -> Callable[[Command], Command]:
    """A decorator of commands: their ``**options`` are arguments of a function or fields of a dataclass.

    An option that is left at its default is not passed, unless ``every`` one is.

    Args:
        function: The function, ``room.module:name``; its ``Args:`` are the help of the options.
        only: Which arguments; default: all that have a default.
        without: Arguments that are no option.
        panel: The heading in ``--help`` under which the options stand.
        unset: Whether no option has a default, for what has other defaults than the function.
        every: Whether options at their defaults are passed too, for runs that keep all their settings.
        group: A group of entry points (``estimators``), whose classes' constructors give further options.
        into: The argument of the command that takes these options, as a dictionary; default: each is an argument.
        **names: The name of an option, where it is not that of the argument.
    """

    def read() -> dict[str, inspect.Parameter]:
        options = {
            name: _option(
                name, names.get(name, name), annotation, None if unset else default, text, panel
            )
            for name, annotation, default, text in _read(function)
            if name not in without and (not only or name in only)
        }
        return _constructor_options(group, options) | options if group else options

    return lambda command: Generated(command, read, every, into)


class Generated:
    """A command whose options are read when they are asked for, so that a list of commands reads no sources."""

    def __init__(
        self,
        command: Command,
        read: Callable[[], dict[str, inspect.Parameter]],
        every: bool,
        into: str,
    ):
        functools.update_wrapper(self, command, ("__module__", "__name__", "__doc__"), ())
        self.command, self.read, self.every = command, functools.cache(read), every
        self.into = into

    def __call__(self, **options: Any) -> None:
        generated = {} if self.every else self.read()
        chosen = {
            name: value
            for name, value in options.items()
            if name not in generated or value != generated[name].default
        }
        if self.into:
            chosen[self.into] = {name: chosen.pop(name) for name in generated if name in chosen}
        self.command(**chosen)

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.command, eval_str=True)
        listed = (p for p in signature.parameters.values() if p.name != self.into)
        fixed = [p for p in listed if p.kind is not p.VAR_KEYWORD]
        return signature.replace(parameters=[*fixed, *self.read().values()])

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {p.name: p.annotation for p in self.__signature__.parameters.values()}


def _constructor_options(group: str, reserved: Collection[str]) -> dict[str, inspect.Parameter]:
    """The parameters of the constructors in a group of entry points, which have no default: each class has its own."""
    texts: dict[str, dict[str, str]] = {}
    annotations: dict[str, str] = {}
    for name, plugin in plugins.find(group).items():
        module, _, kind = plugin.point.value.partition(":")
        with contextlib.suppress(ImportError, ValueError, OSError, SyntaxError):
            spec = importlib.util.find_spec(
                module
            )  # imports no module, but the packages that it is in
            node = _find(Path(str(spec and spec.origin)), kind)
            described = read_arguments(ast.get_docstring(node) or "")
            for argument, annotation, default in _written(node):
                if default is None or argument in (SEED, *reserved):
                    continue
                kinds = ast.unparse(annotation) if annotation else type(_value(default)).__name__
                if not _is_typed(kinds):
                    continue
                text = f"{described.get(argument, '')} Default: {ast.unparse(default)}.".strip()
                texts.setdefault(argument, {})[name] = text
                annotations.setdefault(argument, kinds)
    return {
        argument: _option(
            argument, argument, annotations[argument], None,
            " ".join(f"Of {name}: {text}" for name, text in texts_by_plugin.items()), "Parameters of probes",
        )
        for argument, texts_by_plugin in texts.items()
    }  # fmt: skip


def _is_typed(annotation: str) -> bool:
    """True of a parameter that can be typed."""
    return any(name in annotation for name in TYPES)


def _find(path: Path, name: str) -> ast.FunctionDef | ast.ClassDef:
    """The function or class of a module."""
    nodes = (node for node in ast.parse(path.read_text("utf-8")).body)
    node = next((node for node in nodes if getattr(node, "name", "") == name), None)
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        raise ValueError(f"{path} defines no {name}")
    return node


def _read(function: str) -> Iterator[tuple[str, str, Any, str]]:
    """Name, annotation, default and text of every argument of a function that has a default."""
    module, _, name = function.partition(":")
    node = _find(PACKAGE / f"{module.replace('.', '/')}.py", name)
    texts = read_arguments(ast.get_docstring(node) or "")
    for argument, annotation, default in _written(node):
        if default is not None and argument in texts:
            yield argument, ast.unparse(annotation), _value(default), texts[argument]


def _value(default: ast.expr) -> Any:
    """A default that is written out; None for one that the module computes."""
    try:
        return ast.literal_eval(default)
    except ValueError:
        return None


def _written(node: ast.FunctionDef | ast.ClassDef) -> Iterator[tuple[str, Any, ast.expr | None]]:
    if isinstance(node, ast.ClassDef):
        members = (member for member in node.body if getattr(member, "name", "") == "__init__")
        if not isinstance(constructor := next(members, None), ast.FunctionDef):
            fields = (argument for argument in node.body if isinstance(argument, ast.AnnAssign))
            yield from (
                (ast.unparse(argument.target), argument.annotation, argument.value)
                for argument in fields
            )
            return
        node = constructor
    listed = node.args
    padding = [None] * (len(listed.args) - len(listed.defaults))
    for argument, default in (
        *zip(listed.args, [*padding, *listed.defaults], strict=True),
        *zip(listed.kwonlyargs, listed.kw_defaults, strict=True),
    ):
        yield argument.arg, argument.annotation, default


def _option(
    argument: str, name: str, annotation: str, default: Any, text: str, panel: str | None
) -> inspect.Parameter:
    """The option: of several types that which can be typed, and a list where several values may be given."""
    accepted: Any = next(accepted for name, accepted in TYPES.items() if name in annotation)
    flag = f"--{name.replace('_', '-')}"
    if SEVERAL.search(annotation):
        accepted, default = list[accepted], None
    elif accepted is bool and default is None:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    has_default = default is not None and default is not False
    limits: dict[str, Any] = {"min": 0, "max": 2**32 - 1} if argument == "seed" else {}
    option = typer.Option(
        flag, help=text, rich_help_panel=panel, show_default=has_default, **limits
    )
    annotated = Annotated[accepted if default is not None else accepted | None, option]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(argument, keyword, default=default, annotation=annotated)


def read_arguments(docstring: str) -> dict[str, str]:
    """The text of every argument under ``Args:`` in a docstring, on one line, without markup."""
    _, _, listed = docstring.partition("Args:\n")
    text_of_argument = {name: " ".join(text.split()) for name, text in ARGUMENT.findall(listed)}
    return {name: MARKUP.sub("", text) for name, text in text_of_argument.items()}
