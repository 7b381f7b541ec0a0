"""The kind of folder that holds a store, known by these files."""

from tprprobe.files.kinds import Kind

MANIFEST, JOURNAL = "manifest.json", "journal.json"
STORE = Kind((MANIFEST, JOURNAL), "extract --ckpt CKPT --out", "tprprobe.store:open_store")
