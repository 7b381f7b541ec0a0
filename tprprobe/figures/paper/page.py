"""The report of a paper's folder, as one HTML file and as Markdown."""

import hashlib
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures.catalogue.verdicts import HEAD
from tprprobe.figures.paper.judgements import JUDGED
from tprprobe.figures.paper.making import Item, Paper, list_rows
from tprprobe.figures.report.page import write_report
from tprprobe.figures.report.sections import Section
from tprprobe.figures.tables import Table
from tprprobe.files import assets, hub
from tprprobe.files.writing import write_file

PACKAGES = ("tprprobe", "torch", "numpy", "scikit-learn", "matplotlib")
SHOWN = ("claim", "model", "verdict", "printed", "here", "rule")


def write_pages(out: Path, papers: Sequence[Paper]) -> Path:
    """``report.html`` in the folder, ``report.md`` beside it."""
    names = " and ".join(paper.name for paper in papers)
    title, lead = f"Tables and figures of {names}, made again", _lead(papers)
    summary = Section("All items", tables=[pd.DataFrame(list_rows(papers))])
    sections = [summary, *(_section(item) for paper in papers for item in paper.items)]
    sections.append(_origins(papers))
    write_file(out / "report.md", "\n".join(_markdown(title, lead, papers)))
    return write_report(out, title, lead, sections)


def _lead(papers: Sequence[Paper]) -> str:
    counts = Counter(row["verdict"] for row in list_rows(papers))
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    return (
        f"{sum(counts.values())} items: {told}. An item's verdict is the least favourable of the claims "
        f"about it; claims are judged on {JUDGED}, whatever checkpoints are drawn here. "
        "'Not found' is an item about which the paper prints no claim that was found."
    )


def _section(item: Item) -> Section:
    lines = [f"Verdict: {item.about['verdict']}."]
    if item.missing:
        lines.append(f"Missing: {item.missing}.")
        lines += [f"Made by: {each}" for each in item.commands]
    claims = [_claims(item)] if item.about["claims"] else []
    heading, tables = f"{item.name}: {item.title}", []
    figures = {}
    if item.table:
        lines.append(item.table.caption.partition(HEAD)[0].rstrip())
        tables = [item.table]
    elif item.drawn:
        figures = {item.name: item.drawn}
    return Section(heading, "\n".join(lines), figures, [*tables, *claims])


def _claims(item: Item) -> pd.DataFrame:
    """The claims about an item; the model is told where one is judged on several."""
    claims = pd.DataFrame(item.about["claims"])[list(SHOWN)].astype(str)
    return claims if claims["model"].any() else claims.drop(columns="model")


def _origins(papers: Sequence[Paper]) -> Section:
    """The commands with their seconds, the checkpoints with their hashes, and the versions."""
    commands = [
        {
            "command": each.command.line,
            "seconds": round(each.seconds, 1),
            "error": each.error or "–",
        }
        for paper in papers
        for each in paper.done
    ]
    text = "Commands were run in this order; seeds are 0 where none is given."
    return Section("Commands, checkpoints, versions", text, tables=[
        pd.DataFrame(commands), pd.DataFrame(_checkpoints(papers)), pd.DataFrame(_versions())
    ])  # fmt: skip


def _checkpoints(papers: Sequence[Paper]) -> list[dict[str, str]]:
    named = (ckpt for paper in papers for ckpt in paper.checkpoints)
    return [{"checkpoint": ckpt, "sha256 of its weights": _hash(ckpt)} for ckpt in named]


def _hash(ckpt: str) -> str:
    try:
        weights = assets.find("models", ckpt) / hub.WEIGHTS
    except InputError:
        return "not found here"
    return hashlib.sha256(weights.read_bytes()).hexdigest()


def _versions() -> list[dict[str, str]]:
    rows = [{"package": name, "version": version(name)} for name in PACKAGES]
    return [{"package": "Python", "version": platform.python_version()}, *rows]


def _markdown(title: str, lead: str, papers: Sequence[Paper]) -> Iterator[str]:
    yield from (f"# {title}", "", lead, "")
    rows = pd.DataFrame(list_rows(papers)).drop(columns="missing")
    yield Table(rows.astype(str), "All items").markdown()
    for item in (item for paper in papers for item in paper.items):
        yield from (
            f"## {item.name}: {item.title}",
            "",
            f"Verdict: **{item.about['verdict']}**.",
            "",
        )
        if item.missing:
            yield from (f"Missing: {item.missing}.", "")
            yield from (f"- `{each}`" for each in item.commands)
            yield ""
        elif item.table:
            caption = item.table.caption.partition(HEAD)[0].rstrip()
            yield item.table.with_caption(caption).markdown()
        else:
            yield from (f"![{item.title}]({item.name}.svg)", "")
        if item.about["claims"]:
            yield Table(_claims(item), "Claims").markdown()
    yield from ("## Commands, checkpoints, versions", "")
    for table in _origins(papers).tables:
        assert isinstance(table, pd.DataFrame)
        yield Table(table.astype(str), "").markdown().removeprefix("****\n\n")
