"""Models: built from settings or loaded by name; modules with named sites."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
