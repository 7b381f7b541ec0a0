"""Figures: results in, matplotlib figures and tables out; no models and no files are read here."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
