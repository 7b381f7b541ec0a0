"""The views of the dashboard: found runs, charts of them, and the marks that link charts; no server."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
