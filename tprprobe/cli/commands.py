"""The group of commands: ours, and those of plug-ins, which are imported when they are run."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tprprobe import plugins

EVERYWHERE = ("--offline", "--verbose")


class Commands(TyperGroup):
    """Lists the commands of plug-ins by the titles in their metadata, and runs their functions.

    Their common flags may stand anywhere in a line.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, the common flags in front."""
        end = args.index("--") if "--" in args else len(args)
        front = [word for word in args[:end] if word in EVERYWHERE]
        rest = [word for word in args[:end] if word not in EVERYWHERE]
        return super().parse_args(ctx, [*front, *rest, *args[end:]])

    def list_commands(self, ctx: Any) -> list[str]:
        """Our commands, then those of plug-ins."""
        own = super().list_commands(ctx)
        return [*own, *(name for name in plugins.find("commands") if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command; one of a plug-in as it is listed."""
        plugged = plugins.find("commands")
        if cmd_name in self.commands or cmd_name not in plugged:
            return super().get_command(ctx, cmd_name)
        return TyperCommand(cmd_name, help=plugged[cmd_name].title)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run, and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is None or name in self.commands:
            return name, command, rest
        return name, load_command(name), rest


def load_command(name: str) -> Any:
    """The command of a plug-in, made of its function.

    Raises:
        InputError: it cannot be imported.
    """
    group = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    group.command(name)(plugins.find("commands")[name].load())
    return typer.main.get_command(group)
