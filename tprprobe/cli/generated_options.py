"""Options of a command that are the settings of the function behind it: names, types, defaults, help."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer

ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n(?:        .*)?)*)", re.MULTILINE)
ALONE = (str, int, float)


def with_settings(
    settings: type,
    panel: str,
    names: Mapping[str, str] = {},
    without: Collection[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator of commands: their ``**settings`` become an option for every field of a dataclass.

    Args:
        settings: The dataclass; the texts of ``Args:`` in its docstring are the help of the options.
        panel: The heading in ``--help`` under which the options stand.
        names: The name of an option, where it is not that of the field.
        without: Fields that are no option.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        written = inspect.signature(command, eval_str=True)
        fixed = [p for p in written.parameters.values() if p.kind is not p.VAR_KEYWORD]
        made = [p for p in _options(settings, panel, names) if p.name not in without]

        @functools.wraps(command)
        def run(**options: Any) -> None:
            command(**options)

        parameters = [*fixed, *made]
        run.__signature__ = written.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return run

    return decorate


def _options(settings: type, panel: str, names: Mapping[str, str]) -> Iterator[inspect.Parameter]:
    types, texts = get_type_hints(settings), read_arguments(settings)
    for field in dataclasses.fields(settings):
        name = f"--{names.get(field.name, field.name).replace('_', '-')}"
        accepted, default = _accepted(types[field.name]), field.default
        if accepted == bool | None:
            name = f"{name}/--no-{name.removeprefix('--')}"
        if accepted == list[str] | None:
            default = None
        option = typer.Option(
            name, help=texts[field.name], rich_help_panel=panel, show_default=default is not None
        )
        annotation = Annotated[accepted, option]
        keyword = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, keyword, default=default, annotation=annotation)


def _accepted(given: Any) -> Any:
    """The type of an option: of several a field accepts the one that can be typed, of a tuple a list."""
    members = get_args(given) if get_origin(given) not in (None, tuple) else (given,)
    if any(get_origin(member) is tuple for member in members):
        return list[str] | None
    simple = [member for member in members if member in (*ALONE, bool, type(None))]
    return Union[tuple(simple)]  # noqa: UP007


def read_arguments(documented: Any) -> dict[str, str]:
    """The text of every argument under ``Args:`` in a docstring, on one line, without markup."""
    _, _, listed = inspect.cleandoc(documented.__doc__ or "").partition("Args:\n")
    return {
        name: " ".join(text.replace("`", "").split()) for name, text in ARGUMENT.findall(listed)
    }
