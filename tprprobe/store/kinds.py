"""The kind of folder that holds a store."""

from tprprobe.files.kinds import Kind
from tprprobe.store.names import JOURNAL, MANIFEST

STORE = Kind(
    (MANIFEST, JOURNAL),
    "extract --ckpt CKPT --out",
    "tprprobe.store:open_store",
)
