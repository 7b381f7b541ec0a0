"""The papers' figures by name: their inputs are loaded, analyzed and drawn."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
