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
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    if shown:
        yield "| | | default |\n|---|---|---|"
        yield from (_row(each) for each in shown)
        yield ""


def _usage(command: Any) -> str:
    arguments = [each for each in command.params if not _is_option(each)]
    needed = [each for each in command.params if _is_option(each) and each.required]
    words = [each.name.upper() if each.required else f"[{each.name.upper()}]" for each in arguments]
    words += [f"{max(each.opts, key=len)} …" for each in needed]
    return " ".join([*words, "[OPTIONS]"])


def _is_option(parameter: Any) -> bool:
    return parameter.param_type_name == "option"


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))
    names = names if _is_option(parameter) else f"`{parameter.name.upper()}`"
    names += ", repeatable" if getattr(parameter, "multiple", False) else ""
    default = parameter.default
    empty = default is None or default is False or default == () or callable(default)
    told = "required" if parameter.required else "" if empty else f"`{default}`"
    return f"| {names} | {_cell(getattr(parameter, 'help', None) or '')} | {told} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
