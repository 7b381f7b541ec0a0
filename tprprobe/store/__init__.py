"""The store: the vectors of a model's sites on a data set, on disk, read without the model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
