"""The command that asks the checkpoints of a training what other commands answer."""

import io
import json
import shlex
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from tprprobe.cli.generated_options import options_of
from tprprobe.cli.options import Data, Device, Json, Number, Resume, Seed, Split
from tprprobe.errors import InputError

OWN, READ = "STORE", ("sites", "twins", "pool", "words")  # a store's place; options of `extract`
KEYS = (  # columns that name a row of a command without results
    *("task", "side", "site", "layer", "head", "vectors", "roles", "unit", "family", "probe"),
    *("predictor", "split", "data", "kind", "edit", "at", "strength", "clusters"),
)
USAGE: Any = typer.BadParameter.__bases__[0]  # of typer's own copy of click
CONTEXT: Any = typer.Context.__bases__[0]
Steps = Annotated[list[str], typer.Argument(help="Folders of steps, each a series (seed); or checkpoints one by one: hf:NAME@REVISION …")]  # fmt: skip
Ask = Annotated[list[str], typer.Option(help="A command that leaves a table, its store or checkpoint left out: 'decompose --site encoding'.")]  # fmt: skip
Labels = Annotated[list[str] | None, typer.Option(help="Labels of words, as of `extract`.")]
Folder = Annotated[Path, typer.Option(help="The folder of tables and figure.")]


@options_of("extraction.blocks:extract", only=READ, panel="Stores", twins="twin")
def lapse(
    context: CONTEXT,  # pyright: ignore[reportInvalidTypeForm]
    steps: Steps,
    ask: Ask,
    data: Data = None,
    split: Split = None,
    n: Number = None,
    labels: Labels = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Folder = Path("runs/lapse"),
    resume: Resume = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Ask every checkpoint of a training: curves over steps, and when each measure passes its control."""
    questions = [_read_line(context, line, number) for number, line in enumerate(ask, 1)]
    named = [each.sites for each in questions if each.sites is not None]
    if all(named):
        options.setdefault("sites", [site for sites in named for site in sites])
    from tprprobe.cli.options import labelled, print_json
    from tprprobe.data import load_data
    from tprprobe.extraction import extract
    from tprprobe.lapses import find_checkpoints, run_lapse
    from tprprobe.models.checkpoint import default_data

    @cache
    def read(name: str, part: str | None) -> Any:
        return labelled(load_data(name, split=part, n=n, seed=seed), labels or [])

    def write(model: Any, folder: Path) -> None:
        texts, labellers = read(*((data, split) if data else default_data(model, split)))
        twins = {"control": False, "twins": None} if options.get("twins") == ["none"] else {}
        extract(model, texts, out=folder, resume=True, labellers=labellers, **options | twins)

    about = {"data": data, "split": split, "n": n, "seed": seed, "labels": labels, **options}
    found = run_lapse(find_checkpoints(steps), questions, out, write, about, resume, device)
    if as_json:
        return print_json({k: json.loads(of.to_json(orient="records")) for k, of in found.items()})
    return typer.echo(f"{found['moments'].to_string(index=False, na_rep='–')}\n{out}/lapse.pdf")


def _read_line(context: Any, line: str, number: int) -> Any:
    """The question of a line, checked before anything is measured."""
    from tprprobe.evaluation.results import FILE, load_results
    from tprprobe.lapses import Question

    try:
        words = shlex.split(line)
        group: Any = context.find_root().command
        if not words or words[0] not in group.commands:
            raise ValueError("no such command")
        command = group.resolve_command(context, words)[1]
        takes = {each.name for each in command.params}
        if "as_json" not in takes or not takes & {"store", "ckpt"}:
            raise ValueError("it leaves no table of a store or a checkpoint")
        added = [OWN] if "store" in takes else ["--ckpt", OWN]
        settings = command.make_context(words[0], [*words[1:], *added]).params
        if str(settings.get("store", OWN)) != OWN:
            raise ValueError("leave out the store, every checkpoint has its own")
    except (ValueError, USAGE) as error:
        said = str(error) or getattr(error, "message", "")
        raise InputError(f"--ask {line!r}: {said}; give, say, 'decompose --site SITE'") from None
    site = settings.get("site") or settings.get("sites") or []
    sites = [site] if isinstance(site, str) else [*site]

    def answer(name: str, store: Path) -> Any:
        """The long table of what the command finds of a store or, where it takes none, of a checkpoint."""
        with TemporaryDirectory() as scratch, redirect_stdout(io.StringIO()) as printed:
            out = ["--out", f"{scratch}/out"] if "out" in takes else []
            source = [str(store)] if "store" in takes else ["--ckpt", name]
            command.main([*words[1:], *source, *out, "--json"], words[0], standalone_mode=False)
            if (Path(scratch) / "out" / FILE).is_file():
                return load_results(f"{scratch}/out").table
        return read_rows(json.loads(printed.getvalue()))

    name = words[0] if number == 1 else f"{words[0]}-{number}"
    return Question(name, line, sites if "store" in takes else None, answer)


def read_rows(document: Any) -> Any:
    """The long table of a command's JSON (a list, the first list in it, or itself), for commands without results."""
    import pandas as pd

    from tprprobe.evaluation.results import melt

    inside = [*document.values()] if isinstance(document, dict) else [document]
    lists = [each for each in inside if isinstance(each, list) and isinstance([*each, 0][0], dict)]
    rows: Any = pd.DataFrame([*lists, [document]][0])
    for name in [name for name in rows if name.endswith("_interval")]:
        stem = name.removesuffix("_interval")
        rows[[f"{stem}_low", f"{stem}_high"]] = rows[name].tolist()
    if "control" not in rows:  # a twin's rows, as `name` and `reconstruct` mark them
        of = rows.get("untrained", rows.get("model", pd.Series("", rows.index)))
        rows["control"] = of.map({True: "untrained", "untrained": "untrained"}).fillna("")
    names = {name: name for name in (*KEYS, "control") if name in rows}
    if not any(f"{name}_low" in rows for name in rows):
        raise InputError(f"no column has an interval: {', '.join(map(str, rows))}")
    return melt(rows, names)
