"""Texts from templates: a template has the sentences, Python gives it numbers and tables."""

from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tprprobe.figures.tables import Table


def fill(folder: str | Path, template: str, **values: Any) -> str:
    """The text of a template, filled; a value that it names but does not get is an error."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,  # of included templates
    )
    environment.filters |= {"count": "{:,}".format, "percent": "{:.1%}".format}
    return environment.get_template(template).render(values).rstrip("\n") + "\n"


def table(rows: Any, columns: list[str] | None = None) -> str:
    """The rows as a Markdown table; a missing cell is a dash."""
    cells = pd.DataFrame(rows, columns=columns).fillna("–")
    return "\n".join(Table(cells, "").markdown().splitlines()[2:])
