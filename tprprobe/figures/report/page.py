"""One self-contained HTML file: text, figures and tables, nothing loaded from anywhere."""

import io
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, Template
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from tprprobe.analyses.kinds import CLUSTERS, NAMES
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.figures.catalogue.registry import Inputs
from tprprobe.figures.kinds import REPORT
from tprprobe.figures.report.sections import FIGURES, Section, clusters_section
from tprprobe.figures.style import save
from tprprobe.figures.tables import Table, write_minus
from tprprobe.files.kinds import Kind
from tprprobe.files.writing import write_file
from tprprobe.gold.structure import find_structure
from tprprobe.store import Store, open_store
from tprprobe.store.contents import sort_results

FILE, TEMPLATE = REPORT.file, "page.html"
METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
SIZE = re.compile(r'width="([\d.]+)pt" height="[\d.]+pt"')
SECTIONS: dict[str, tuple[Kind, Callable[[Any], Section]]] = {
    "clusters": (CLUSTERS, lambda heads: clusters_section(heads, {})),
    "names": (NAMES, lambda naming: find_structure().section(naming)),
}
# what is shown whatever store lies beside it
FREE = {"store", "runs", "votes", "examined_states", "examined_heads", "examined_decoder"}
FOREIGN = "as they are of other stores"
UNKNOWN = "as they do not say of which store they are"
REFERENCE = re.compile(r'(\bid="|href="#|url\(#)')


@dataclass
class Page:
    """A page that is written anew with every section; ``n_sections`` are still to come in all, and are reloaded by themselves. ``command`` made it."""

    out: Path
    title: str
    lead: str
    n_sections: int = 0
    command: str = ""
    contents: list[dict[str, Any]] = field(default_factory=list)

    def add(self, *sections: Section) -> Path:
        """Adds sections and writes the page."""
        for section in sections:
            tables = [("", _cells(table)) for table in section.tables]
            tables += [(line, _cells(table)) for line, table in section.folded.items()]
            figures = [self._draw(section, *item) for item in enumerate(section.figures.items())]
            self.contents.append(vars(section) | {"figures": figures, "tables": tables})
        n_left = self.n_sections - len(self.contents)
        texts = {"title": self.title, "lead": self.lead, "n_left": n_left}
        texts |= {"command": self.command, "date": date.today()}
        page = _read_template().render(sections=self.contents, version=version("tprprobe"), **texts)
        is_file = self.out.suffix == Path(FILE).suffix
        return write_file(self.out if is_file else self.out / FILE, page)

    def _draw(self, section: Section, number: int, item: tuple[str, Figure]) -> dict[str, object]:
        """A figure of the page: its caption, whose further lines are folded, its SVG element, and its files beside the page."""
        (caption, _, details), figure = item[0].partition("\n"), item[1]
        stream, links = io.StringIO(), {}
        figure.savefig(stream, format="svg")
        svg = stream.getvalue()
        if section.name:
            stem = Path(FIGURES) / (section.name + f"-{number}" * bool(number))
            links = {kind: f"{stem}.{kind}" for kind in ("svg", "png")}
            write_file(self.out / links["svg"], svg)
            save(figure, self.out / links["png"])
        n_drawn = sum(len(content["figures"]) for content in self.contents) + number
        return {"caption": caption, "details": details, "svg": _embed(svg, n_drawn), "links": links}


@cache
def _read_template() -> Template:
    source = (files("tprprobe.figures.report") / TEMPLATE).read_text("utf-8")
    environment = Environment(autoescape=True)
    environment.filters["code"] = _mark_code
    return environment.from_string(source)


def _mark_code(text: str) -> Markup:
    """The escaped text, with what stands between backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def write_report(
    out: str | os.PathLike[str], title: str, lead: str, sections: Sequence[Section]
) -> Path:
    """``OUT/report.html``, or ``OUT`` where that is an .html file: a title, the first paragraphs (lines of ``lead``), and the sections."""
    return Page(Path(out), title, lead).add(*sections)


def _embed(svg: str, number: int) -> Markup:
    """An SVG element that fits the page, its ids unlike those of other figures."""
    svg = METADATA.sub("", svg[svg.index("<svg") :])
    svg = SIZE.sub(lambda size: f'style="max-width: {1.4 * float(size[1]):.0f}pt"', svg, count=1)
    return Markup(REFERENCE.sub(rf"\1f{number}-", svg))


def _cells(table: pd.DataFrame | Table) -> dict[str, object]:
    """Headings and rows as texts, each with whether it is a number (and so set to the right)."""
    if isinstance(table, Table):
        frame, numeric = table.cells, table.numeric
    else:
        frame = table
        numeric = [is_numeric_dtype(kind) and not is_bool_dtype(kind) for kind in table.dtypes]
    rows = [
        [(_text(value), right) for value, right in zip(row, numeric, strict=True)]
        for row in frame.itertuples(index=False)
    ]
    return {"columns": list(zip(frame.columns, numeric, strict=True)), "rows": rows}


def _text(value: object) -> str:
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        return "–" if value != value else write_minus(f"{value:.4g}")
    return write_minus(str(value))


def report_run(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    beside: Sequence[Path] = (),
) -> Path:
    """The report of a folder's store, clusters, names, evaluations and logs, with their figures.

    Each lies in the folder, in one within it, or in one ``beside``. With a store, results of other stores are left out, and
    those that do not say of which they are (`store.origins`).
    """
    run = Path(run)
    if out is None and (run / "examination.json").is_file():
        raise InputError(
            f"{run / 'report.html'} is the page of `tprprobe examine`: give --out FILE.html"
        )
    folders = [run, *sorted(path for path in run.glob("*/") if path.is_dir())]
    folders += beside
    inputs = catalogue.find_inputs(run, beside)
    inputs |= {name: kind.find_finished(folders) for name, (kind, _) in SECTIONS.items()}
    store = open_store(inputs["store"]) if "store" in inputs else None
    inputs, notes = _of_store(inputs, store)
    if not any(inputs.values()):
        raise InputError(f"{run} holds no store, no evaluation and no log of a training run")
    sections = [] if store is None else [_about(store)]
    sections += [
        write(kind.load(path)) for name, (kind, write) in SECTIONS.items() for path in inputs[name]
    ]
    entries = [
        entry
        for entry in catalogue.load_figures()
        if (store is None or entry.concerns(store))
        and all(inputs.get(name) for name in entry.inputs)
    ]
    variants = {entry.maker.like for entry in entries}
    sections += [
        _draw(entry, {key: inputs[key] for key in entry.inputs})
        for entry in entries
        if entry.name not in variants
    ]
    lead = " ".join([f"What {run} holds.", *notes])
    return write_report(out or run, run.resolve().name, lead, sections)


def _of_store(inputs: Inputs, store: Store | None) -> tuple[Inputs, list[str]]:
    """The results without those of other stores, and lines about the results left out."""
    own_inputs, left_out = dict(inputs), {FOREIGN: set[str](), UNKNOWN: set[str]()}
    if store is not None:
        for name in inputs.keys() - FREE:
            own_inputs[name], *groups = sort_results(store, inputs[name])
            for names, folders in zip(left_out.values(), groups, strict=True):
                names |= {path.name for path in folders}
    reasons = [(reason, ", ".join(sorted(names))) for reason, names in left_out.items() if names]
    return own_inputs, [f"Left out, {reason}: {names}." for reason, names in reasons]


def _about(store: Store) -> Section:
    text = repr(store)
    if store.has_questions and store.has_answers:
        right = store.tokens.drop_duplicates("sample")["correct"].mean()
        text += f"\n{right:.1%} of its questions were answered right."
    return Section("The store", text, tables=[store.summary])


def _draw(entry: catalogue.Entry, inputs: Inputs) -> Section:
    try:
        figure = catalogue.make(entry.name, **inputs)
    except InputError as error:
        return Section(entry.title, f"Not drawn: {error}.")
    if isinstance(figure, Table):
        return Section(entry.title, figure.caption, tables=[figure])
    return Section(entry.title, figures={entry.name: figure})
