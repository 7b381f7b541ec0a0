"""The command line: every command is a few lines that call one public function."""

import json
import os
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch: spinning threads starve others

import typer

from tprprobe.errors import InputError

app = typer.Typer(
    help="See and test the roles and fillers inside Tensor-Product-Representation networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Ckpt = Annotated[str, typer.Option(help="Shipped name, folder, hub id, untrained:NAME or hf:PATH.")]
Data = Annotated[
    str | None, typer.Option(help="mathematics:MODULE (a+b, all), a folder or a file.")
]
Split = Annotated[str | None, typer.Option(help="A split of the data.")]
Number = Annotated[int | None, typer.Option("-n", help="How many examples.")]
Seed = Annotated[int, typer.Option(help="Seed of what is random.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, …")]
Out = Annotated[Path | None, typer.Option(help="Where the results are written.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what was cut off.")]
PROBED = "tpt-d-english"  # what `probe` reads without a store


class Context(StrEnum):
    """What the encoder reads while the decoder is forced to write an annotated sentence."""

    same = "same"
    document = "document"
    empty = "empty"


class Decoded(StrEnum):
    """What the decoder reads while vectors are extracted."""

    reference = "reference"
    generated = "generated"


@app.command()
def models(as_json: Json = False) -> None:
    """What can be built (presets) and loaded (checkpoints), with parameter counts."""
    from tprprobe.models.listing import list_models

    found = list_models()
    if as_json:
        return _print_json(found)
    for kind, rows in found.items():
        typer.echo(f"{kind}:")
        for row in rows:
            typer.echo(f"  {row['name']:24} {row['architecture']:16} {row['parameters']:>12,}")
    return None


@app.command()
def train(
    recipe: Path,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Override a key: batch_size=64.")
    ] = None,
    out: Out = None,
    resume: Resume = False,
    device: Device = "cpu",
) -> None:
    """Train by a recipe, or all runs of a study's plan; under torchrun, on all its processes."""
    from tprprobe.recipes import read_recipe
    from tprprobe.study.plans import is_plan, read_plan
    from tprprobe.study.running import run_study
    from tprprobe.training import train as run

    if is_plan(recipe):
        plan = read_plan(recipe, set_)
        return _say(f"trained: {run_study(plan, out or Path('runs') / plan.name, resume, device)}")
    settings = read_recipe(recipe, set_)
    return _say(f"trained: {run(settings, out or Path('runs') / settings.name, resume, device)}")


@app.command()
def convert(
    source: Path,
    out: Path,
    config: Annotated[
        str | None,
        typer.Option(help='JSON or a JSON file: what the source does not hold, {"n_heads": 4}.'),
    ] = None,
    vocab: Annotated[Path | None, typer.Option(help="The vocabulary of the source.")] = None,
) -> None:
    """Turn a published checkpoint into a folder of ours."""
    from tprprobe.models.convert import convert as run

    folder = run(source, out, config=config, vocab=vocab)
    known = "" if vocab else " (vocabulary: unknown; give --vocab to encode text)"
    _say(f"converted: {folder}{known}")


@app.command("eval")
def evaluate(
    ckpt: Ckpt,
    data: Data = None,
    split: Split = None,
    n: Number = None,
    seed: Seed = 0,
    beams: Annotated[int | None, typer.Option(help="Of texts: beam width.")] = None,
    max_length: Annotated[int | None, typer.Option(help="… most symbols written.")] = None,
    min_length: Annotated[int | None, typer.Option(help="… fewest symbols.")] = None,
    length_penalty: Annotated[float | None, typer.Option(help="… exponent of length.")] = None,
    no_repeat: Annotated[int | None, typer.Option(help="… n-grams that come once.")] = None,
    out: Out = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Exact match of answers, or scores of summaries and captions, with 95 % intervals."""
    from tprprobe.evaluation import evaluate as run
    from tprprobe.evaluation import save_evaluation, summarize

    model, examples = _model_and_data(ckpt, data, split, n, seed, device)
    given = {
        "beam": beams,
        "max_length": max_length,
        "min_length": min_length,
        "length_penalty": length_penalty,
        "no_repeat": no_repeat,
    }
    options = {name: value for name, value in given.items() if value is not None}
    rows = run(model, examples, **options)
    summary = summarize(rows)
    if out:
        save_evaluation(rows, model, examples, out, options)
    if as_json:
        return _print_json(summary)
    for line in _score_lines(summary):
        typer.echo(line)
    return None


@app.command()
def extract(
    ckpt: Ckpt,
    data: Data = None,
    split: Split = None,
    n: Number = None,
    seed: Seed = 0,
    sites: Annotated[
        list[str] | None, typer.Option(help="Site patterns: 'encoder.*.role', 'decoder.-1.*'.")
    ] = None,
    attention_samples: Annotated[
        int, typer.Option(help="First samples with attention maps.")
    ] = 128,
    source: Annotated[
        Context | None, typer.Option(help="What the encoder reads of an annotated file.")
    ] = None,
    target: Annotated[Decoded, typer.Option(help="What the decoder reads.")] = Decoded.reference,
    labels: Annotated[
        list[str] | None,
        typer.Option(
            help="TASK=FILE of an annotated file; of any text pos,dep,nel=spacy:PIPELINE, srl=rules."
        ),
    ] = None,
    no_control: Annotated[bool, typer.Option("--no-control", help="No untrained twin.")] = False,
    out: Out = None,
    resume: Resume = False,
    device: Device = "cpu",
) -> None:
    """Write every vector of the chosen sites into a store."""
    from tprprobe.data.annotated import join_labels, set_source
    from tprprobe.extraction import extract as run
    from tprprobe.gold.labellers import find_labellers, is_labeller

    sources = _pairs(labels or [])
    files = {task: source for task, source in sources.items() if not is_labeller(source)}
    labellers = find_labellers({k: v for k, v in sources.items() if k not in files})
    model, examples = _model_and_data(ckpt, data, split, n, seed, device)
    if source:
        examples = set_source(examples, source.value)
    if files:
        examples = join_labels(examples, files)
    out = out or Path("runs") / str(getattr(model, "name", "store")).replace(":", "-")
    settings = {"resume": resume, "labellers": labellers}
    store = run(
        model, examples, sites, out, attention_samples, target.value, not no_control, **settings
    )
    _say(f"{store.samples} samples, {len(store.sites)} sites: {out}")


@app.command()
def inspect(what: str, as_json: Json = False) -> None:
    """What a checkpoint, a store or a corpus holds, and whether a checkpoint obeys its equations."""
    from tprprobe.overview import inspect as run

    overview = run(what)
    if as_json:
        return _print_json(overview.as_dict())
    typer.echo(overview.as_text())
    return None


@app.command()
def cluster(
    store: Path,
    site: Annotated[str, typer.Option(help="A site or pattern, layer -1 is the last.")],
    k: Annotated[int, typer.Option(help="Number of clusters.")],
    head: Annotated[int | None, typer.Option(help="One head; without it, all of them.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise dimensions.")] = False,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Cluster the vectors of a site by k-means: sizes, top characters, stability over seeds."""
    from tprprobe.clustering import cluster as run
    from tprprobe.clustering import find_heads, save_clusters
    from tprprobe.console import track
    from tprprobe.store import open_store

    opened = open_store(store)
    targets = [(site, head)] if head is not None else find_heads(opened, site)
    settings = {"k": k, "seed": seed, "raw": raw}
    found = [run(opened, *at, **settings) for at in track(targets, "clustering", len(targets))]
    if out:
        save_clusters(found, out)
    if as_json:
        return _print_json([result.as_dict() for result in found])
    for result in found:
        of = result.site if result.head is None else f"{result.site} head {result.head}"
        typer.echo(f"{of}: stability {result.stability:.3f} over {result.n_seeds} seeds")
        typer.echo(result.summary.to_string(index=False))
    return None


@app.command()
def probe(
    task: Annotated[str, typer.Argument(help="A folder of probes/ (pos dep srl nel) or all.")],
    store: Annotated[Path | None, typer.Argument(help="A store with labels.")] = None,
    ckpt: Annotated[
        str | None, typer.Option(help="A checkpoint to extract from, instead of a store.")
    ] = None,
    data: Data = None,
    split: Split = None,
    n: Number = None,
    sites: Annotated[
        list[str] | None, typer.Option(help="Site patterns; by default role, filler, tpr, hidden.")
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="A probe a head.")] = False,
    seeds: Annotated[int, typer.Option(help="Probes with different seeds.")] = 1,
    control: Annotated[
        list[str] | None,
        typer.Option(
            help="control, prefix, shuffled, untrained, previous, dictionary; default all."
        ),
    ] = None,
    span_mode: Annotated[
        str | None, typer.Option(help="first_state, all_states or last_state.")
    ] = None,
    kernel: Annotated[int, typer.Option(help="Width of the span convolution.")] = 1,
    schedule: Annotated[str, typer.Option(help="short or tenney.")] = "short",
    no_information: Annotated[
        bool, typer.Option("--no-information", help="No codelengths and usable information.")
    ] = False,
    budget: Annotated[float, typer.Option(help="GB of memory for probes and vectors.")] = 2.0,
    test: Annotated[Path | None, typer.Option(help="Another store to test on.")] = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Train probes for labels of words on every site of a store, beside their controls."""
    from tprprobe.extraction import extract as run_extract
    from tprprobe.probing import probe as run
    from tprprobe.store import open_store

    if store is not None:
        opened = open_store(store)
    else:
        model, examples = _model_and_data(ckpt or PROBED, data, split, n, seed, device)
        out = out or Path("runs") / f"probe-{model.name}".replace(":", "-")
        opened = run_extract(model, examples, out=out / "store", resume=resume)
    rows = run(
        opened,
        task,
        test=None if test is None else open_store(test),
        out=out,
        resume=resume,
        device=device,
        sites=sites,
        heads=heads,
        seeds=seeds,
        controls=control,
        span_mode=span_mode,
        kernel=kernel,
        schedule=schedule,
        information=not no_information,
        budget=int(budget * 2**30),
        seed=seed,
    )
    if as_json:
        return _print_json(json.loads(rows.to_json(orient="records")))
    columns = ["task", "site", "head", "seed", "control", "f1", "f1_low", "f1_high", "accuracy"]
    typer.echo(rows[columns].round(3).to_string(index=False, na_rep=""))
    return None


@app.command()
def reconstruct(
    store: Path,
    layer: Annotated[
        int | None, typer.Option(help="A layer, -1 is the last; without it, all.")
    ] = None,
    target: Annotated[
        str, typer.Option(help="z is the layer's input (LN z), hidden (its output) or below.")
    ] = "input",
    baseline: Annotated[
        list[Path] | None, typer.Option(help="Stores of other models, the Transformer's first.")
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """How much of a state one head's value vector keeps: affine reconstruction with controls."""
    import pandas as pd

    from tprprobe.figures.reconstruction import reconstruction_table
    from tprprobe.papers.measured import save_reconstruction
    from tprprobe.reconstruction import reconstruct as run
    from tprprobe.store import open_store

    found = [run(open_store(each), layer, target, seed) for each in (store, *(baseline or []))]
    results = pd.concat(found, ignore_index=True)
    if out:
        save_reconstruction(results, out)
    if as_json:
        return _print_json(json.loads(results.to_json(orient="records")))
    typer.echo(reconstruction_table(results).markdown())
    return None


@app.command()
def binding(
    ckpt: Annotated[
        list[str] | None, typer.Option(help="Trained models that are asked the same question.")
    ] = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Out = None,
    as_json: Json = False,
) -> None:
    """The binding problem of stacked attention: shown exactly, and asked of trained models."""
    import pandas as pd

    from tprprobe.binding_problem import binding_probe, demonstrate, measure_degrees
    from tprprobe.console import track
    from tprprobe.figures.binding import binding_table, demonstration_table
    from tprprobe.models.checkpoint import load_model
    from tprprobe.papers.measured import save_binding

    exact = {"demonstration": demonstrate(seed=seed), "degrees": measure_degrees(seed=seed)}
    models = [load_model(name, device=device) for name in ckpt or []]
    parts = [binding_probe(each, seed=seed) for each in track(models, "probing", len(models))]
    probed = pd.concat(parts, ignore_index=True) if parts else None
    if out:
        save_binding(exact, probed, out)
    if as_json:
        tables = exact | ({} if probed is None else {"probe": probed})
        rows = {name: json.loads(each.to_json(orient="records")) for name, each in tables.items()}
        return _print_json(rows)
    typer.echo(demonstration_table(**exact).markdown())
    if probed is not None:
        typer.echo(binding_table(probed).markdown())
    return None


@app.command()
def intervene(
    recipe: Path,
    ckpt: Ckpt,
    out: Out = None,
    resume: Resume = False,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Edit vectors by a recipe (sites × heads × edits × strengths, or swaps), and score the answers."""
    from tprprobe.interventions import find_data, read_recipe, run_swaps, sweep
    from tprprobe.models.checkpoint import load_model

    settings, model = read_recipe(recipe), load_model(ckpt, device=device)
    out = out or Path("runs") / f"{recipe.stem}-{model.name}".replace(":", "-")
    run = run_swaps if settings.swaps else sweep
    rows = run(model, find_data(model, settings), settings, out, resume)
    if as_json:
        return _print_json(json.loads(rows.to_json(orient="records")))
    shown = [name for name in map(str, rows) if not name.endswith(("_low", "_high"))]
    typer.echo(rows[shown].round(3).to_string(index=False))
    return None


@app.command()
def name(
    store: Path,
    site: Annotated[
        list[str] | None, typer.Option(help="Site patterns; encoder.*.self.role.")
    ] = None,
    k: Annotated[list[int] | None, typer.Option(help="Numbers of clusters; 20.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise dimensions.")] = False,
    baseline: Annotated[
        Path | None, typer.Option(help="A store of the same questions, of a Transformer.")
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Name the clusters of all heads by gold structure, held out and beside controls."""
    from tprprobe.console import track
    from tprprobe.naming import as_dict, name_all, tell
    from tprprobe.store import open_store

    named = name_all(
        open_store(store),
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
        return _print_json(as_dict(named))
    typer.echo(tell(named))
    return None


@app.command()
def figure(
    name: Annotated[str | None, typer.Argument(help="A figure; without it, the list.")] = None,
    store: Annotated[Path | None, typer.Option(help="A store.")] = None,
    ckpt: Annotated[
        list[str] | None, typer.Option(help="Checkpoints, evaluations or runs.")
    ] = None,
    layer: Annotated[int | None, typer.Option(help="Layer; -1 is the last.")] = None,
    head: Annotated[int | None, typer.Option(help="Head.")] = None,
    k: Annotated[int | None, typer.Option(help="Number of clusters.")] = None,
    sample: Annotated[int | None, typer.Option(help="Sample.")] = None,
    method: Annotated[str | None, typer.Option(help="Projection: pca, linear or umap.")] = None,
    tagger: Annotated[str | None, typer.Option(help="A spaCy pipeline that tags words.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of what is random.")] = None,
    out: Annotated[Path | None, typer.Option(help="FILE.pdf, .svg or .png.")] = None,
) -> None:
    """Draw a figure or table of a paper from a store, an evaluation or a run."""
    from tprprobe import papers

    if name is None:
        for entry in papers.list_figures():
            typer.echo(f"{entry.name:18} {entry.title}")
        return
    options = {"layer": layer, "head": head, "k": k, "sample": sample, "seed": seed}
    options |= {"method": method, "tagger": tagger}
    _say(f"drawn: {papers.write_figure(name, store, ckpt or [], options, out)}")


@app.command()
def sheet(
    first: Path,
    second: Path,
    out: Annotated[Path, typer.Option(help="FILE.csv; its .key.json lies beside it.")],
    kind: Annotated[str, typer.Option(help="votes or facts.")] = "votes",
    n: Annotated[int, typer.Option("-n", help="How many documents.")] = 120,
    seed: Seed = 0,
) -> None:
    """A blind sheet for people: summaries of two models (folders of `eval --out`) side by side."""
    from tprprobe.papers.scored import make_sheet

    _say(f"fill in: {make_sheet(first, second, out, kind, n, seed)}")


@app.command()
def features(
    images: Annotated[Path, typer.Argument(help="A folder of images.")],
    out: Annotated[Path, typer.Argument(help="FILE.parquet, for captions:…,features=FILE.")],
    model: Annotated[
        str, typer.Option(help="A ResNet: a folder, or a name in the hub's cache.")
    ] = "microsoft/resnet-152",
    device: Device = "cpu",
    resume: Resume = False,
) -> None:
    """Image features for captioning (the extra `images`)."""
    from tprprobe.features import compute_features

    bad = compute_features(images, out, model, device, resume)
    _say(f"written: {out}" + (f"; left out: {len(bad)} files" if bad else ""))


@app.command()
def report(run: Path, out: Out = None) -> None:
    """One self-contained HTML file about a store: sites, clusters, figures."""
    from tprprobe.report import report_run

    _say(f"report: {report_run(run, out)}")


@app.command()
def demo(out: Annotated[Path, typer.Option(help="Where it is left.")] = Path("runs/demo")) -> None:
    """See the roles of a trained TP-Transformer on fresh questions: a report and its figures."""
    from tprprobe.demo import run_demo

    _say(f"open {run_demo(out)}")


@app.command("app")
def open_app(
    runs: Annotated[Path, typer.Argument(help="A folder of runs, or a run.")] = Path("runs"),
    port: Annotated[int | None, typer.Option(help="A port; without it, the first free.")] = None,
) -> None:
    """Open the dashboard over the stores and results in a folder; it is served to this machine."""
    from tprprobe.views import serve

    serve(runs, port)


def _score_lines(summary: dict[str, Any]) -> Iterator[str]:
    if "scores" in summary:
        for name, row in summary["scores"].items():
            if row["n"]:
                known = row["low"] is not None
                interval = f"[{row['low']:.4f}, {row['high']:.4f}]" if known else "no interval"
                yield f"{name:16} {row['value']:.4f} {interval}  n {row['n']}"
        return
    for name, row in {**summary["modules"], "all": summary}.items():
        low, high = row["exact_match_interval"]
        yield f"{name:44} {row['exact_match']:.3f} [{low:.3f}, {high:.3f}]  n {row['n']}"


def _model_and_data(
    ckpt: str, data: str | None, split: str | None, n: int | None, seed: int, device: str
) -> tuple[Any, Any]:
    from tprprobe.data import load_data
    from tprprobe.foreign import load_model
    from tprprobe.models.checkpoint import default_data

    model = load_model(ckpt, device=device)
    if data is None:
        data, split = default_data(model, split)
    return model, load_data(data, split=split, n=n, seed=seed)


def _pairs(given: list[str]) -> dict[str, str]:
    """TASK=FILE, …"""
    for each in given:
        if "=" not in each:
            raise InputError(f"--labels {each!r}: give TASK=FILE, for example nel=entities.iob2")
    return dict(each.split("=", 1) for each in given)


def _print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _say(message: str) -> None:
    typer.echo(message, err=True)


def main() -> None:
    """Run a command; bad input is one line and exit code 2."""
    try:
        app()
    except InputError as error:
        _say(f"tprprobe: {error}")
        sys.exit(2)
    except OSError as error:
        _say(f"tprprobe: {error.filename or 'input or output'}: {error.strerror or error}")
        sys.exit(2)
