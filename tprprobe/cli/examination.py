"""The command that asks the whole question of one model."""

from typing import Annotated, Any

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of


@options_of("examination:examine", without=["data", "n"])
def examine(
    model: Annotated[
        str,
        typer.Argument(help="The model: a shipped name, a folder, a hub id, or hf:PATH."),
    ],
    data: common.Data = None,
    n: common.Number = None,
    device: common.Device = "cpu",
    as_json: common.Json = False,
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
    lines, page = examined.lines, str(examined.page)
    common.show(as_json, {"lines": lines, "page": page}, lambda: "\n".join([*lines, page]))
