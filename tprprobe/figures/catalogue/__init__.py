"""The papers' figures by name: what each is made of, loaded and drawn."""

from tprprobe.figures.catalogue.paths import INPUTS, find_inputs
from tprprobe.figures.catalogue.registry import (
    FIGURES,
    Entry,
    draw,
    find_figure,
    list_figures,
    make,
    write_figure,
)

__all__ = [
    "FIGURES",
    "INPUTS",
    "Entry",
    "draw",
    "find_figure",
    "find_inputs",
    "list_figures",
    "make",
    "write_figure",
]
