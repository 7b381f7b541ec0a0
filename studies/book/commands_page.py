"""The page of commands, generated from the command line itself."""

from collections.abc import Iterator
from typing import Any

from tprprobe import plugins
from tprprobe.cli.commands import COMMANDS, load_command

HEAD = """# Commands

Every command with its arguments and options, as `tprprobe COMMAND --help` prints them. A command that is given bad
input says in one line what it was given and what it accepts, and ends with exit code 2. `tprprobe --install-completion`
teaches your shell to complete names of commands and options (`--show-completion` only prints what it would add).
"""


def write_commands() -> str:
    """The page: a table of the commands, then a section each."""
    commands = read_commands()
    rows = [f"| [`{name}`](#{name}) | {_summary(command)} |" for name, command in commands.items()]
    sections = [
        section for name, command in commands.items() for section in _section(name, command)
    ]
    return "\n".join([HEAD, "| command | what it does |", "|---|---|", *rows, "", *sections])


def read_commands() -> dict[str, Any]:
    """The commands of ``tprprobe`` by name, as typer's own copy of click has them."""
    return {name: load_command(name) for name in [*COMMANDS, *plugins.find("commands")]}


def _summary(command: Any) -> str:
    return _cell(" ".join((command.help or "").split("\n\n")[0].split()))


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"## {name}\n"
    yield (command.help or "").strip() + "\n"
    yield f"```sh\ntprprobe {name} {_usage(command)}\n```\n"
    visible = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    if visible:
        yield "| | | default |\n|---|---|---|"
        yield from (_row(parameter) for parameter in visible)
        yield ""


def _usage(command: Any) -> str:
    arguments = [parameter for parameter in command.params if not _is_option(parameter)]
    required = [
        parameter for parameter in command.params if _is_option(parameter) and parameter.required
    ]
    words = [
        parameter.name.upper() if parameter.required else f"[{parameter.name.upper()}]"
        for parameter in arguments
    ]
    words += [f"{max(parameter.opts, key=len)} …" for parameter in required]
    return " ".join([*words, "[OPTIONS]"])


def _is_option(parameter: Any) -> bool:
    return parameter.param_type_name == "option"


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
    names = names if _is_option(parameter) else f"`{parameter.name.upper()}`"
    names += ", repeatable" if getattr(parameter, "multiple", False) else ""
    default = parameter.default
    empty = default is None or default is False or default == () or callable(default)
    default_text = "required" if parameter.required else "" if empty else f"`{default}`"
    return f"| {names} | {_cell(getattr(parameter, 'help', None) or '')} | {default_text} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
