"""Commands that analyze a store or a model."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tprprobe.cli.options import (
    Ckpt,
    Device,
    Json,
    Out,
    Resume,
    Scheduler,
    Seed,
    StoreFolder,
    print_json,
)
from tprprobe.errors import InputError

if TYPE_CHECKING:
    from tprprobe.store import Store


def cluster(
    store: StoreFolder,
    site: Annotated[str, typer.Option(help="A site or a pattern of sites; layer -1 is the last.")],
    k: Annotated[int, typer.Option(help="Number of clusters.")],
    head: Annotated[int | None, typer.Option(help="One head; by default all heads.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Cluster raw vectors, without standardizing dimensions.")
    ] = False,
    seed: Seed = 0,
    out: Out = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Cluster the vectors of a site by k-means: sizes, commonest tokens, stability over seeds."""
    from tprprobe.analyses.clustering import cluster as run
    from tprprobe.analyses.clustering import find_heads, save_clusters
    from tprprobe.console import track
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    opened = open_store(store)
    targets = [(site, head)] if head is not None else find_heads(opened, site)
    settings = {"k": k, "seed": seed, "raw": raw}
    with scheduled(scheduler):
        found = [run(opened, *at, **settings) for at in track(targets, "clustering", len(targets))]
    if out:
        save_clusters(found, out, opened)
    if as_json:
        return print_json([result.as_dict() for result in found])
    for result in found:
        of = result.site if result.head is None else f"{result.site} head {result.head}"
        typer.echo(f"{of}: stability {result.stability:.3f} over {result.n_seeds} seeds")
        typer.echo(result.summary.to_string(index=False))
    return None


def reconstruct(
    store: StoreFolder,
    layer: Annotated[
        int | None, typer.Option(help="A layer, -1 is the last; default: all layers.")
    ] = None,
    target: Annotated[
        str,
        typer.Option(
            help="The state z: input (LN z, the layer's input), hidden (its output) or below."
        ),
    ] = "input",
    baseline: Annotated[
        list[Path] | None, typer.Option(help="Stores of baseline models, the Transformer's first.")
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Reconstruct a layer's state from one head's value vector (an affine map), beside controls."""
    import pandas as pd

    from tprprobe.analyses.reconstruction import reconstruct as run
    from tprprobe.figures.catalogue.schlag import save_reconstruction
    from tprprobe.figures.reconstruction import reconstruction_table
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    stores = [open_store(each) for each in (store, *(baseline or []))]
    with scheduled(scheduler):
        found = [run(each, layer, target, seed) for each in stores]
    results = pd.concat(found, ignore_index=True)
    if out:
        save_reconstruction(results, out, stores)
    if as_json:
        return print_json(json.loads(results.to_json(orient="records")))
    typer.echo(reconstruction_table(results).markdown())
    return None


def binding(
    ckpt: Annotated[list[str] | None, typer.Option(help="Trained models to test.")] = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Show the binding problem of stacked attention exactly, and test trained models for it."""
    import pandas as pd

    from tprprobe.analyses.binding_problem import demonstrate, measure_degrees
    from tprprobe.console import track
    from tprprobe.figures.binding import binding_table, demonstration_table
    from tprprobe.figures.catalogue.schlag import save_binding
    from tprprobe.interventions.fractions import binding_probe
    from tprprobe.models import load_model
    from tprprobe.models.architectures import fingerprint

    exact = {"demonstration": demonstrate(seed=seed), "degrees": measure_degrees(seed=seed)}
    models = [load_model(name, device=device) for name in ckpt or []]
    parts = [binding_probe(each, seed=seed) for each in track(models, "probing", len(models))]
    probed = pd.concat(parts, ignore_index=True) if parts else None
    if out:
        save_binding(exact, probed, out, [fingerprint(each) for each in models])
    if as_json:
        tables = exact | ({} if probed is None else {"probe": probed})
        rows = {name: json.loads(each.to_json(orient="records")) for name, each in tables.items()}
        return print_json(rows)
    typer.echo(demonstration_table(**exact).markdown())
    if probed is not None:
        typer.echo(binding_table(probed).markdown())
    return None


def intervene(
    recipe: Annotated[
        Path, typer.Argument(help="A recipe of edits or swaps (TOML), see docs/interventions.md.")
    ],
    ckpt: Ckpt,
    out: Out = None,
    resume: Resume = False,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Edit or exchange vectors while a model runs, as a recipe says, and score the answers."""
    from tprprobe.interventions import find_data, read_recipe, run_swaps, sweep
    from tprprobe.models import load_model
    from tprprobe.models.protocol import require_head

    settings, model = read_recipe(recipe), load_model(ckpt, device=device)
    model = require_head(model, "an intervention on answers")
    out = out or Path("runs") / f"{recipe.stem}-{model.name}".replace(":", "-")
    run = run_swaps if settings.swaps else sweep
    rows = run(model, find_data(model, settings), settings, out, resume)
    if as_json:
        return print_json(json.loads(rows.to_json(orient="records")))
    shown = [name for name in map(str, rows) if not name.endswith(("_low", "_high"))]
    typer.echo(rows[shown].round(3).to_string(index=False))
    return None


def name(
    store: StoreFolder,
    site: Annotated[
        list[str] | None,
        typer.Option(help="Sites to cluster, as patterns; default: encoder.*.self.role."),
    ] = None,
    k: Annotated[list[int] | None, typer.Option(help="Numbers of clusters; default: 20.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Cluster raw vectors, without standardizing dimensions.")
    ] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(help="A store of a Transformer on the same questions, as a baseline."),
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    resume: Resume = False,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Name the clusters of all heads by gold structure, on held-out questions, beside controls.

    Of words with exact labels, by these (default sites: *.role), beside the untrained twin.
    """
    from tprprobe.analyses.naming import name_all
    from tprprobe.analyses.naming.word_labels import list_exact
    from tprprobe.console import track
    from tprprobe.figures.naming import heads_table, polar_table, polarity_table
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    opened = open_store(store)
    if list_exact(opened):
        if len(k or []) > 1 or baseline:
            raise InputError("labelled words are named with one --k, and without --baseline")
        run = (out, resume)
        with scheduled(scheduler):
            return _name_words(opened, site or "*.role", (k or [20])[0], raw, seed, run, as_json)
    with scheduled(scheduler):
        named = name_all(
            opened,
            site or "encoder.*.self.role",
            k or 20,
            raw,
            seed,
            open_store(baseline) if baseline else None,
            out,
            resume,
            progress=lambda parts: track(parts, "naming", len(parts)),
        )
    if as_json:
        return print_json(named.as_dict())
    for table in (heads_table(named), polarity_table(named), polar_table(named)):
        typer.echo(table.markdown())
    return None


def _name_words(
    store: "Store",
    site: str | list[str],
    k: int,
    raw: bool,
    seed: int,
    run: tuple[Path | None, bool],
    as_json: bool,
) -> None:
    from tprprobe.analyses.naming import name_words
    from tprprobe.console import track
    from tprprobe.figures.naming import word_heads_table, words_table

    named = name_words(
        store, site, k, raw, seed, *run, progress=lambda parts: track(parts, "naming", len(parts))
    )
    if as_json:
        return print_json(json.loads(named.to_json(orient="records")))
    for table in (word_heads_table(named), words_table(named)):
        typer.echo(table.markdown())
    return None
