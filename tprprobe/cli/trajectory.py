"""The command that follows the checkpoints of a training with the analyses of other commands."""

import json
import shlex
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tprprobe.cli.generated_options import options_of
from tprprobe.cli.options import Data, Device, Json, Number, Resume, Seed, Split
from tprprobe.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tprprobe.data.dataset import Dataset
    from tprprobe.gold.labellers import Labeller
    from tprprobe.models.protocol import Readable
    from tprprobe.trajectory import Analysis

STORE, EXTRACTED = "STORE", ("sites", "twins", "pool", "words")  # options of `extract`
USAGE_ERROR: Any = typer.BadParameter.__bases__[0]  # of typer's own copy of click
CONTEXT: Any = typer.Context.__bases__[0]
Steps = Annotated[list[str], typer.Argument(help="Folders of steps, each a series (seed); or checkpoints one by one: hf:NAME@REVISION …")]  # fmt: skip
Ask = Annotated[list[str], typer.Option(help="A command that writes results, its store or checkpoint left out: 'decompose --site encoding'.")]  # fmt: skip
Labels = Annotated[list[str] | None, typer.Option(help="Labels of words, as of `extract`.")]
Folder = Annotated[Path, typer.Option(help="The folder of tables and figure.")]


@options_of("extraction.blocks:extract", only=EXTRACTED, panel="Stores", twins="twin")
def trajectory(
    context: CONTEXT,  # pyright: ignore[reportInvalidTypeForm]
    steps: Steps,
    ask: Ask,
    data: Data = None,
    split: Split = None,
    n: Number = None,
    labels: Labels = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Folder = Path("runs/trajectory"),
    resume: Resume = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Analyze every checkpoint of a training: curves over steps, and when each measure passes its control."""
    analyses = [_read_line(context, line, number) for number, line in enumerate(ask, 1)]
    sites = [analysis.sites for analysis in analyses if analysis.sites is not None]
    if all(sites):
        options.setdefault("sites", [site for listed in sites for site in listed])
    from tprprobe.cli.options import print_json, split_labels
    from tprprobe.data import load_data
    from tprprobe.data.annotated.sentencesets import label_data
    from tprprobe.extraction import extract
    from tprprobe.models.checkpoint import default_data
    from tprprobe.trajectory import FIGURE, find_checkpoints, run_trajectory

    @cache
    def read(name: str, split_name: str | None) -> "tuple[Dataset, list[Labeller]]":
        return label_data(load_data(name, split=split_name, n=n, seed=seed), split_labels(labels))

    def write(model: "Readable", folder: Path) -> None:
        texts, labellers = read(*((data, split) if data else default_data(model, split)))
        twins = {"control": False, "twins": None} if options.get("twins") == ["none"] else {}
        extract(model, texts, out=folder, resume=True, labellers=labellers, **options | twins)

    stores = {"data": data, "split": split, "n": n, "seed": seed, "labels": labels, **options}
    checkpoints = find_checkpoints(steps)
    tables = run_trajectory(checkpoints, analyses, out, write, stores, resume, device)
    if as_json:
        rows = {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
        return print_json(rows)
    onsets = tables["onsets"].to_string(index=False, na_rep="–")
    return typer.echo(f"{onsets}\n{out / FIGURE}")


def _read_line(context: Any, line: str, number: int) -> "Analysis":
    from tprprobe.trajectory import Analysis

    try:
        words = shlex.split(line)
        group: Any = context.find_root().command
        if not words or words[0] not in group.commands:
            raise ValueError("no such command")
        command = group.resolve_command(context, words)[1]
        parameters = {parameter.name for parameter in command.params}
        reads_store = "store" in parameters
        if not {"out", "as_json"} <= parameters or not (reads_store or "ckpt" in parameters):
            raise ValueError("it writes no results of a store or a checkpoint")
        source = [STORE] if reads_store else ["--ckpt", STORE]
        settings = command.make_context(words[0], [*words[1:], *source]).params
        if str(settings.get("store", STORE)) != STORE:
            raise ValueError("leave out the store, every checkpoint has its own")
    except (ValueError, USAGE_ERROR) as error:
        reason = str(error) or getattr(error, "message", "")
        raise InputError(f"--ask {line!r}: {reason}; give, say, 'decompose --site SITE'") from None
    site = settings.get("site") or settings.get("sites") or []
    sites = [site] if isinstance(site, str) else [*site]

    def measure(checkpoint: str, store: Path) -> "pd.DataFrame":
        source = [str(store)] if reads_store else ["--ckpt", checkpoint]
        return _run_command(command, words, source)

    name = words[0] if number == 1 else f"{words[0]}-{number}"
    return Analysis(name, line, sites if reads_store else None, measure)


def _run_command(command: Any, words: list[str], source: list[str]) -> "pd.DataFrame":
    from tprprobe.evaluation.results import load_results

    with TemporaryDirectory() as scratch, redirect_stdout(None):
        arguments = [*words[1:], *source, "--out", f"{scratch}/{words[0]}"]
        command.main(arguments, words[0], standalone_mode=False)
        return load_results(f"{scratch}/{words[0]}").table
