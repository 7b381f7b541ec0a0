"""Dumps: the vectors that other programs wrote, brought into a store, and a store's written for them."""

from tprprobe.store.dumps.transfer import export_store, import_store

__all__ = ["export_store", "import_store"]
