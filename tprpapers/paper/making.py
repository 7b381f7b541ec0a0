"""A paper's folder: what its figures are made of, the figures in four formats, and the verdicts."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tprpapers.paper.commands import CommandResult, run_command
from tprpapers.paper.contents import (
    PAPERS,
    Command,
    Contents,
    hash_weights,
    list_commands,
    read_contents,
    share_checkpoints,
)
from tprpapers.paper.items import TABLE_FILES, Item, Paper
from tprpapers.paper.judgements import describe, list_judgements
from tprpapers.paper.page import write_pages
from tprpapers.verdicts import CLAIMS, JUDGED_BY, OWN_CLAIMS, add_verdicts, verdicts_of
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.figures.style import Drawing, save
from tprprobe.figures.tables import Table
from tprprobe.files.writing import alone, write_file

WORK_FOLDER = "made"
DIGITS = "%.6g"  # of drawn numbers
Track = Callable[[Sequence[Any]], Any]


def make_papers(
    paper: str,
    ckpt: Sequence[str] = (),
    out: str | Path | None = None,
    resume: bool = False,
    track: Track = iter,
) -> Path:
    """The report of all tables and figures of a paper (or ``all``), in ``out`` (default: runs/PAPER) with their files.

    Every item is written as NAME.pdf, .svg, .csv and .json, a table as .tex and .md, too; the JSON's ``verdict`` is
    holds, fails, undecided, not comparable, no claim or missing. What a figure is made from is made before it by
    commands in ``out/made``; a command that fails leaves its figures missing, and the others are made.

    Raises:
        InputError: another paper or checkpoint; ``out`` is not empty and ``resume`` is false.
    """
    names = list(PAPERS) if paper == "all" else [paper]
    shared = share_checkpoints(names, ckpt)
    out = Path(out or f"runs/{paper}")
    if out.exists() and any(out.iterdir()) and not resume:
        raise InputError(f"{out} is not empty: give another --out, or --resume to go on with it")
    with alone(out):
        return write_pages(out, [_make(name, shared[name], out, track) for name in names])


def _make(name: str, checkpoints: Sequence[str], out: Path, track: Track) -> Paper:
    contents, work_folder = read_contents(name), out / WORK_FOLDER / name
    for recipe, text in contents.recipes.items():
        write_file(work_folder / f"{recipe}.toml", text.lstrip())
    commands = list_commands(contents, checkpoints, work_folder)
    weights = {ckpt: hash_weights(ckpt) for ckpt in checkpoints}
    results, items = dict[Command, CommandResult](), list[Item]()
    for part in track(_list_parts(contents, commands)):
        if isinstance(part, Command):
            results[part] = run_command(part, weights)
        else:
            figure, needs = part
            items.append(_item(figure, needs, contents, checkpoints, commands, results, out))
    return Paper(name, checkpoints, list(results.values()), items)


def _list_parts(
    contents: Contents, commands: Mapping[str, Sequence[Command]]
) -> list[Command | tuple[str, list[str]]]:
    """Every figure with its needs, behind the commands up to the last one that it needs."""
    parts, names = list[Any](), [*commands]
    for figure, needs in contents.figures.items():
        end = max((names.index(need) + 1 for need in needs if need in commands), default=0)
        before = [command for name in names[:end] for command in commands[name]]
        parts += [command for command in before if command not in parts]
        parts.append((figure, needs))
    return parts


def _item(
    name: str,
    needs: Sequence[str],
    contents: Contents,
    checkpoints: Sequence[str],
    commands: Mapping[str, Sequence[Command]],
    results: Mapping[Command, CommandResult],
    out: Path,
) -> Item:
    """The figure with its files written: four, or two where it is missing."""
    used_commands = [command for need in needs for command in commands.get(need, ())]
    failed = [results[command] for command in used_commands if results[command].error]
    by_people = [contents.people[need] for need in needs if need in contents.people]
    lines = [command.line for command in used_commands] + by_people
    sources = [command.out for command in used_commands]
    missing, figure, table = "", None, None
    if by_people:
        missing = "no command makes it: people do"
    elif failed:
        missing = f"`{failed[0].command.line}` ended with: {failed[0].error}"
    else:
        try:
            figure, table = _draw(name, sources, out)
        except InputError as error:
            missing = str(error)
    figure_verdicts = verdicts_of(table) or verdicts_of(figure)
    claims = (*CLAIMS.get(name, ()), *OWN_CLAIMS.get(name, ()))
    judgements = list_judgements(claims, figure_verdicts, checkpoints)
    judgement = describe(judgements, not missing, JUDGED_BY.get(name))
    title = catalogue.find_figure(name).title
    content = {
        "name": name,
        "title": title,
        **judgement,
        "commands": lines,
        "missing": missing or None,
    }
    if not missing:
        content["sources"] = [command.out.relative_to(out).as_posix() for command in used_commands]
    write_file(out / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    words = ["tprprobe", "figure", name, "--ckpt", str(out), "--width", "acl"]
    words += ["--out", f"{name}.{'tex' if table else 'pdf'}"]
    redrawn = "" if missing else shlex.join(words)
    return Item(name, title, lines, judgement, missing, figure, table, redrawn)


def _draw(name: str, sources: Sequence[Path], out: Path) -> tuple[Drawing, Table | None]:
    inputs = catalogue.registry.place_sources(catalogue.find_figure(name), sources)
    drawing_or_table = add_verdicts(catalogue.make(name, **inputs), CLAIMS.get(name, ()))
    table = drawing_or_table if isinstance(drawing_or_table, Table) else None
    figure = drawing_or_table.draw() if isinstance(drawing_or_table, Table) else drawing_or_table
    for kind in ("pdf", "svg"):
        save(figure, out / f"{name}.{kind}")
    if table:
        for kind in TABLE_FILES:
            table.save(out / f"{name}.{kind}")
    numbers = table.cells if table else figure.scene.tabulate()
    write_file(out / f"{name}.csv", numbers.to_csv(index=False, float_format=DIGITS))
    return figure, table
