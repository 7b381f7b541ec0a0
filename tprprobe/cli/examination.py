"""The command that asks the whole question of one model."""

from typing import Annotated, Any

import typer

from tprprobe.cli.generated_options import options_of
from tprprobe.cli.options import Data, Device, Json, Number, print_json


@options_of("examination:examine", without=["data", "n"])
def examine(
    model: Annotated[
        str,
        typer.Argument(help="The model: a shipped name, a folder, a hub id, or hf:PATH."),
    ],
    data: Data = None,
    n: Number = None,
    device: Device = "cpu",
    as_json: Json = False,
    **options: Any,
) -> None:
    """Examine a model layer by layer: what its states represent, what training added, and what the model uses."""
    from tprprobe.data import load_data
    from tprprobe.examination import TEXTS, examine
    from tprprobe.models import load_model

    read = load_model(model, device=device)
    if data is not None:
        options["data"] = load_data(data, n=n, seed=options.get("seed", 0))
    examined = examine(read, n=n or TEXTS, **options)
    if as_json:
        return print_json({"lines": examined.lines, "page": str(examined.page)})
    typer.echo("\n".join([*examined.lines, f"{examined.page}"]))
    return None
