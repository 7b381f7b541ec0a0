"""Commands that carry vectors between stores, other programs and the hub."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of


@options_of("store.dumps.transfer:import_store", without=["layers"])
def import_vectors(
    source: Annotated[Path, typer.Argument(help="The file or folder that another program wrote.")],
    out: Annotated[Path, typer.Argument(help="The folder of the new store.")],
    layers: Annotated[
        str | None, typer.Option(help="The layers of a dump, in its order: 1,2,3; default: from 0.")
    ] = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Import the vectors that another program wrote into a store."""
    from tprprobe.store.dumps import import_store

    form = "whole numbers with commas, 1,2,3"
    numbers = None if layers is None else common.read_numbers("--layers", layers, int, form)
    store = import_store(source, out, layers=numbers, **options)
    if as_json:
        common.print_json({"samples": store.samples, "sites": store.sites, "store": str(out)})
    common.say(f"samples {store.samples}, sites {len(store.sites)}: {out}")


@options_of("store.dumps.transfer:export_store", sites="site")
def export(
    store: Annotated[Path, typer.Argument(help="The store.")],
    out: Annotated[Path, typer.Argument(help="A .npz or .safetensors file, or a folder.")],
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Write vectors and attention maps of a store for other programs; `import` reads them back bit for bit."""
    from tprprobe.store import open_store
    from tprprobe.store.dumps import export_store

    opened = open_store(store)
    export_store(opened, out, **options)
    if as_json:
        common.print_json({"out": str(out), "samples": opened.samples})
    common.say(f"samples {opened.samples}: {out}")


def push(
    folder: Annotated[Path, typer.Argument(help="A store, a finished run, or a checkpoint.")],
    repo_id: Annotated[str, typer.Argument(help="The repository on the hub, owner/name.")],
    private: Annotated[bool, typer.Option("--private", help="Make it private.")] = False,
) -> None:
    """Upload a store or a run to the Hugging Face hub as a dataset, a checkpoint as a model."""
    from tprprobe.cli.repositories import push_to_hub

    typer.echo(push_to_hub(folder, repo_id, private))
