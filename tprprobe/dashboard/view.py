"""Views: one chart or table, on a screen, in a notebook, in a paper and as data."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import pandas as pd
import plotly.graph_objects as go

from tprprobe.dashboard.formats import FORMATS
from tprprobe.errors import unknown
from tprprobe.figures.style import Drawing


@dataclass(frozen=True, eq=False)
class View:
    """A view: ``chart`` is drawn on a screen, ``draw`` makes the figure for paper, ``data`` is
    behind both.
    """

    title: str
    chart: go.Figure
    draw: Callable[[], Drawing]
    data: pd.DataFrame
    note: str = ""

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
