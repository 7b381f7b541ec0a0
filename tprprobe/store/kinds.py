"""The kind of folder that holds a store."""

from tprprobe.files.kinds import Kind

STORE = Kind(
    ("manifest.json", "journal.json"),
    "extract --ckpt CKPT --out",
    "tprprobe.store:open_store",
)
