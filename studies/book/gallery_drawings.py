"""Pictures of the gallery that no paper's report has, drawn from shipped tables and from the page on decomposition."""

from collections.abc import Iterator
from pathlib import Path

import tprprobe as tp
from studies.book.executed_pages import DOCS, place_models, run_page
from tprprobe.analyses.decomposition import decompose_all
from tprprobe.figures import catalogue
from tprprobe.figures.role_fits import search_curves
from tprprobe.figures.style import Drawing

MODELS = ("tpt-c-arithmetic", "transformer-arithmetic")


def draw_gallery(folder: Path) -> Iterator[tuple[str, Drawing]]:
    """The name and the drawing of every such figure; what the page's code makes lies in a folder."""
    yield "learning-curve", catalogue.draw("learning-curve", runs=[*MODELS])
    place_models("decomposition", folder)
    run_page(DOCS / "decomposition.md", folder)
    words = tp.open_store(folder / "runs/words")
    decompose_all(words, "state", ["left", "left*right"], out=folder / "runs/decomposed")
    for name in ("decomposition", "decomposition-steps", "withheld"):
        yield name, catalogue.draw(name, decompositions=[folder / "runs/decomposed"])
    yield "role-search", search_curves([("g2p_en", tp.search_roles(words, "state"))])
