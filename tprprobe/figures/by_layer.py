"""Lines by layer in panels, each over the band of its strongest control."""

from typing import Any

from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, legend, palette, tidy

ACROSS = 3  # panels in a row
MARKERS = "osD^vPX*"


def draw_lines(lines: Any, title: str) -> Drawing:
    """The figure of ``rows`` (panel, line, x, value, low, high, sure) and ``bands`` (panel, x, value, low, high)."""
    panels, names = lines.rows["panel"].unique().tolist(), lines.rows["line"].unique().tolist()
    across = min(ACROSS, len(panels))
    down = -(-len(panels) // across)
    figure = drawing(2.4 * across + 0.8, 1.9 * down + 0.8)
    axes = figure.subplots(down, across, squeeze=False).ravel()
    shades = dict(zip(names, palette(len(names)), strict=True))
    for panel in axes[len(panels) :]:
        panel.set_visible(False)
    for name, panel in zip(panels, axes, strict=False):
        band = lines.bands[lines.bands["panel"] == name]
        x = band["x"].astype(float)
        panel.fill_between(x, band["low"], band["high"], color=FAINT, linewidth=0)
        panel.plot(band["x"], band["value"], ":", color=MUTED, linewidth=0.9)
        for line, part in lines.rows[lines.rows["panel"] == name].groupby("line", sort=False):
            shade, mark = shades[line], MARKERS[names.index(line) % len(MARKERS)]
            x, value, sure = part["x"], part["value"], part[part["sure"].astype(bool)]
            panel.vlines(x.astype(float), part["low"], part["high"], color=shade, linewidth=0.9)
            panel.plot(x, value, "-", color=shade, linewidth=1.2, label=line)
            panel.plot(x, value, mark, color=shade, markersize=4, markerfacecolor="white")
            panel.plot(sure["x"], sure["value"], mark, color=shade, markersize=4)
        tidy(panel, name, grid="y")
        panel.title.set_fontsize(7.5)
    axes[0].set_ylabel(lines.label)
    axes[0].set_xlabel(lines.x)
    figure.suptitle(title, fontsize=9, fontweight="bold", x=0.01, ha="left")
    if len(names) > 1:
        handles = {t.get_label(): t for a in axes for t in a.get_lines() if t.get_label() in names}
        legend(figure, handles.values(), handles.keys())
    return figure
