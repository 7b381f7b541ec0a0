"""Dumps: the vectors that other programs wrote, brought into a store, and a store's written for them."""

from tprprobe.store.dumps.exports import export_store
from tprprobe.store.dumps.imports import import_store

__all__ = ["export_store", "import_store"]
