"""Colors and fonts of everything that is drawn on a screen, in light and dark."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

FONT = '"Source Sans Pro", "Source Sans", system-ui, sans-serif'
MONO = '"Source Code Pro", ui-monospace, "DejaVu Sans Mono", monospace'
NEITHER = "#9aa3b2"  # of what has no value


@dataclass(frozen=True)
class Theme:
    """The colors of everything that is not data."""

    ink: str
    soft: str
    faint: str
    page: str
    scale: tuple[str, ...]  # of weights from 0 to 1


BLUES = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
NIGHT = ("#1c2027", "#1f3a54", "#2b6797", "#56b4e9", "#e3f4ff")
LIGHT = Theme("#1d2129", "#5b6472", "#e3e6eb", "#ffffff", BLUES)
DARK = Theme("#e6e8ec", "#a7b0be", "#343b47", "#14171c", NIGHT)


def find_theme(dark: bool) -> Theme:
    return DARK if dark else LIGHT


def write_colors(colors: list[tuple[float, ...]]) -> list[str]:
    """Colors as CSS writes them."""
    channels = [[round(255 * channel) for channel in color] for color in colors]
    return [f"rgb({red},{green},{blue})" for red, green, blue in channels]


def shade(weights: Float[np.ndarray, " weight"], dark: bool) -> list[tuple[float, float, float]]:
    """The colors of weights from 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap  # which a first view does not need

    ramp = LinearSegmentedColormap.from_list("weights", find_theme(dark).scale)
    return [tuple(color[:3]) for color in ramp(np.clip(weights, 0, 1)).tolist()]
