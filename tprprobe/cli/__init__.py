"""The command line: every command is a few lines that call one public function."""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads starve others

import typer

from tprprobe import plugins
from tprprobe.cli import (
    analyses,
    decomposition,
    docs,
    examination,
    extraction,
    figures,
    lapses,
    probing,
    stores,
    training,
)
from tprprobe.cli.allocator import keep_freed_memory
from tprprobe.cli.commands import Commands
from tprprobe.cli.options import say
from tprprobe.cli.signals import ENDED, Stopped, stop_by_signals
from tprprobe.errors import InputError
from tprprobe.files.file_errors import reason

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
NO_MEMORY = ("not enough memory", "can't allocate memory", "out of memory")  # in torch's errors
COMMANDS = {
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
    "examine": examination.examine,
    "lapse": lapses.lapse,
    "name": analyses.name,
    "figure": figures.figure,
    "report": figures.report,
    "app": figures.open_app,
    "docs": docs.docs,
}

NO_TABLES = {"models", "train", "convert", "push", "app", "docs"}
EPILOG = "What the columns of tables mean: tprprobe docs columns"


def find_commands(words: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """Our commands by name, and those of plug-ins that are among the words."""
    plugged = plugins.find("commands")
    return COMMANDS | {word: plugged[word].load() for word in words if word in plugged}


def _print_version(asked: bool) -> bool:
    if asked:
        from tprprobe.cli.versions import describe_versions

        typer.echo(describe_versions())
        raise typer.Exit
    return asked


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the versions of tprprobe, Python and torch, and the devices, and exit.",
        ),
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Ask no hub: models and data are those here.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show what libraries write while a model is read.")
    ] = False,
) -> None:
    """See and test the roles and fillers inside Tensor-Product-Representation networks."""
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    if verbose:
        os.environ["TPRPROBE_VERBOSE"] = "1"


for name, command in COMMANDS.items():
    app.command(name, epilog=None if name in NO_TABLES else EPILOG)(command)


def main() -> None:
    """Run a command; bad input is one line and exit code 2, SIGINT and SIGTERM one and 130 or 143."""
    keep_freed_memory()
    stop_by_signals()
    try:
        app()
    except Stopped as stopped:
        say(f"tprprobe: {stopped.advice(sys.argv[1:], find_commands(sys.argv[1:]))}")
        sys.exit(ENDED + stopped.number)
    except InputError as error:
        say(f"tprprobe: {error}")
        sys.exit(2)
    except OSError as error:
        where = error.filename or "input or output"
        say(f"tprprobe: {InputError(f'{where}: {error.strerror or error}')}")
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not any(each in str(error) for each in NO_MEMORY):
            raise
        advice = "give fewer samples (-n) or sites, or a smaller --budget where there is one"
        say(
            f"tprprobe: {InputError(f'the memory here does not suffice ({reason(error)}): {advice}')}"
        )
        sys.exit(2)
