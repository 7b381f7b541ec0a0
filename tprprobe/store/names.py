"""Names of files in a store, by which its folder is known."""

MANIFEST, JOURNAL = "manifest.json", "journal.json"
