"""Attention of all heads of some layers on one sample, a small map each."""

from collections.abc import Sequence

from tprprobe.figures.style import MUTED, Drawing, drawing
from tprprobe.store import Store


def attention_grid(store: Store, sites: Sequence[str], sample: int) -> Drawing:
    """A small map a head (columns) and site (rows): queries downwards, keys to the right."""
    maps = [(name, store.attention(name, sample)) for site in sites for name in store.select(site)]
    heads = max(len(weights) for _, weights in maps)
    figure = drawing(1.5 * heads + 0.4, 1.6 * len(maps) + 0.5)
    panels = figure.subplots(len(maps), heads, squeeze=False)
    for row, (name, weights) in zip(panels, maps, strict=True):
        for head, panel in enumerate(row):
            panel.set(xticks=[], yticks=[])
            panel.set_visible(head < len(weights))
            panel.spines[:].set_color(MUTED)
            if head < len(weights):
                panel.imshow(weights[head], cmap="Blues", vmin=0, vmax=1, aspect="auto")
                label = f"{name.removesuffix('.attention')}, head {head}"
                panel.set_title(label, loc="left", fontsize=6.5)
    figure.suptitle(f"Attention of all heads, sample {sample}", fontsize=9, fontweight="bold")
    return figure
