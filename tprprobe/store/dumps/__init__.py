"""Dumps: the vectors that other programs wrote, brought into a store."""

from tprprobe.store.dumps.imports import import_store

__all__ = ["import_store"]
