"""Views: one scene, drawn as a chart for a screen, as a figure for paper and notebooks, and as data."""

import io
import warnings
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import pandas as pd

from tprprobe.errors import unknown
from tprprobe.figures.scenes import Scene
from tprprobe.statistics import measured as measured

FIGURES = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
FORMATS = {**FIGURES, "csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True, eq=False)
class View:
    """A view of the dashboard: a table, and the scene that is drawn on a screen and on paper.

    Attributes:
        title: The title.
        data: The table behind it.
        scene: What is drawn.
        note: A line below it.

    Examples:
        >>> scene = tp.dashboard.build_scene(store, "encoder.-1.self.role", head=0, k=3)
        >>> tp.dashboard.show_map(scene).export("csv")[:4]
        b'...'
    """

    title: str
    data: pd.DataFrame
    scene: Scene
    note: str = ""

    def chart(self, dark: bool = False) -> Any:
        """The chart for a screen.

        Args:
            dark: Whether the background is dark.

        Returns:
            A figure of plotly.
        """
        from tprprobe.figures.charts import plot  # with plotly, which a first view does not need

        return plot(self.scene, dark)

    def draw(self) -> Any:
        """The figure for paper and notebooks.

        Returns:
            A figure of matplotlib.
        """
        from tprprobe.figures.dots import render  # with matplotlib

        texts = {} if self.scene.title else {"title": self.title, "note": self.note}
        return render(replace(self.scene, **texts))

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
        drawing = self.export("svg").decode()
        svg = drawing[drawing.index("<svg") :]
        return f"<figure><figcaption>{escape(self.title)}</figcaption>{svg}</figure>"
