"""Options of a command that are arguments of the function behind it, read from its source: ``--help`` imports nothing."""

import ast
import contextlib
import functools
import importlib.util
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
        options = {}
        module, _, target = function.partition(":")
        path = PACKAGE / f"{module.replace('.', '/')}.py"
        for name, annotation, written, text in _read(path, target):
            if text and name not in without and (not only or name in only):
                default, flag = None if unset else _value(written), names.get(name, name)
                options[name] = _option(name, flag, annotation, default, text, panel)
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
        defaults = [(name, option.default) for name, option in generated.items()]
        changed = {name: v for name, v in options.items() if (name, v) not in defaults}
        if self.into:
            changed[self.into] = {name: changed.pop(name) for name in generated if name in changed}
        self.command(**changed)

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.command, eval_str=True)
        listed = (p for p in signature.parameters.values() if p.name != self.into)
        fixed = [p for p in listed if p.kind is not p.VAR_KEYWORD]
        return signature.replace(parameters=[*fixed, *self.read().values()])

    @property
    def __annotations__(self) -> dict[str, object]:  # type: ignore[override]
        return {p.name: p.annotation for p in self.__signature__.parameters.values()}


class Written(NamedTuple):
    """An argument that has a default, as its source says."""

    name: str
    annotation: str
    default: ast.expr
    text: str


def _constructor_options(group: str, reserved: Collection[str]) -> dict[str, inspect.Parameter]:
    """The parameters of the constructors in a group of entry points, which have no default: each class has its own."""
    texts: dict[str, list[str]] = {}
    annotations: dict[str, str] = {}
    for name, plugin in plugins.find(group).items():
        module, _, kind = plugin.point.value.partition(":")
        with contextlib.suppress(ImportError, ValueError, OSError, SyntaxError):
            spec = importlib.util.find_spec(module)  # which imports only the packages around it
            for argument in _read(Path(str(spec and spec.origin)), kind):
                is_typed = any(accepted in argument.annotation for accepted in TYPES)
                if is_typed and argument.name not in (SEED, *reserved):
                    default = f"Default: {ast.unparse(argument.default)}."
                    text = f"Of {name}: {argument.text} {default}".replace("  ", " ")
                    texts.setdefault(argument.name, []).append(text)
                    annotations.setdefault(argument.name, argument.annotation)
    texts_by_name = {name: " ".join(listed) for name, listed in texts.items()}
    heading = "Parameters of probes"
    return {
        n: _option(n, n, annotations[n], None, text, heading) for n, text in texts_by_name.items()
    }


def _read(path: Path, name: str) -> Iterator[Written]:
    nodes = ast.parse(path.read_text("utf-8")).body
    node = next((node for node in nodes if getattr(node, "name", "") == name), None)
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        raise ValueError(f"{path} defines no {name}")
    texts = read_arguments(ast.get_docstring(node) or "")
    for argument, annotation, default in _list_arguments(node):
        if default is not None:
            kind = ast.unparse(annotation) if annotation else type(_value(default)).__name__
            yield Written(argument, kind, default, texts.get(argument, ""))


def _list_arguments(
    node: ast.FunctionDef | ast.ClassDef,
) -> list[tuple[str, ast.expr | None, ast.expr | None]]:
    if isinstance(node, ast.ClassDef):
        functions = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        constructor = [m for m in functions if m.name == "__init__"]
        if not constructor:
            fields = [field for field in node.body if isinstance(field, ast.AnnAssign)]
            return [(ast.unparse(field.target), field.annotation, field.value) for field in fields]
        return _list_arguments(constructor[0])
    arguments = node.args
    without_default = [None] * (len(arguments.args) - len(arguments.defaults))
    defaults = [*without_default, *arguments.defaults, *arguments.kw_defaults]
    pairs = zip([*arguments.args, *arguments.kwonlyargs], defaults, strict=True)
    return [(argument.arg, argument.annotation, default) for argument, default in pairs]


def _value(default: ast.expr) -> object:
    try:
        return ast.literal_eval(default)
    except ValueError:
        return None


def _option(
    argument: str, name: str, annotation: str, default: object, text: str, panel: str | None
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
    display: dict[str, Any] = {"rich_help_panel": panel, "show_default": has_default}
    option = typer.Option(flag, help=text, **display, **limits)
    annotated = Annotated[accepted if default is not None else accepted | None, option]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(argument, keyword, default=default, annotation=annotated)


def read_arguments(docstring: str) -> dict[str, str]:
    """The text of every argument under ``Args:`` in a docstring, on one line, without markup."""
    _, _, listed = docstring.partition("Args:\n")
    text_of_argument = {name: " ".join(text.split()) for name, text in ARGUMENT.findall(listed)}
    return {name: MARKUP.sub("", text) for name, text in text_of_argument.items()}
