"""Commands that analyze a store or a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tprprobe.cli import options as common
from tprprobe.cli.generated_options import options_of
from tprprobe.errors import InputError


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
        tracked = track(targets, "clustering", len(targets))
        clusters = [run(opened, *target, **options) for target in tracked]
    if out:
        save_clusters(clusters, out, opened)
    lines = []
    for result in clusters:
        name = result.site if result.head is None else f"{result.site} head {result.head}"
        lines += [f"{name}: stability {result.stability:.3f} over {result.n_seeds} seeds"]
        table = result.summary.drop(columns="distinctive")
        lines += [table.to_string(index=False, float_format="{:.2f}".format)]
    common.show(as_json, [result.as_dict() for result in clusters], lambda: "\n".join(lines))


@options_of("analyses.reconstruction.fits:reconstruct")
def reconstruct(
    store: common.StoreFolder,
    baseline: Annotated[
        list[Path] | None,
        typer.Option(
            help="Stores of baseline models, the Transformer's first (of the shipped transformer-arithmetic)."
        ),
    ] = None,
    out: common.Out = None,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Reconstruct a layer's state from one head's value vector (an affine map), and compare it with controls."""
    import pandas as pd

    from tprprobe.analyses.reconstruction import reconstruct as run
    from tprprobe.figures.reconstruction import (
        reconstruction_table,
        save_reconstruction,
        summarize_reconstruction,
    )
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    stores = [open_store(path) for path in (store, *(baseline or []))]
    with scheduled(scheduler):
        results = pd.concat([run(opened, **options) for opened in stores], ignore_index=True)
    if out:
        save_reconstruction(results, out, stores, options.get("seed", 0))
    table = lambda: reconstruction_table(results).markdown()  # noqa: E731
    common.show(as_json, results, lambda: f"{summarize_reconstruction(results)}\n\n{table()}")


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
    against: Annotated[
        str | None,
        typer.Option(
            help="Another text of as many tokens, whose states replace those of the text, one at a time."
        ),
    ] = None,
    answers: Annotated[
        str | None,
        typer.Option(
            help="The answers to the text and to the other one: Italy,France; default: those of the model."
        ),
    ] = None,
    n: common.Number = None,
    seed: common.Seed = 0,
    out: common.Out = None,
    resume: common.Resume = False,
    device: common.Device = "cpu",
    as_json: common.Json = False,
    loading: common.Loading = None,
    **edit_options: Any,
) -> None:
    """Edit or exchange vectors while a model runs, and score its answers, by a recipe or on minimal pairs."""
    ways = "--data pairs:FRAME, or --text TEXT with --exchange WORD,WORD or --against TEXT"
    if [recipe, data, text].count(None) != 2:
        raise InputError(f"give one of a recipe (FILE.toml), {ways}")
    if against is not None and (text is None or exchange or edit_options.get("edits")):
        raise InputError("--against goes with --text, and without --exchange and --edit")
    pair_options = {"--exchange": exchange, "--against": against, "--answers": answers, "-n": n}
    pair_options |= {"--edit": edit_options.get("edits"), "--sites": edit_options.get("sites")}
    if recipe and (names := [name for name, value in pair_options.items() if value]):
        raise InputError(f"{', '.join(names)}: of minimal pairs, not of a recipe; leave either out")
    if recipe and not recipe.is_file():
        raise InputError(f"no recipe {str(recipe)!r} here; minimal pairs are {ways}")
    from tprprobe.data.frames.pairsets import find_pairs, pair_of_text
    from tprprobe.figures.behavior import behavior_scene, behavior_table
    from tprprobe.figures.patching import patching_squares, summarize_patching
    from tprprobe.interventions import patch_positions, run_recipe
    from tprprobe.interventions.behavior import ITEMS, measure_pairs
    from tprprobe.models import load_model
    from tprprobe.models.protocol import require_head

    pairs = None if data is None else find_pairs(data, n, seed, 2 * ITEMS)
    if text is not None and against is None:
        words, expected = (line.split(",") if line else [] for line in (exchange, answers))
        pairs = pair_of_text(text, words, expected or ("", ""))
    if out is None and recipe:
        out = common.default_folder(recipe.stem, ckpt)
    elif out is None:
        pair_options |= {"seed": seed, "data": data, "text": text}
        out = common.default_folder("text" if text else "pairs", ckpt, **pair_options)
    common.check_folder(out, resume)
    model = require_head(load_model(ckpt, device=device, **loading or {}), "an intervention")
    if text is not None and against is not None:
        expected = answers.split(",") if answers else None
        sites = edit_options.get("sites")
        rows = patch_positions(model, text, against, expected, sites, seed, out, resume)
        _draw(patching_squares(rows), out / "patching", ".pdf", ".svg", ".png")
        table = summarize_patching(rows)
    elif pairs is None:
        rows = run_recipe(Path(str(recipe)), model, out, resume)
        columns = [name for name in map(str, rows) if not name.endswith(("_low", "_high"))]
        table = rows[columns].round(3).to_string(index=False)
    else:
        rows = measure_pairs(model, pairs, out=out, resume=resume, seed=seed, **edit_options)
        if len(rows) > 2:
            _draw(behavior_scene(rows), out / "behavior", ".pdf", ".svg")
        table = behavior_table(rows)
    common.show(as_json, rows, lambda: table)


def _draw(scene: Any, path: Path, *endings: str) -> None:
    from tprprobe.figures.dots import render
    from tprprobe.figures.style import save

    figure = render(scene)
    for ending in endings:
        save(figure, path.with_suffix(ending))
    common.say(f"{path}{', '.join(endings)}")


@options_of(
    "analyses.naming.arithmetic:name_all", without=["progress", "projections"], patterns="site"
)
def name(
    store: common.StoreFolder,
    scheduler: common.Scheduler = None,
    as_json: common.Json = False,
    **options: Any,
) -> None:
    """Name the clusters of all heads, on held-out documents, and compare them with those of the twins.

    Words are named by their labels (not by upos beside pos), their places, and themselves, arithmetic by its structure.
    """
    from tprprobe.analyses.naming import name_all, name_words
    from tprprobe.analyses.naming.names import find_arithmetic
    from tprprobe.console import track
    from tprprobe.figures import naming
    from tprprobe.gold.structure import find_structure
    from tprprobe.store import open_store
    from tprprobe.store.dask_workers import scheduled

    opened, out = open_store(store), options.get("out")
    has_words = bool(opened.labels) or find_arithmetic(opened) is None
    options["progress"] = lambda jobs: track(jobs, "naming", len(jobs))
    if (k := min(options.get("k", [20]))) < 2:
        raise InputError(f"--k {k}: one group divides nothing, give 2 or more")
    if has_words:
        n_clusters = options.pop("k", [20])
        if len(n_clusters) > 1 or "baseline" in options:
            raise InputError("tokens of texts are named with one --k, and without --baseline")
        options["k"] = n_clusters[0]
    elif "baseline" in options:
        options["baseline"] = open_store(options["baseline"])
    with scheduled(scheduler):
        if has_words:
            content = words = name_words(opened, **options)
            sources = opened.facts.guessed.items()
            guesses = ", ".join(f"{task} by {source}" for task, source in sources)
            texts = [f"Labels that are guesses: {guesses}.\n"] * bool(guesses)
            texts += [naming.summarize_words(words), naming.list_names(words, out)]
        else:
            names = name_all(opened, **options)
            content = names.as_dict()
            texts = [f"{names.comparison}\n{naming.describe_recovery(names.asked)}\n"]
            texts += [naming.list_names(names.asked, out)]
            tables = [table.markdown() for table in find_structure().tables(names)]
            texts += [*tables, "What these columns mean: `tprprobe docs tutorials/roles`."]
    common.show(as_json, content, lambda: "\n".join(texts))


@common.of_model
@options_of("examination.examining:examine", without=["tokenizer", "data", "n", "out"])
def examine(
    model: Annotated[str, typer.Argument(help="The model: a name, a folder, a hub id, hf:PATH.")],
    data: common.Data = None,
    n: Annotated[
        int | None, typer.Option("-n", help="How many texts, at equal distances; default: 600.")
    ] = None,
    out: common.Out = None,
    device: common.Device = "cpu",
    as_json: common.Json = False,
    loading: common.Loading = None,
    **options: Any,
) -> None:
    """Put a model on one page: its states, heads, clusters, probes, and what changes its answer."""
    out = out or common.default_folder("examined", model, data=data, n=n)
    common.check_folder(out, options.get("resume", False))
    from tprprobe.data import load_data
    from tprprobe.examination import TEXTS, examine
    from tprprobe.examination.subject import check_labels
    from tprprobe.models import load_model

    check_labels(options.get("labels"))
    if data is not None:
        limit = None if Path(data).exists() else n  # texts of a file are taken all over it
        options["data"] = load_data(data, n=limit, seed=options.get("seed", 0))
    loaded = load_model(model, device=device, **loading or {})
    examination = examine(loaded, n=n or TEXTS, out=out, **options)
    facts = {"lines": examination.lines, "page": str(examination.page)}
    common.show(as_json, facts, lambda: repr(examination))
