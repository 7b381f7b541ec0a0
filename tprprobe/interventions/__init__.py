"""Interventions: edits of vectors at sites, and what they do to answers (`tprprobe.site.hooks.intervene`)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
