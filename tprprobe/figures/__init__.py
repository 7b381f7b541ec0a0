"""Figures: results in, matplotlib figures and tables out.

A drawing opens no file and no folder, fits nothing and runs no model. Those of single questions take an
open store, and read of it the tokens and maps that they show. What a figure is made from is found and
computed in :mod:`tprprobe.figures.catalogue`.
"""

from typing import Any

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def save(figure: Any, path: Any) -> object:
    """The file of a figure: not lazy, since nnsight gives every object a ``save``, also modules."""
    from tprprobe.figures import style

    return style.save(figure, path)
