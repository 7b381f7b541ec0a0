"""One look for everything that the dashboard draws, in light and dark: colors and fonts."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

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
    scale: tuple[str, ...]  # of weights from 0 to 1


BLUES = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
NIGHT = ("#1c2027", "#1f3a54", "#2b6797", "#56b4e9", "#e3f4ff")
LIGHT = Look("#1d2129", "#5b6472", "#e3e6eb", "#ffffff", BLUES)
DARK = Look("#e6e8ec", "#a7b0be", "#343b47", "#14171c", NIGHT)


def look(dark: bool) -> Look:
    return DARK if dark else LIGHT


def colors(n: int) -> list[str]:
    """n colors that are told apart with any of the common color-vision deficiencies."""
    from matplotlib.colors import to_rgb

    from tprprobe.figures.style import palette  # with matplotlib, which a first view does not need

    parts = [[round(255 * part) for part in to_rgb(color)] for color in palette(n)]
    return [f"rgb({red},{green},{blue})" for red, green, blue in parts]


def shade(weights: Float[np.ndarray, " weight"], dark: bool) -> list[tuple[float, float, float]]:
    """The colors of weights from 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("weights", look(dark).scale)
    return [tuple(color[:3]) for color in ramp(np.clip(weights, 0, 1)).tolist()]
