"""The store: the vectors of a model's sites on a data set, on disk, read without the model."""

from tprprobe.store.layout import SiteSpec
from tprprobe.store.parts import concatenate
from tprprobe.store.reader import Store, open_store
from tprprobe.store.writer import StoreWriter

__all__ = ["SiteSpec", "Store", "StoreWriter", "concatenate", "open_store"]
