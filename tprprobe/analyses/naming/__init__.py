"""Cluster naming: names from gold structure, agreement with it, and controls beside both."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
