"""Colors of values and texts on them; here nothing is drawn, so that pages which the browser draws start sooner."""

from collections.abc import Sequence
from math import dist
from typing import TYPE_CHECKING

import matplotlib
import numpy as np
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_rgb

from tprprobe.figures.look import current_look

if TYPE_CHECKING:
    from matplotlib.typing import ColorType  # takes a tenth of a second

# Okabe and Ito (2008): told apart with any of the common color-vision deficiencies.
HUES = ("#56B4E9", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#0072B2", "#F0E442")
SHADES = (1.0, 0.45, 1.6, 0.7, 2.4)  # of every hue: full, light, dark, between, darkest
RAMP = "viridis"  # of values in an order, such as positions
NEAR = 0.2  # distance of colors that are taken for one another
GRAY = (0.75, 0.75, 0.75)  # of groups of squares that stand back
PALER = 0.7  # of white in the color of a square within its control


def palette(n: int) -> list[tuple[float, float, float]]:
    """n colors: those that are asked for, those of the style file, seven hues, then their light, dark, paler and darkest versions, then again from the start."""
    chosen = [to_rgb(color) for color in [*current_look().palette, *current_look().cycle]]
    others = [hue for hue in map(to_rgb, HUES) if all(dist(hue, color) > NEAR for color in chosen)]
    hues = dict.fromkeys([*chosen, *others])
    shades = [shade_color(hue, shade) for shade in SHADES for hue in hues]
    return [shades[i % len(shades)] for i in range(n)]


def group_colors(names: Sequence[str], gray: Sequence[str]) -> list[tuple[float, float, float]]:
    """A color for every group of squares; those in ``gray`` have none of their own, unless colors are asked for."""
    hues = palette(len(names))
    if current_look().palette:
        return hues
    return [GRAY if name in gray else hue for name, hue in zip(names, hues, strict=True)]


def line_colors(n: int) -> list[tuple[float, float, float]]:
    """n colors of lines, the first the darkest blue."""
    if current_look().palette or current_look().cycle:
        return palette(n)
    return [*palette(6)[::-1], *palette(n)[6:]][:n]


def value_colors(names: Sequence[str]) -> list[tuple[float, float, float]]:
    """One color for each value: from dark to light if all values are numbers, else distinct hues."""
    if len(names) < 2 or not all(name.lstrip("-").isdecimal() for name in names):
        return palette(len(names))
    ranks = np.argsort(np.argsort([int(name) for name in names])) / (len(names) - 1)
    return [tuple(color[:3]) for color in matplotlib.colormaps[RAMP](ranks).tolist()]


def color_map(signed: bool = False) -> Colormap:
    """The colors of numbers: those that are asked for from the first to the last (one: from white on; two of signed numbers: through white)."""
    own_colors = current_look().palette
    if not own_colors:
        return matplotlib.colormaps["RdBu_r" if signed else "Blues"]
    colors = (
        [own_colors[0], "white", own_colors[1]] if signed and len(own_colors) == 2 else own_colors
    )
    return LinearSegmentedColormap.from_list(
        "asked", colors if len(colors) > 1 else ["white", *colors]
    )


def shade_color(color: "ColorType", shade: float) -> tuple[float, float, float]:
    """The color mixed with white below 1, with black above."""
    rgb = np.array(to_rgb(color))
    red, green, blue = (1 - (1 - rgb) * shade if shade <= 1 else rgb / shade).tolist()
    return red, green, blue


def text_color(background: Sequence[float]) -> str:
    """Black or white, whichever stands out more (relative luminance, WCAG 2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in background[:3]]
    luminance = float(np.dot(linear, (0.2126, 0.7152, 0.0722)))
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"
