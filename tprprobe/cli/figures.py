"""Commands that draw figures, write reports and open the dashboard."""

import argparse
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from tprprobe.cli import options as common
from tprprobe.errors import InputError

INPUTS_AND_OUTPUT = ("name", "store", "ckpt", "out", "label")  # what is read and written
CONTEXT: Any = typer.Context.__bases__[0]  # of typer's own copy of click


class FurtherOptions(argparse.ArgumentParser):
    """The options of one figure, made of the keywords of its function: their defaults say of which type they are."""

    def __init__(self, name: str, defaults: dict[str, object]):
        super().__init__(add_help=False, argument_default=argparse.SUPPRESS)
        self.name, self.accepted = name, [*defaults]
        for option, default in defaults.items():
            self.add_argument(f"--{option.replace('_', '-')}", **_describe(default))

    def error(self, message: str) -> NoReturn:
        accepted = ", ".join(f"--{name.replace('_', '-')}" for name in self.accepted) or "no others"
        raise InputError(f"figure {self.name}: {message}; further options are {accepted}")


def _describe(default: object) -> dict[str, Any]:
    if isinstance(default, bool):
        return {"action": argparse.BooleanOptionalAction}
    if isinstance(default, tuple | list):
        return {"action": "append", "type": type(default[0]) if default else int}
    return {"type": str if default is None else type(default)}


def _of_some(text: str, **options: Any) -> Any:
    return typer.Option(help=text, rich_help_panel="Options of some figures", **options)


def figure(
    context: CONTEXT,  # pyright: ignore[reportInvalidTypeForm]
    name: Annotated[str | None, typer.Argument(help="The name of the figure.")] = None,
    store: Annotated[Path | None, typer.Option(help="The store to read.")] = None,
    ckpt: Annotated[
        list[str] | None, typer.Option(help="Folders of results, or checkpoints.")
    ] = None,
    layer: Annotated[int | None, _of_some("A layer; -1 is the last.")] = None,
    head: Annotated[int | None, _of_some("A head.")] = None,
    k: Annotated[int | None, _of_some("Number of clusters.")] = None,
    n_rows: Annotated[int | None, _of_some("Number of texts (roles, schlag-fig2).")] = None,
    sample: Annotated[int | None, _of_some("The number of a sample (attention).")] = None,
    method: Annotated[str | None, _of_some("Projection: pca, linear or umap.")] = None,
    seed: Annotated[int | None, _of_some("Seed of random choices.", min=0, max=2**32 - 1)] = None,
    width: Annotated[
        str | None, typer.Option(help="The width in inches, or acl, icml, neurips, iclr, page.")
    ] = None,
    height: Annotated[float | None, typer.Option(help="Inches; default: in proportion.")] = None,
    fontsize: Annotated[float | None, typer.Option(help="Points of the labels of axes.")] = None,
    title: Annotated[str | None, typer.Option(help="Another title; '' for none.")] = None,
    label: Annotated[list[str] | None, typer.Option(help="Other words for some: OLD=NEW.")] = None,
    colors: Annotated[str | None, typer.Option(help="Colors, divided by commas.")] = None,
    ylim: Annotated[
        str | None, typer.Option(help="Ends of the y axis in its numbers: .6,1 from 60 to 100 %.")
    ] = None,
    legend: Annotated[bool, typer.Option("--legend/--no-legend", help="Explain colors.")] = True,
    notes: Annotated[
        bool, typer.Option("--notes/--no-notes", help="Lines of text below the figure.")
    ] = True,
    panel: Annotated[str | None, typer.Option(help="One panel alone: its name or number.")] = None,
    dpi: Annotated[float | None, typer.Option(help="Dots per inch of a PNG file.")] = None,
    style: Annotated[Path | None, typer.Option(help="A style file, .mplstyle.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="A .pdf .svg .png .csv; of tables also .md .tex.")
    ] = None,
) -> None:
    """Draw a figure or table. Without a name, list all figures, or those of the --store or of the run (--ckpt).

    A figure may have further options, the keywords of its function: an option that it does not have says which. More: tprprobe docs figures.
    """
    from tprprobe.figures import catalogue

    if name is None:
        if absent := [folder for folder in ckpt or () if not Path(folder).is_dir()]:
            raise InputError(
                f"no folder {absent[0]}: give the folder of a run (--out of its command)"
            )
        sources = [store] if store else ckpt or []
        entries = catalogue.list_figures()
        for source in sources:
            drawable = {entry.name for entry in catalogue.list_drawable(source)}
            entries = [entry for entry in entries if entry.name in drawable]
        if sources:
            kind = "this store" if store else "this run" if len(sources) == 1 else "each of them"
            n = len(entries) or "0; --store STORE lists those of a store"
            common.say(f"{', '.join(map(str, sources))}: figures of {kind}: {n}")
        longest = max((len(entry.name) for entry in entries), default=0)
        for entry in entries:
            typer.echo(f"{entry.name:{longest}}  {entry.title}")
        return
    options = {key: value for key, value in context.params.items() if key not in INPUTS_AND_OUTPUT}
    options["labels"] = common.split_labels(label, "--label", "OLD=NEW") or None
    options["colors"] = colors and colors.split(",")
    if ylim:
        options["ylim"] = common.read_numbers("--ylim", ylim, float, "two numbers, such as .6,1")
    defaults = catalogue.find_figure(name).defaults
    further = {key: default for key, default in defaults.items() if key not in options}
    options |= vars(FurtherOptions(name, further).parse_args(context.args))
    common.say(f"drawn: {catalogue.write_figure(name, store, ckpt or [], options, out)}")


def report(
    run: Annotated[Path, typer.Argument(help="A store, or a folder with results.")],
    out: common.Out = None,
) -> None:
    """Write one self-contained HTML file about a run: sites, clusters, figures."""
    from tprprobe.figures.report.page import report_run

    common.say(f"report: {report_run(run, out)}")


def open_app(
    runs: Annotated[Path, typer.Argument(help="The folder that holds your runs.")] = Path("runs"),
    port: Annotated[int | None, typer.Option(help="Default: the first free from 8501.")] = None,
) -> None:
    """Open the dashboard for the stores and results in a folder and below it, on this machine only; needs the extra app."""
    from tprprobe.cli.server import serve

    serve(runs, port)
