"""The command that asks the checkpoints of a training what other commands answer."""

import io
import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tprprobe.cli.generated_options import options_of
from tprprobe.cli.options import (
    Data,
    Device,
    Json,
    Number,
    Resume,
    Seed,
    Split,
    labelled,
    print_json,
)
from tprprobe.errors import InputError, unknown

if TYPE_CHECKING:
    import pandas as pd

    from tprprobe.lapses import Question

STORE = "STORE"  # in the place of a folder, while a line is checked
READ = ("sites", "twins", "pool", "words")  # options of `extract`
PANEL = "What a command that needs a store reads"


@options_of("extraction.blocks:extract", only=READ, panel=PANEL, twins="twin")
def lapse(
    steps: Annotated[
        list[str],
        typer.Argument(
            help="Folders of steps, each a series (seed) of its own; or checkpoints one by one, such as hf:NAME@REVISION."
        ),
    ],
    ask: Annotated[
        list[str],
        typer.Option(
            help="A command that leaves a table, without its store or checkpoint: 'decompose --site encoding'. May be repeated."
        ),
    ],
    data: Data = None,
    split: Split = None,
    n: Number = None,
    labels: Annotated[
        list[str] | None,
        typer.Option(help="Labels of words, as of `extract`.", rich_help_panel=PANEL),
    ] = None,
    seed: Seed = 0,
    device: Device = "cpu",
    out: Annotated[Path, typer.Option(help="The folder for tables and figure.")] = Path(
        "runs/lapse"
    ),
    resume: Resume = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Ask every checkpoint of a training: curves over steps, and when each measure passes its control."""
    asked = [_read_line(line) for line in ask]
    options.setdefault("sites", _sites_of(asked))

    from tprprobe.extraction import extract
    from tprprobe.lapses import find_checkpoints, run_lapse
    from tprprobe.models.checkpoint import default_data

    @cache
    def examples(name: str, part: str | None) -> Any:
        from tprprobe.data import load_data

        return labelled(load_data(name, split=part, n=n, seed=seed), labels or [])

    def write(model: Any, folder: Path) -> None:
        given = (data, split) if data else default_data(model, split)
        texts, labellers = examples(*given)
        none = options.get("twins") == ["none"]
        twins = {"control": False, "twins": None} if none else {}
        extract(model, texts, out=folder, resume=True, labellers=labellers, **options | twins)

    about = {"data": data, "split": split, "n": n, "seed": seed, "labels": labels, **options}
    questions = _name(asked)
    found = run_lapse(find_checkpoints(steps), questions, out, write, about, resume, device)
    if as_json:
        tables = {"moments": found.moments, **found.tables}
        rows = {name: json.loads(of.to_json(orient="records")) for name, of in tables.items()}
        return print_json({**rows, "identical": found.identical, "folder": str(out)})
    typer.echo(found.moments.to_string(index=False, na_rep="–"))
    typer.echo(f"{out / 'lapse.pdf'}")
    return None


def _read_line(line: str) -> tuple[list[str], Any, dict[str, Any]]:
    """The words of a line, its command, and its settings, which are checked before anything is measured."""
    from tprprobe.cli import COMMANDS, app, find_commands
    from tprprobe.cli.commands import load_command

    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InputError(f"--ask {line!r}: {error}") from None
    if not words or words[0] not in find_commands(words):
        raise unknown("command of --ask", words[0] if words else "", COMMANDS)
    listed: Any = typer.main.get_command(app)
    command = listed.commands.get(words[0]) or load_command(words[0])
    names = {each.name for each in command.params}
    if "as_json" not in names or not names & {"store", "ckpt"}:
        raise InputError(
            f"--ask {line!r}: {words[0]} leaves no table of a store or a checkpoint; ask decompose, probe, "
            "name, reconstruct, roles, eval or intervene"
        )
    with _one_line(line):
        added = [STORE] if "store" in names else ["--ckpt", STORE]
        settings = command.make_context(words[0], [*words[1:], *added]).params
    if "store" in names and str(settings["store"]) != STORE:
        raise InputError(
            f"--ask {line!r}: leave out the store, every checkpoint has one of its own"
        )
    return words, command, settings


@contextmanager
def _one_line(line: str) -> Iterator[None]:
    """Errors of usage, as a line about the command that was asked."""
    try:
        yield
    except typer.BadParameter.__bases__[0] as error:  # typer's own copy of click has no public name
        raise InputError(f"--ask {line!r}: {getattr(error, 'message', error)}") from None


def _sites_of(asked: list[tuple[list[str], Any, dict[str, Any]]]) -> list[str] | None:
    """The sites that all commands name that need a store; None where one of them names none."""
    named = [of.get("site") or of.get("sites") for _, _, of in asked if "store" in of]
    several = [[each] if isinstance(each, str) else each for each in named]
    return sorted({site for each in several for site in each or ()}) if all(several) else None


def _name(asked: list[tuple[list[str], Any, dict[str, Any]]]) -> "list[Question]":
    """The questions, by the names of their commands, numbered from the second of a name on."""
    from tprprobe.lapses import Question

    questions: list[Question] = []
    for words, command, settings in asked:
        before = [each for each in questions if each.name.split("-")[0] == words[0]]
        name = f"{words[0]}-{len(before) + 1}" if before else words[0]

        def answer(ckpt: str, store: Path, words: Any = words, run: Any = command) -> Any:
            return _run(run, words, ckpt, store)

        questions.append(Question(name, shlex.join(words), "store" in settings, answer))
    return questions


def _run(command: Any, words: list[str], ckpt: str, store: Path) -> "pd.DataFrame":
    """The table that a command prints of a store or, where it takes none, of a checkpoint."""
    takes_store = "store" in {each.name for each in command.params}
    with TemporaryDirectory() as scratch, redirect_stdout(io.StringIO()) as printed:
        more = [str(store)] if takes_store else ["--ckpt", ckpt, "--out", f"{scratch}/out"]
        command.main([*words[1:], *more, "--json"], words[0], standalone_mode=False)
    return read_rows(json.loads(printed.getvalue()), shlex.join(words))


def read_rows(document: Any, line: str) -> "pd.DataFrame":
    """The rows of a command's JSON: a list of them, the first list in a document, or the document itself."""
    import pandas as pd

    from tprprobe.store.layout import TWINS

    if isinstance(document, dict):
        lists = [of for of in document.values() if isinstance(of, list) and of and isinstance(of[0], dict)]  # fmt: skip
        document = lists[0] if lists else [document]
    rows = pd.DataFrame([_flat(row) for row in document])
    if "control" not in rows and "model" in rows:
        rows["control"] = rows["model"].where(rows["model"].isin(TWINS), "")
    if rows.empty:
        raise InputError(f"--ask {line!r}: leaves no table")
    return rows


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what is no number or text; NAME_interval becomes NAME_low and NAME_high."""
    ends = {
        name.replace("_interval", end): value[i]
        for name, value in row.items()
        if name.endswith("_interval") and value
        for i, end in enumerate(("_low", "_high"))
    }
    return {k: v for k, v in row.items() if not isinstance(v, dict | list)} | ends
