"""Views: one scene, drawn as a chart for a screen, as a figure for paper and notebooks, and as data."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

from tprprobe.dashboard.chart_data import Dots, Lines, Squares
from tprprobe.errors import unknown
from tprprobe.statistics import measured as measured

FIGURES = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
FORMATS = {**FIGURES, "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True, eq=False)
class View:
    """A view of the dashboard: a table, and how it is drawn on a screen and on paper.

    Attributes:
        title: The title.
        data: The table behind it.
        scene: What is drawn; None where the browser draws by itself.
        figure: The function that draws it on paper; None: as on a screen.
        note: A line below it.

    Examples:
        >>> scene = tp.dashboard.build_scene(store, "encoder.-1.self.role", head=0, k=3)
        >>> tp.dashboard.show_map(scene).export("csv")[:4]
        b'...'
    """

    title: str
    data: pd.DataFrame
    scene: Dots | Lines | Squares | None = None
    figure: Callable[[], Any] | None = None
    note: str = ""

    def chart(self, dark: bool = False) -> Any:
        """The chart for a screen.

        Args:
            dark: Whether the background is dark.

        Returns:
            A figure of plotly.
        """
        from tprprobe.dashboard.plots import plot

        return plot(self.scene, dark)

    def draw(self) -> Any:
        """The figure for paper and notebooks.

        Returns:
            A figure of matplotlib.
        """
        from tprprobe.figures import dots

        if self.figure is not None:
            return self.figure()
        if isinstance(self.scene, Dots):
            return dots.interval_dots(self.scene.rows, self.title, self.scene.label)
        return dots.draw_lines(self.scene, self.title)

    def export(self, kind: str) -> bytes:
        """The file of the figure or of the data.

        Args:
            kind: pdf, svg or png; csv or parquet.

        Returns:
            The bytes of the file.

        Raises:
            InputError: Another kind.
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
