"""One look for the charts of the dashboard, in light and dark: colors, fonts, margins."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from matplotlib.colors import LinearSegmentedColormap, to_rgb

from tprprobe.figures.style import palette, text_colour

FONT = '"Source Sans Pro", "Source Sans", system-ui, sans-serif'
MONO = '"Source Code Pro", ui-monospace, "DejaVu Sans Mono", monospace'
NEITHER = "#9aa3b2"  # of what has no value


@dataclass(frozen=True)
class Look:
    """The colors of everything that is not data."""

    ink: str
    soft: str
    faint: str
    page: str
    plate: str  # behind a text on top of data
    scale: tuple[str, ...]  # of weights from 0 to 1


BLUES = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
NIGHT = ("#1c2027", "#1f3a54", "#2b6797", "#56b4e9", "#e3f4ff")
LIGHT = Look("#1d2129", "#5b6472", "#e3e6eb", "#ffffff", "rgba(255,255,255,0.78)", BLUES)
DARK = Look("#e6e8ec", "#a7b0be", "#343b47", "#14171c", "rgba(20,23,28,0.72)", NIGHT)


def look(dark: bool) -> Look:
    return DARK if dark else LIGHT


def colours(n: int) -> list[str]:
    """n colors that are told apart with any of the common color-vision deficiencies."""
    return [css(colour) for colour in palette(n)]


def css(colour: tuple[float, float, float] | str) -> str:
    red, green, blue = (round(255 * part) for part in to_rgb(colour))
    return f"rgb({red},{green},{blue})"


def shade(weights: Float[np.ndarray, " weight"], dark: bool) -> list[tuple[float, float, float]]:
    """The colors of weights from 0 to 1."""
    ramp = LinearSegmentedColormap.from_list("weights", look(dark).scale)
    return [tuple(colour[:3]) for colour in ramp(np.clip(weights, 0, 1)).tolist()]


def inks(backgrounds: Sequence[Sequence[float]]) -> list[str]:
    """Black or white on each background, whichever is read more easily."""
    return [text_colour(each) for each in backgrounds]


def dress(chart: go.Figure, height: int, dark: bool, drag: str = "lasso") -> go.Figure:
    """The chart in this look: no frame, no grid, transparent, with box and lasso selection."""
    colours = look(dark)
    chart.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": colours.ink},
        hoverlabel={"font": {"family": MONO, "size": 13}, "align": "left"},
        showlegend=False,
        dragmode=drag,
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": colours.soft, "activecolor": colours.ink},
        newselection={"line": {"color": colours.ink, "width": 1, "dash": "dot"}},
    )
    chart.update_xaxes(showgrid=False, zeroline=False, color=colours.soft, automargin=True)
    chart.update_yaxes(showgrid=False, zeroline=False, color=colours.soft, automargin=True)
    return chart
