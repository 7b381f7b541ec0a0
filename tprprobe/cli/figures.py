"""Commands that draw and show."""

from pathlib import Path
from typing import Annotated

import typer

from tprprobe.cli.options import Out, Seed, say


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
    from tprprobe.figures import catalogue

    if name is None:
        for entry in catalogue.list_figures():
            typer.echo(f"{entry.name:18} {entry.title}")
        return
    options = {"layer": layer, "head": head, "k": k, "sample": sample, "seed": seed}
    options |= {"method": method, "tagger": tagger}
    say(f"drawn: {catalogue.write_figure(name, store, ckpt or [], options, out)}")


def sheet(
    first: Path,
    second: Path,
    out: Annotated[Path, typer.Option(help="FILE.csv; its .key.json lies beside it.")],
    kind: Annotated[str, typer.Option(help="votes or facts.")] = "votes",
    n: Annotated[int, typer.Option("-n", help="How many documents.")] = 120,
    seed: Seed = 0,
) -> None:
    """A blind sheet for people: summaries of two models (folders of `eval --out`) side by side."""
    from tprprobe.figures.catalogue.summaries import make_sheet

    say(f"fill in: {make_sheet(first, second, out, kind, n, seed)}")


def report(run: Path, out: Out = None) -> None:
    """One self-contained HTML file about a store: sites, clusters, figures."""
    from tprprobe.figures.report.page import report_run

    say(f"report: {report_run(run, out)}")


def demo(out: Annotated[Path, typer.Option(help="Where it is left.")] = Path("runs/demo")) -> None:
    """See the roles of a trained TP-Transformer on fresh questions: a report and its figures."""
    from tprprobe.figures.report.demo import run_demo

    say(f"open {run_demo(out)}")


def open_app(
    runs: Annotated[Path, typer.Argument(help="A folder of runs, or a run.")] = Path("runs"),
    port: Annotated[int | None, typer.Option(help="A port; without it, the first free.")] = None,
) -> None:
    """Open the dashboard over the stores and results in a folder; it is served to this machine."""
    from tprprobe.views import serve

    serve(runs, port)
