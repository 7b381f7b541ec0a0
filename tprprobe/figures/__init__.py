"""Figures: results in, matplotlib figures and tables out.

A drawing opens no file and no folder, fits nothing and runs no model. Those of single questions take an
open store, and read of it the tokens and maps that they show. What a figure is made from is found and
computed in :mod:`tprprobe.figures.catalogue`.
"""

import warnings
from importlib import import_module
from typing import Any

import lazy_loader

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
RENAMED = {  # until version 0.6: the scene that draws it, and what to write
    "attention_grid": ("attention:map_grid", "tp.dashboard.show_matrix"),
    "attention_matrix": ("attention:map_squares", "tp.draw('attention', …)"),
    "attention_rows": ("attention:row_strips", "tp.draw('attention', …, positions=…)"),
    "learning_curve": ("curves:learning_scene", "tp.draw('learning-curve', …)"),
    "map_points": ("maps:scatter", "tp.dashboard.show_map"),
    "module_bars": ("accuracy:module_bars", "tp.draw('accuracy', …)"),
}


def __getattr__(name: str) -> object:
    if name not in RENAMED:
        return _find(name)
    (module, _, scene), replacement = RENAMED[name][0].partition(":"), RENAMED[name][1]
    warnings.warn(f"tp.figures.{name} is {replacement} now", FutureWarning, stacklevel=2)
    make = getattr(import_module(f"tprprobe.figures.{module}"), scene)
    render = import_module("tprprobe.figures.dots").render
    return lambda *arguments, **options: render(make(*arguments, **options))


def save(figure: Any, path: Any) -> object:
    """The file of a figure: not lazy, since nnsight gives every object a ``save``, also modules."""
    from tprprobe.figures import style

    return style.save(figure, path)
