"""The report of a paper's folder, as one HTML file and as Markdown."""

import platform
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from tprpapers.paper.contents import hash_weights
from tprpapers.paper.items import TABLE_FILES, Item, Paper, list_rows
from tprpapers.paper.judgements import ON_FIGURE, ON_PAGES, count_verdicts, word_verdict
from tprpapers.verdicts import HEAD
from tprpapers.verdicts import HERE as OWN_HEAD
from tprprobe.figures.report.page import write_report
from tprprobe.figures.report.sections import Section
from tprprobe.figures.tables import Table
from tprprobe.files.writing import write_file

PACKAGES = ("tprprobe", "torch", "numpy", "scikit-learn", "matplotlib")
FILES = ("svg", "csv", "json")
SUMMARY, ORIGINS = "All items", "Commands, checkpoints, versions"


def write_pages(out: Path, papers: Sequence[Paper]) -> Path:
    """``report.html`` in the folder, ``report.md`` beside it."""
    *other_names, last_name = (paper.name for paper in papers)
    names = f"{', '.join(other_names)} and {last_name}" if other_names else last_name
    title, lead = f"Every table and figure of {names}", _lead(papers)
    rows = pd.DataFrame(list_rows(papers))
    linked = [
        Markup(f'<a href="#section-{number}">{{}}</a>').format(name)
        for number, name in enumerate(rows["item"], 2)
    ]
    summary = rows.assign(item=pd.Series(linked, dtype=object))  # strings would lose their links
    sections = [Section(SUMMARY, tables=[summary])]
    sections += [_section(item) for paper in papers for item in paper.items]
    sections.append(_origins(papers))
    write_file(out / "report.md", "\n".join(_markdown(title, lead, papers)))
    return write_report(out, title, lead, sections)


def _lead(papers: Sequence[Paper]) -> str:
    judgements = [item.judgement for paper in papers for item in paper.items]
    words = ["tprprobe", "paper", papers[0].name if len(papers) == 1 else "all"]
    return (
        f"{len(judgements)} items; claims about them, each counted once: {count_verdicts(judgements)}. Made by “{' '.join(words)}”, which writes every item as NAME.pdf, "
        ".svg, .csv and .json, a table as .tex and .md, too. An item's verdict is the least favorable of those on the claims about it. A claim is "
        f"judged on {ON_FIGURE} where that decides it, else on {ON_PAGES}; of these, on the ones drawn here. "
        "'No claim': the paper claims nothing about it. 'Missing': it could not be made."
    )


def _section(item: Item) -> Section:
    lines = [f"Verdict: {word_verdict(item.judgement)}."]
    if item.missing:
        lines.append(f"Missing: {item.missing}.")
        lines += [f"Made by: {command}" for command in item.commands]
    heading, tables = f"{item.name}: {item.title}", []
    figures = {}
    if item.table:
        lines.append(_caption(item.table))
        tables = [item.table]
    elif item.figure:
        figures = {item.name: item.figure}
    claims = {_folded_line(item): _claims(item)} if item.judgement["claims"] else {}
    return Section(heading, "\n".join(lines), figures, tables, claims, deeper=item.redrawn)


def _caption(table: Table) -> str:
    """The table's caption without the verdicts, which stand in a table of their own below it."""
    return table.caption.partition(OWN_HEAD)[0].partition(HEAD)[0].rstrip()


def _folded_line(item: Item) -> str:
    return f"Claims about it: {count_verdicts([item.judgement])}"


def _claims(item: Item) -> pd.DataFrame:
    """The claims about an item, each with its verdicts: what the paper says, what decides, printed, here, verdict."""
    claims = pd.DataFrame(item.judgement["claims"])
    claims["claim"], names = claims["where"] + ": “" + claims["quotation"] + "”", claims["claim"]
    claims["measured"] = [_measured(claim) for claim in item.judgement["claims"]]
    told = ["claim", "rule", "printed"]
    claims.loc[names.duplicated(), told] = ""
    grouped = claims.iloc[pd.factorize(names)[0].argsort(kind="stable")]
    return grouped[[*told, "measured", "verdict"]].rename(columns={"rule": "what decides"})


def _measured(judgement: dict[str, str]) -> str:
    """What was measured, and on what: here, or on a model of the results pages."""
    if judgement["judged_on"] == ON_FIGURE:
        return f"here: {judgement['here']}"
    model = f" ({judgement['model']})" if judgement["model"] else ""
    return f"results pages{model}: {judgement['here']}"


def _origins(papers: Sequence[Paper]) -> Section:
    """The commands with their seconds, the checkpoints with their hashes, and the versions."""
    commands = [
        {
            "command": result.command.line,
            "seconds": round(result.seconds, 1),
            "error": result.error or "–",
        }
        for paper in papers
        for result in paper.results
    ]
    text = (
        "Commands were run in this order; seeds are 0 where none is given. Seconds are by the clock, of a "
        "machine that may have done other work."
    )
    checkpoints = dict.fromkeys(ckpt for paper in papers for ckpt in paper.checkpoints)
    hashes = [(ckpt, hash_weights(ckpt)) for ckpt in checkpoints]
    versions = [
        ("Python", platform.python_version()),
        *((name, version(name)) for name in PACKAGES),
    ]
    return Section(ORIGINS, text, tables=[
        pd.DataFrame(commands), pd.DataFrame(hashes, columns=["checkpoint", "sha256 of its weights"]),
        pd.DataFrame(versions, columns=["package", "version"]),
    ])  # fmt: skip


def _markdown(title: str, lead: str, papers: Sequence[Paper]) -> Iterator[str]:
    yield from (f"# {title}", "", f"{lead} [The same as one file](report.html).", "")
    rows = pd.DataFrame(list_rows(papers))
    yield _rows(rows.assign(item=[f"[{name}](#{name})" for name in rows["item"]]))
    for item in (item for paper in papers for item in paper.items):
        yield from _markdown_of(item)
    origins = _origins(papers)
    yield from (f"## {ORIGINS}", "", origins.text, "")
    for table in origins.tables:
        assert isinstance(table, pd.DataFrame)
        yield _rows(table)


def _markdown_of(item: Item) -> Iterator[str]:
    yield from (f'<a id="{item.name}"></a>', "", f"## {item.name}: {item.title}", "")
    yield from (f"Verdict: **{word_verdict(item.judgement)}**.", "")
    if item.missing:
        yield from (f"Missing: {item.missing}.", "")
        yield from (f"- `{command}`" for command in item.commands)
        yield ""
    elif item.table:
        caption = _caption(item.table).replace("\n", "  \n")
        yield replace(item.table, caption=caption).markdown()
    else:
        yield from (f"![{item.title}]({item.name}.svg)", "")
    kinds = FILES[-1:] if item.missing else (*FILES, *TABLE_FILES * bool(item.table))
    links = ", ".join(f"[{kind.upper()}]({item.name}.{kind})" for kind in kinds)
    redrawn = item.redrawn and f" In a column of a paper: `{item.redrawn}`."
    yield from (f"As {links}.{redrawn}", "")
    if item.judgement["claims"]:
        line = f"<details markdown><summary>{_folded_line(item)}</summary>"
        yield from (line, "", _rows(_claims(item)), "</details>", "")


def _rows(frame: Any) -> str:
    """A table in Markdown without a title."""
    return Table(frame.astype(str), "").markdown().removeprefix("****\n\n")
