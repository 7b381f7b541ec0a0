"""What the dashboard shows: runs found, views of them, marks that link these; no server in here."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
