"""One meaning of every color, mark and dash of lines, on paper and on a screen."""

from typing import Any

import pandas as pd
from matplotlib.colors import to_rgb

from tprprobe.errors import unknown
from tprprobe.figures.colors import line_colors, shade_color
from tprprobe.figures.labels import CONTROLS
from tprprobe.figures.look import current_look

INK, PALE = "#1a1a1a", 0.5
BASELINE, EMBEDDING, RIVAL = "baseline model", "input embedding", "control"  # beside a probe
GRAY = "#5c5c5c"
SYMBOLS = {  # marks of matplotlib, and what plotly calls them
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "^": "triangle-up",
    "P": "cross",
    "X": "x",
    "v": "triangle-down",  # with "--" of the baseline model alone
    "*": "star",  # of the input embedding alone
}
MARKERS = "osD^PX"  # of all other lines
RING = "ring: the best"  # mark of a line
DASHES = {"-": "solid", ":": "dot", "-.": "dashdot", "--": "dash"}
LEVELS = {CONTROLS["majority"]: ":", CONTROLS["identity"]: "-."}  # gray lines across a panel


def style_lines(rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Color, mark and dash of every line: a color for a ``group``, whose lines differ in marks and dashes.

    The baseline model's (``stands_for``) is pale and dashed, its marks triangles; the input embedding is a black star, or a star
    in the color of its group.
    """
    meanings = rows.get("stands_for", pd.Series("", rows.index)).fillna("")
    hues = rows.get("hue", rows.get("group", rows["line"]))
    groups = hues.fillna(rows["line"])
    lines = pd.DataFrame({"line": rows["line"], "group": groups, "meaning": meanings})
    lines = lines.drop_duplicates("line")
    color_names = current_look().named_colors
    if unmet := {*color_names} - {*lines["line"]}:
        raise unknown("line of this figure", min(unmet), lines["line"].tolist())
    is_black = lines["meaning"].eq(EMBEDDING) & lines["group"].eq(EMBEDDING)
    numbers = pd.factorize(lines["group"].mask(is_black))[0].tolist()
    colors = [*line_colors(max(numbers, default=0) + 1), INK]  # black has the number −1
    ranks = lines.groupby(["group", lines["meaning"] != ""], sort=False).cumcount()
    columns = lines["line"], numbers, ranks, lines["meaning"]
    for line, n, meaning in zip(lines["line"], numbers, lines["meaning"], strict=True):
        colors[n] = colors[n] if meaning else to_rgb(color_names.get(line, colors[n]))
    colored = {name: {"color": color} for name, color in color_names.items()}
    return {
        str(line): {**_style(str(line), colors[n], (n, rank), meaning), **colored.get(line, {})}
        for line, n, rank, meaning in zip(*columns, strict=True)
    }


def _style(line: str, color: Any, places: tuple[int, int], meaning: str) -> dict[str, Any]:
    number, rank = places  # of the group, in the group
    order = {"zorder": 3 - number / 100 + rank / 10}  # dashes are seen on a line, not below it
    if meaning == BASELINE:
        return {"color": shade_color(color, PALE), "marker": "v", "linestyle": "--", **order}
    if meaning == EMBEDDING:
        return {"color": color, "marker": "*", "linestyle": "", "markersize": 7, **order}
    is_pair = line.startswith("_")  # has the marks of the first of its group
    marker = MARKERS[(number + 3 * rank * (not is_pair)) % len(MARKERS)]
    color = GRAY if meaning == RIVAL else color
    return {"color": color, "marker": marker, "linestyle": [*DASHES][rank % 3], **order}
