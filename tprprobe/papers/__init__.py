"""The papers' figures by name: what each is made of, loaded and drawn."""

from tprprobe.papers.inputs import INPUTS, find_inputs
from tprprobe.papers.registry import (
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
