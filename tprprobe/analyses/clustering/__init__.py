"""Groups of vectors that lie together: k-means over the sites of a store, head by head."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
