"""Commands that analyze a store or a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of
from tprprobe.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@options_of("analyses.clustering.kmeans:cluster", without=["n_seeds"])
def cluster(
    store: common.StoreFolder,
    site: Annotated[str, typer.Option(help="A site or a pattern of sites; layer -1 is the last.")],
    out: common.Out = None,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Cluster the vectors of a site by k-means: sizes, most frequent tokens, stability over seeds."""
    from tprprobe.analyses.clustering import cluster as run
    from tprprobe.analyses.clustering import find_heads, save_clusters
    from tprprobe.console import track
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    opened = open_store(store)
    head = options.pop("head", None)
    targets = [(site, head)] if head is not None else find_heads(opened, site)
    with scheduled(scheduler):
        found = [run(opened, *at, **options) for at in track(targets, "clustering", len(targets))]
    if out:
        save_clusters(found, out, opened)
    lines = []
    for result in found:
        of = result.site if result.head is None else f"{result.site} head {result.head}"
        lines += [f"{of}: stability {result.stability:.3f} over {result.n_seeds} seeds"]
        lines += [result.summary.to_string(index=False)]
    common.show(as_json, [result.as_dict() for result in found], lambda: "\n".join(lines))


@options_of("analyses.reconstruction.fits:reconstruct")
def reconstruct(
    store: common.StoreFolder,
    baseline: Annotated[
        list[Path] | None, typer.Option(help="Stores of baseline models, the Transformer's first.")
    ] = None,
    out: common.Out = None,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Reconstruct a layer's state from one head's value vector (an affine map), and compare it with controls."""
    import pandas as pd

    from tprprobe.analyses.reconstruction import reconstruct as run
    from tprprobe.figures.reconstruction import reconstruction_table, save_reconstruction
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    stores = [open_store(each) for each in (store, *(baseline or []))]
    with scheduled(scheduler):
        found = [run(each, **options) for each in stores]
    results = pd.concat(found, ignore_index=True)
    if out:
        save_reconstruction(results, out, stores)
    common.show(as_json, results, lambda: reconstruction_table(results).markdown())


@common.of_model
@options_of("interventions.behavior:measure_pairs", only=["edits", "sites"], edits="edit")
def intervene(
    ckpt: common.Ckpt,
    recipe: Annotated[
        Path | None,
        typer.Argument(help="A recipe of edits or swaps (TOML), see docs/interventions.md."),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Instead of a recipe: minimal pairs, pairs:FRAME.")
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="Instead of a recipe: a text to continue.")
    ] = None,
    exchange: Annotated[
        str | None, typer.Option(help="The two words of the text to exchange: Paris,Rome.")
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            help="The answers to the text and to the exchanged text: Italy,France; default: those of the model."
        ),
    ] = None,
    n: common.Number = None,
    seed: common.Seed = 0,
    out: common.Out = None,
    resume: common.Resume = False,
    device: common.Device = "cpu",
    as_json: common.Json = False,
    loading: common.Loading = None,
    **of_edits: Any,
) -> None:
    """Edit or exchange vectors while a model runs, and score its answers, by a recipe or on minimal pairs."""
    if sum(given is not None for given in (recipe, data, text)) != 1:
        raise InputError(
            "give one of a recipe (FILE.toml), --data pairs:FRAME, or --text TEXT --exchange WORD,WORD"
        )
    of_pairs = {"--exchange": exchange, "--answers": answers, "-n": n}
    of_pairs |= {"--edit": of_edits.get("edits"), "--sites": of_edits.get("sites")}
    if recipe and (strange := [name for name, value in of_pairs.items() if value]):
        raise InputError(
            f"{', '.join(strange)}: of minimal pairs, not of a recipe; leave either out"
        )
    if recipe and not recipe.is_file():
        raise InputError(
            f"no recipe {str(recipe)!r} here; minimal pairs are --data pairs:FRAME, a text is --text TEXT --exchange WORD,WORD"
        )
    from tprprobe.data.frames.pairsets import find_pairs, pair_of_text
    from tprprobe.figures.behavior import behavior_table
    from tprprobe.interventions import run_recipe
    from tprprobe.interventions.behavior import ITEMS, measure_pairs
    from tprprobe.models import load_model
    from tprprobe.models.protocol import require_head

    pairs = None if data is None else find_pairs(data, n, seed, 2 * ITEMS)
    if text is not None:
        words, expected = (typed.split(",") if typed else [] for typed in (exchange, answers))
        pairs = pair_of_text(text, words, expected or ("", ""))
    if out is None and recipe:
        out = common.default_folder(recipe.stem, ckpt)
    elif out is None:
        of_pairs = of_pairs | {"seed": seed, "data": data, "text": text}
        out = common.default_folder("text" if text else "pairs", ckpt, **of_pairs)
    common.check_folder(out, resume)
    model = require_head(
        load_model(ckpt, device=device, **loading or {}), "an intervention on answers"
    )
    if pairs is None:
        rows = run_recipe(Path(str(recipe)), model, out, resume)
        columns = [name for name in map(str, rows) if not name.endswith(("_low", "_high"))]
        shown = rows[columns].round(3).to_string(index=False)
    else:
        rows = measure_pairs(model, pairs, out=out, resume=resume, seed=seed, **of_edits)
        _draw_behavior(rows, out)
        shown = behavior_table(rows)
    common.show(as_json, rows, lambda: shown)


def _draw_behavior(rows: "pd.DataFrame", folder: Path) -> None:
    from tprprobe.figures.behavior import behavior_by_layer
    from tprprobe.figures.style import save

    if len(rows) > 2:
        for ending in (".pdf", ".svg"):
            save(behavior_by_layer(rows), folder / f"behavior{ending}")
        common.say(f"{folder / 'behavior.pdf'}")


@options_of("analyses.naming.run:name_all", without=["progress", "projections"], patterns="site")
def name(
    store: common.StoreFolder,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Name the clusters of all heads by gold structure, on held-out questions, and compare them with controls.

    Words with exact labels are named by their labels (default sites: *.role), and compared with the twins.
    """
    from tprprobe.analyses.naming import name_all, name_words
    from tprprobe.analyses.naming.fields import list_exact
    from tprprobe.console import track
    from tprprobe.figures import naming
    from tprprobe.gold.structure import find_structure
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    opened = open_store(store)
    of_words = bool(list_exact(opened))
    options["progress"] = lambda parts: track(parts, "naming", len(parts))
    if of_words:
        first, *others = options.pop("k", [20])
        if others or "baseline" in options:
            raise InputError("labeled words are named with one --k, and without --baseline")
        options["k"] = first
    elif "baseline" in options:
        options["baseline"] = open_store(options["baseline"])
    with scheduled(scheduler):
        named: Any = (name_words if of_words else name_all)(opened, **options)
    if of_words:
        shown, tables = named, [naming.word_heads_table(named), naming.words_table(named)]
    else:
        shown, tables = named.as_dict(), find_structure().tables(named)
    common.show(as_json, shown, lambda: "\n".join(table.markdown() for table in tables))


@common.of_model
@options_of("examination:examine", without=["tokenizer", "data", "n", "out"])
def examine(
    model: Annotated[
        str,
        typer.Argument(help="The model: a shipped name, a folder, a hub id, or hf:PATH."),
    ],
    data: common.Data = None,
    n: common.Number = None,
    out: common.Out = None,
    device: common.Device = "cpu",
    as_json: common.Json = False,
    loading: common.Loading = None,
    **options: Any,
) -> None:
    """Examine a model layer by layer: what its states represent, what training added, and what the model uses."""
    from tprprobe.data import load_data
    from tprprobe.examination import TEXTS, examine
    from tprprobe.models import load_model

    out = out or common.default_folder("examined", model, data=data, n=n)
    common.check_folder(out, options.get("resume", False))
    if data is not None:
        options["data"] = load_data(data, n=n, seed=options.get("seed", 0))
    read = load_model(model, device=device, **loading or {})
    examined = examine(read, n=n or TEXTS, out=out, **options)
    lines, page = examined.lines, str(examined.page)
    common.show(as_json, {"lines": lines, "page": page}, lambda: "\n".join([*lines, page]))
