"""The items of a paper's folder: tables and figures with their verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tprpapers.paper.commands import CommandResult
from tprpapers.paper.judgements import count_verdicts, word_verdict
from tprprobe.figures.style import Drawing
from tprprobe.figures.tables import Table

TABLE_FILES = ("tex", "md")  # of an item that is a table, beside those of figures


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper: its files, or why they are missing, and what was said of it."""

    name: str
    title: str
    commands: Sequence[str]
    judgement: Mapping[str, Any]
    missing: str = ""
    figure: Drawing | None = field(default=None, repr=False)
    table: Table | None = field(default=None, repr=False)
    redrawn: str = ""  # the command that draws it in a column of a paper


@dataclass(frozen=True)
class Paper:
    """A paper, remade: its commands, run, and its items."""

    name: str
    checkpoints: Sequence[str]
    results: Sequence[CommandResult]
    items: Sequence[Item]


def list_rows(papers: Sequence[Paper]) -> Iterator[dict[str, str]]:
    """A row per item: item, verdict, title, and how many claims about it have which."""
    for paper in papers:
        for item in paper.items:
            yield {
                "item": item.name,
                "verdict": word_verdict(item.judgement),
                "title": item.title,
                "claims about it": count_verdicts([item.judgement]),
            }
