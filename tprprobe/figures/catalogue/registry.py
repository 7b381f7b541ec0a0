"""Figures and tables made by name: inputs loaded, options checked, drawn, saved."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.entries import find_figure
from tprprobe.figures.catalogue.loaders import DEFAULTS, INPUTS, Source
from tprprobe.figures.style import Drawing, save
from tprprobe.figures.tables import Table


def make(name: str, **given: Any) -> Drawing | Table:
    """The figure or table of that name.

    ``given`` is what it is made of, by name: ``store`` (a Store or its path), ``evaluations`` or
    ``runs`` (paths or names of checkpoints), and options of that figure.

    Raises:
        InputError: an unknown figure or option, or an input that is missing or lacks something.
    """
    entry = find_figure(name)
    for key in given:
        if key not in (*entry.inputs, *entry.options):
            raise unknown(f"option of {name}", key, (*entry.inputs, *entry.options))
    given = {key: DEFAULTS[key] for key in entry.inputs if key in DEFAULTS} | given
    for key in entry.inputs:
        if key not in given:
            raise InputError(f"{name} is made of {INPUTS[key][0]}")
    loaded = {key: INPUTS[key][1](given[key]) for key in entry.inputs}
    return entry.make(**(given | loaded))


def draw(name: str, **given: Any) -> Drawing:
    """The figure of that name (see :func:`make`); a table is drawn as one."""
    made = make(name, **given)
    return made.draw() if isinstance(made, Table) else made


def write_figure(
    name: str,
    store: Source | None = None,
    sources: Sequence[Source] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
    out: Source | None = None,
) -> Path:
    """The file of a figure (PDF, SVG, PNG) or table (these, Markdown, LaTeX or CSV).

    ``sources`` are the evaluations or runs that it is made of; an option that is None is not given.
    Without ``out`` the file is ``runs/NAME.pdf``. Raises InputError as :func:`make` does.
    """
    entry = find_figure(name)
    given = {key: value for key, value in options.items() if value is not None}
    given |= {"store": store} if store is not None else {}
    given |= {key: sources for key in entry.inputs if key != "store" and sources}
    path = Path("runs") / f"{name}.pdf" if out is None else Path(out)
    made = make(name, **given)
    return made.save(path) if isinstance(made, Table) else save(made, path)
