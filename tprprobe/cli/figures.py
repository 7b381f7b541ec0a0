"""Commands that draw figures, write reports and open the dashboard."""

from pathlib import Path
from typing import Annotated

import typer

from tprprobe.cli.options import Out, Resume, Seed, say


def figure(
    name: Annotated[
        str | None, typer.Argument(help="The figure; without a name, all are listed.")
    ] = None,
    store: Annotated[Path | None, typer.Option(help="The store to read.")] = None,
    ckpt: Annotated[
        list[str] | None,
        typer.Option(help="Folders of evaluations, runs or results; or shipped checkpoints."),
    ] = None,
    layer: Annotated[int | None, typer.Option(help="A layer; -1 is the last.")] = None,
    head: Annotated[int | None, typer.Option(help="A head.")] = None,
    k: Annotated[int | None, typer.Option(help="Number of clusters.")] = None,
    sample: Annotated[int | None, typer.Option(help="The number of a sample.")] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Questions answered wrong too (schlag-fig2).")
    ] = False,
    position: Annotated[
        list[int] | None,
        typer.Option(help="A position of the sample to look from; repeatable (schlag-fig3)."),
    ] = None,
    method: Annotated[str | None, typer.Option(help="Projection: pca, linear or umap.")] = None,
    tagger: Annotated[
        str | None, typer.Option(help="A spaCy pipeline that tags words, by name or folder.")
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(
            help="A folder of `cluster --raw --out`: centers of another store (huang-table2, -table3)."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of random choices.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file: .pdf, .svg or .png; for tables also .md, .tex, .csv, .parquet."
        ),
    ] = None,
) -> None:
    """Draw a figure or table of a paper; without a name, list them."""
    from tprprobe.figures import catalogue

    if name is None:
        for entry in catalogue.list_figures():
            typer.echo(f"{entry.name:18} {entry.title}")
        return
    options = {"layer": layer, "head": head, "k": k, "sample": sample, "seed": seed}
    options |= {"method": method, "tagger": tagger, "every": every or None, "positions": position}
    options |= {"clusters": clusters}
    say(f"drawn: {catalogue.write_figure(name, store, ckpt or [], options, out)}")


def sheet(
    first: Annotated[Path, typer.Argument(help="An evaluation: a folder of `eval --out`.")],
    second: Annotated[Path, typer.Argument(help="Another evaluation, of the same documents.")],
    out: Annotated[
        Path,
        typer.Option(
            help="The sheet, FILE.csv; FILE.key.json beside it says which model is which."
        ),
    ],
    kind: Annotated[
        str, typer.Option(help="votes (which summary is better) or facts (unsupported facts).")
    ] = "votes",
    n: Annotated[int, typer.Option("-n", help="How many documents.")] = 120,
    seed: Seed = 0,
) -> None:
    """Write a blind sheet on which people compare two models' summaries (folders of `eval --out`)."""
    from tprprobe.figures.catalogue.summaries import make_sheet

    say(f"fill in: {make_sheet(first, second, out, kind, n, seed)}")


def report(
    run: Annotated[Path, typer.Argument(help="A store, or a folder with results.")], out: Out = None
) -> None:
    """Write one self-contained HTML file about a run: sites, clusters, figures."""
    from tprprobe.figures.report.page import report_run

    say(f"report: {report_run(run, out)}")


def paper(
    name: Annotated[str, typer.Argument(help="schlag, jiang, huang or all.")] = "all",
    ckpt: Annotated[
        list[str] | None,
        typer.Option(help="Checkpoints to make it of, the most important first; default: shipped."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the paper.")] = Path("runs/paper"),
    resume: Resume = False,
) -> None:
    """Make every table and figure of a paper, with the verdicts on its claims, and a report."""
    from tprprobe.console import track
    from tprprobe.figures.paper.making import make_papers

    shown = make_papers(
        name, ckpt or [], out, resume, lambda all_: track(all_, "making", len(all_))
    )
    say(f"open {shown}")


def demo(
    out: Annotated[Path, typer.Option(help="The folder of the demo, written anew.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Show the roles of a trained TP-Transformer on fresh questions: a report and its figures."""
    from tprprobe.figures.report.demo import run_demo

    say(f"open {run_demo(out)}")


def open_app(
    runs: Annotated[Path, typer.Argument(help="A folder with runs in it, or one run.")] = Path(
        "runs"
    ),
    port: Annotated[
        int | None, typer.Option(help="The port; default: the first free one from 8501.")
    ] = None,
) -> None:
    """Open the dashboard over the stores and results in a folder, for this machine only."""
    from tprprobe.views import serve

    serve(runs, port)
