"""tprprobe: see and test the roles and fillers inside Tensor-Product-Representation networks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
