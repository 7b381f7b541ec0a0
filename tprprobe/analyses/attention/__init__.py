"""Attention relations: which heads look from a digit to the '/' it divides by, beside controls."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
