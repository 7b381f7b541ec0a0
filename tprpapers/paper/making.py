"""A paper's folder: what its figures are made of, the figures in four formats, and the verdicts."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tprpapers.paper.commands import Done, run_command
from tprpapers.paper.contents import (
    PAPERS,
    Command,
    Contents,
    hash_weights,
    list_commands,
    read_contents,
    share_checkpoints,
)
from tprpapers.paper.drawn_numbers import tabulate_drawn
from tprpapers.paper.items import Item, Paper
from tprpapers.paper.judgements import describe, list_judgements
from tprpapers.paper.page import write_pages
from tprpapers.verdicts import CLAIMS, OWN, add_verdicts, verdicts_of
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.figures.style import Drawing, save
from tprprobe.figures.tables import Table
from tprprobe.files.locks import alone
from tprprobe.files.writing import write_file

MADE = "made"
DIGITS = "%.6g"  # of drawn numbers
Track = Callable[[Sequence[Any]], Any]


def make_papers(
    paper: str,
    ckpt: Sequence[str] = (),
    out: str | Path = "runs/paper",
    resume: bool = False,
    track: Track = iter,
) -> Path:
    """The report of all tables and figures of a paper (or ``all``), in ``out`` with their files.

    Every item is written as NAME.pdf, .svg, .csv and .json; the JSON's ``verdict`` is holds, fails,
    undecided, not comparable, not found or missing. What a figure is made from is made by commands
    in ``out/made``; a command that fails leaves its figures missing, and the others are made.

    Raises:
        InputError: another paper or checkpoint; ``out`` is not empty and ``resume`` is false.
    """
    names = list(PAPERS) if paper == "all" else [paper]
    shared = share_checkpoints(names, ckpt)
    out = Path(out)
    if out.exists() and any(out.iterdir()) and not resume:
        raise InputError(f"{out} is not empty: give another --out, or --resume to go on with it")
    with alone(out):
        return write_pages(out, [_make(name, shared[name], out, track) for name in names])


def _make(name: str, checkpoints: Sequence[str], out: Path, track: Track) -> Paper:
    contents, made = read_contents(name), out / MADE / name
    for recipe, text in contents.recipes.items():
        write_file(made / f"{recipe}.toml", text.lstrip())
    commands = list_commands(contents, checkpoints, made)
    lines = [each for group in commands.values() for each in group]
    weights = {ckpt: hash_weights(ckpt) for ckpt in checkpoints}
    done = {each: run_command(each, weights) for each in track(lines)}
    items = [
        _item(figure, needs, contents, checkpoints, commands, done, out)
        for figure, needs in track(list(contents.figures.items()))
    ]
    return Paper(name, checkpoints, list(done.values()), items)


def _item(
    name: str,
    needs: Sequence[str],
    contents: Contents,
    checkpoints: Sequence[str],
    commands: Mapping[str, Sequence[Command]],
    done: Mapping[Command, Done],
    out: Path,
) -> Item:
    """The figure with its files written: four, or two where it is missing."""
    used = [each for need in needs for each in commands.get(need, ())]
    failed = [done[each] for each in used if done[each].error]
    by_people = [contents.people[need] for need in needs if need in contents.people]
    lines = [each.line for each in used] + by_people
    missing, drawn, table = "", None, None
    if by_people:
        missing = "no command makes it: people do"
    elif failed:
        missing = f"`{failed[0].command.line}` ended with: {failed[0].error}"
    else:
        try:
            drawn, table = _draw(name, [each.out for each in used], out)
        except InputError as error:
            missing = str(error)
    own = verdicts_of(table) or verdicts_of(drawn)
    claims = (*CLAIMS.get(name, ()), *OWN.get(name, ()))
    about = describe(list_judgements(claims, own, checkpoints), not missing)
    title = catalogue.find_figure(name).title
    content = {"name": name, "title": title, **about, "commands": lines}
    content |= {"missing": missing or None}
    write_file(out / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return Item(name, title, lines, about, missing, drawn, table)


def _draw(name: str, sources: Sequence[Path], out: Path) -> tuple[Drawing, Table | None]:
    entry = catalogue.find_figure(name)
    given: dict[str, Any] = {}
    for key in entry.inputs:
        if sources:
            given[key] = sources[0] if key == "store" else sources
    made = add_verdicts(catalogue.make(name, **given), CLAIMS.get(name, ()))
    figure, table = (made.draw(), made) if isinstance(made, Table) else (made, None)
    for kind in ("pdf", "svg"):
        save(figure, out / f"{name}.{kind}")
    numbers = table.cells if table else tabulate_drawn(figure)
    write_file(out / f"{name}.csv", numbers.to_csv(index=False, float_format=DIGITS))
    return figure, table
