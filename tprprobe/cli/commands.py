"""The commands: ours, and those of plug-ins. They are listed by name and title, and made when they are run."""

import shlex
from collections.abc import Callable
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tprprobe import plugins
from tprprobe.cli import (
    analyses,
    decomposition,
    docs,
    extraction,
    figures,
    probing,
    stores,
    training,
    trajectory,
)
from tprprobe.cli.options import say

EVERYWHERE = ("--offline", "--verbose")
RENAMED = {"lapse": "trajectory"}  # old names, which work until 2027-06-01
COMMANDS: dict[str, Callable[..., None]] = {
    "models": training.models,
    "train": training.train,
    "convert": training.convert,
    "eval": training.evaluate,
    "extract": extraction.extract,
    "import": stores.import_vectors,
    "export": stores.export,
    "push": stores.push,
    "inspect": extraction.inspect,
    "cluster": analyses.cluster,
    "probe": probing.probe,
    "predict": probing.predict,
    "reconstruct": analyses.reconstruct,
    "decompose": decomposition.decompose,
    "roles": decomposition.roles,
    "intervene": analyses.intervene,
    "examine": analyses.examine,
    "trajectory": trajectory.trajectory,
    "name": analyses.name,
    "figure": figures.figure,
    "report": figures.report,
    "app": figures.open_app,
    "docs": docs.docs,
}
UNKEPT = ("decompose", "roles")  # they write nothing without --out
TABLES = COMMANDS.keys() - {"models", "train", "convert", "push", "app", "docs"}
OPEN = ("figure",)  # what is drawn has options of its own
EPILOG = "What the columns of tables mean: tprprobe docs columns"


class Commands(TyperGroup):
    """Lists all commands; their common flags may stand anywhere in a line."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        titles = {name: cleandoc(command.__doc__ or "") for name, command in COMMANDS.items()}
        plugin_titles = {name: plugin.title for name, plugin in plugins.find("commands").items()}
        titles = {**plugin_titles, **titles}
        self.commands = {name: TyperCommand(name, help=titles[name]) for name in titles}

    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS, *(name for name in self.commands if name not in COMMANDS)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        front = [word for word in args[:end] if word in EVERYWHERE]
        words = [word for word in args[:end] if word not in EVERYWHERE]
        if words and words[0] in RENAMED:
            name = RENAMED[words[0]]
            say(f"tprprobe: {words[0]} is now {name}; the old name works until 2027-06-01")
            words[0] = name
        return super().parse_args(ctx, [*front, *words, *args[end:]])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, remaining = super().resolve_command(ctx, args)
        return name, command if name is None else load_command(name), remaining


class Command(TyperCommand):
    """Says of an option with two values behind it that it is repeated."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        repeatable = {flag for p in self.params if getattr(p, "multiple", False) for flag in p.opts}
        flags = [word for word in args if word in repeatable]
        try:
            return super().parse_args(ctx, args)
        except trajectory.USAGE_ERROR as error:
            if flags and "extra argument" in error.message:
                error.message += f". For several values repeat it: {flags[-1]} A {flags[-1]} B"
            raise


def load_command(name: str) -> Any:
    function = COMMANDS.get(name) or plugins.find("commands")[name].load()
    group = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    settings = {"allow_extra_args": True, "ignore_unknown_options": True} if name in OPEN else None
    epilog = EPILOG if name in TABLES else None
    group.command(name, cls=Command, epilog=epilog, context_settings=settings)(function)
    return typer.main.get_command(group)


def find_resumption(words: list[str]) -> str:
    """How a command that was stopped goes on: its line with --resume, where it has that option and keeps results."""
    name = next((word for word in words if word not in EVERYWHERE), "")
    name = RENAMED.get(name, name)
    if name not in COMMANDS and name not in plugins.find("commands"):
        return "nothing was done"
    has_out = name not in UNKEPT or any(word.split("=")[0] == "--out" for word in words)
    if not has_out or all("--resume" not in option.opts for option in load_command(name).params):
        return "the same command starts anew"
    line = shlex.join(["tprprobe", *(word for word in words if word != "--resume"), "--resume"])
    return f"go on with `{line}`"
