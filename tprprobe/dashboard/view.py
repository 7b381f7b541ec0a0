"""Views: one chart or table, on a screen, in a notebook, in a paper and as data."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from tprprobe.errors import unknown
from tprprobe.figures.style import Drawing

FIGURES = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
TABLES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
FORMATS = {**FIGURES, **TABLES}


@dataclass(frozen=True, eq=False)
class View:
    """A view: ``data`` is behind it, ``draw`` makes the figure for paper and notebooks, ``chart`` that for a screen
    where the browser does not draw the scene itself.
    """

    title: str
    draw: Callable[[], Drawing]
    data: pd.DataFrame
    note: str = ""
    chart: Any = None

    def export(self, kind: str) -> bytes:
        """The file of the figure (pdf, svg, png) or of the data (csv, parquet).

        Raises:
            InputError: another kind.
        """
        if kind not in FORMATS:
            raise unknown("format", kind, FORMATS)
        stream = io.BytesIO()
        if kind == "csv":
            return self.data.to_csv(index=False).encode()
        if kind == "parquet":
            self.data.to_parquet(stream, index=False)
            return stream.getvalue()
        with warnings.catch_warnings():  # a sign that the font lacks is drawn as a box
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            self.draw().savefig(stream, format=kind)
        return stream.getvalue()

    def _repr_html_(self) -> str:
        """The figure for a notebook: one inline SVG, nothing loaded from anywhere."""
        drawn = self.export("svg").decode()
        return f"<figure><figcaption>{escape(self.title)}</figcaption>{drawn[drawn.index('<svg') :]}</figure>"
