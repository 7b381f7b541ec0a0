from .layout import SiteSpec as SiteSpec
from .parts import concatenate as concatenate
from .reader import Store as Store
from .reader import open_store as open_store
from .writer import StoreWriter as StoreWriter
