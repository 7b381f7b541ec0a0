"""Figures and tables made by name: inputs loaded, options checked, drawn, saved."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.entries import Entry, find_figure, load_figures
from tprprobe.figures.catalogue.loaders import INPUTS
from tprprobe.figures.style import Drawing, save
from tprprobe.figures.tables import Table
from tprprobe.store import Store
from tprprobe.store.reader import Source, as_store


def list_drawable(source: Store | Source) -> list[Entry]:
    """The figures and tables that can be drawn of a store alone.

    Raises:
        InputError: there is no complete store.
    """
    store = as_store(source)
    return [
        entry
        for entry in load_figures()
        if "store" in entry.inputs
        and all(name == "store" or each.default is not None for name, each in entry.inputs.items())
        and entry.concerns(store)
    ]


def find_inputs(folder: Source) -> dict[str, Any]:
    """The inputs of figures in a folder and its subfolders, by name; one store at most."""
    folder = Path(folder)
    folders = [folder, *sorted(path for path in folder.glob("*/") if path.is_dir())]
    plugged = (entry.maker.inputs for entry in load_figures())
    known = INPUTS | {name: each for inputs in plugged for name, each in inputs.items()}
    found: dict[str, Any] = {name: [*each.find(folders)] for name, each in known.items()}
    found["store"] = found["store"] and found["store"][0]
    return {name: paths for name, paths in found.items() if paths}


def make(name: str, **given: Any) -> Drawing | Table:
    """The figure or table of that name.

    ``given`` is what it is made of, by name: ``store`` (a Store or its path), ``evaluations`` or
    ``runs`` (paths or names of checkpoints), and options of that figure.

    Raises:
        InputError: an unknown figure or option, or an input that is missing or lacks something.
    """
    entry = find_figure(name)
    inputs = entry.inputs
    if "store" in given and "store" not in inputs:
        made = "; ".join(each.text for each in inputs.values()) or "no store"
        raise InputError(f"{name} is made of {made}, not of --store")
    for key in given:
        if key not in (*inputs, *entry.options):
            raise unknown(f"option of {name}", key, (*inputs, *entry.options))
    given = {key: each.default for key, each in inputs.items() if each.default is not None} | given
    for key, each in inputs.items():
        if key not in given:
            raise InputError(f"{name} is made of {each.text}")
    loaded = {key: each.load(given[key]) for key, each in inputs.items()}
    return entry.maker.make(**(given | loaded))


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
