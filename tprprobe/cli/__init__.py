"""The command line: every command is a few lines that call one public function."""

import gc
import os
import platform
import sys
from importlib.metadata import version
from signal import Signals
from typing import Annotated

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads starve others

import typer

from tprprobe.cli.commands import COMMANDS as COMMANDS
from tprprobe.cli.commands import Commands, find_resumption
from tprprobe.cli.options import say
from tprprobe.cli.process import ENDED, Stopped, keep_freed_memory, stop_by_signals
from tprprobe.errors import InputError
from tprprobe.files.file_errors import lacks_memory, too_little_memory

# objects: imports alone make a million, which Python would search for garbage every 700
COLLECTED = (200_000, 20, 50)

app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False)


def _print_version(is_asked: bool) -> bool:
    if is_asked:
        import torch  # here, as other commands need it later or never

        graphics = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
        devices = ", ".join([f"cpu ({torch.get_num_threads()} threads)", *graphics])
        torch_version = f"torch {torch.__version__}; devices: {devices}"
        python = f"Python {platform.python_version()}"
        typer.echo(f"tprprobe {version('tprprobe')}, {python}, {torch_version}")
        raise typer.Exit
    return False


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
    offline: Annotated[bool, typer.Option("--offline", help="Ask no hub, only the disk.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show what libraries write.")] = False,
) -> None:
    """See and test the roles and fillers inside Tensor-Product-Representation networks."""
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
    if verbose:
        os.environ["TPRPROBE_VERBOSE"] = "1"


def main() -> None:
    """Run a command; bad input is one line and exit code 2, SIGINT and SIGTERM one and 130 or 143."""
    keep_freed_memory()
    gc.set_threshold(*COLLECTED)
    stop_by_signals()
    try:
        app()
    except Stopped as stopped:
        say(f"tprprobe: stopped by {Signals(stopped.number).name}: {find_resumption(sys.argv[1:])}")
        sys.exit(ENDED + stopped.number)
    except InputError as error:
        say(f"tprprobe: {error}")
        sys.exit(2)
    except OSError as error:
        say(f"tprprobe: {error.filename or 'input or output'}: {error.strerror or error}")
        sys.exit(2)
    except (MemoryError, RuntimeError, ImportError) as error:
        if not lacks_memory(error):
            raise
        say(f"tprprobe: {too_little_memory(error)}")
        sys.exit(2)
