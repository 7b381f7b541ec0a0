"""Pictures of the gallery, drawn from stores of shipped checkpoints as the figures' commands draw them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tprprobe as tp
from tprprobe.figures import catalogue
from tprprobe.figures.style import Drawing
from tprprobe.models.checkpoint import default_data


@dataclass(frozen=True)
class Scene:
    """A checkpoint, how much of its data it reads, the sites to write, and the figures that are drawn of them."""

    checkpoint: str
    n: int
    sites: tuple[str, ...]
    figures: tuple[str, ...]


SCENES = (
    Scene(
        "tpt-c-arithmetic",
        150,
        ("encoder.*",),
        ("schlag-fig2", "schlag-fig3", "schlag-sec6.1", "schlag-sec7"),
    ),
    Scene("tpgn-scenes", 400, ("word.unbinding",), ("huang-fig3", "huang-fig4", "huang-fig5")),
    Scene("tpt-d-english", 60, ("*.role_weights", "*.role"), ("jiang-discreteness",)),
)


def draw_gallery(folder: Path) -> Iterator[tuple[str, Drawing]]:
    """The name and the drawing of every figure, from stores that are written in a folder."""
    for scene in SCENES:
        model = tp.load_model(scene.checkpoint)
        name, split = default_data(model, None)
        data = tp.load_data(name, split=split, n=scene.n)
        store = tp.extract(model, data, scene.sites, folder / scene.checkpoint)
        for figure in scene.figures:
            yield figure, catalogue.draw(figure, store=store)
