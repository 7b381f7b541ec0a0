"""The command that asks the whole question of one model."""

from pathlib import Path
from typing import Annotated

import typer

from tprprobe.cli.options import Data, Device, Json, Number, Resume, Seed, print_json


def examine(
    model: Annotated[
        str,
        typer.Argument(help="The model: a shipped name, a folder, a hub id, or hf:PATH."),
    ],
    out: Annotated[
        Path, typer.Option(help="The folder of report.html, the tables as CSV and the stores.")
    ] = Path("runs/examined"),
    data: Data = None,
    n: Number = None,
    layers: Annotated[int, typer.Option(help="How many layers, evenly spaced.")] = 6,
    seed: Seed = 0,
    device: Device = "cpu",
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Examine a model: what its states are made of by layer, what of it is learnt, known and used."""
    from tprprobe.data import load_data
    from tprprobe.examination import TEXTS, examine
    from tprprobe.models import load_model

    read = load_model(model, device=device)
    texts = None if data is None else load_data(data, n=n, seed=seed)
    examined = examine(read, texts, out, layers, n or TEXTS, resume, seed)
    if as_json:
        return print_json({"lines": examined.lines, "page": str(examined.page)})
    typer.echo("\n".join([*examined.lines, f"{examined.page}"]))
    return None
