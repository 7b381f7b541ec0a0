"""The views of the dashboard: found runs, charts of them, and the marks that link charts; no server."""

import warnings
from importlib import import_module
from typing import Any

import lazy_loader

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
MOVED = {"show_agreement": "comparison"}  # not public from version 0.6 on
MOVED |= {f"show_{module}": module for module in ("interventions", "layers", "probes")}


def __getattr__(name: str) -> Any:
    if name not in MOVED:
        return _find(name)
    module = MOVED[name]
    replacement = f"tp.dashboard.{module}.{name}; tp.draw draws figures"
    warnings.warn(f"tp.dashboard.{name} is now {replacement}", FutureWarning, stacklevel=2)
    return getattr(import_module(f"tprprobe.dashboard.{module}"), name)
