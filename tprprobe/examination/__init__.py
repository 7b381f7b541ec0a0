"""One model on one page: what its states are made of, what its heads look at, what they know and what its answers need."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
