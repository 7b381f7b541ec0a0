"""Kinds of folders that analyses of a store write."""

from tprprobe.files.kinds import Kind

ROOM = "tprprobe.analyses"
CLUSTERS = Kind(
    ("clusters.json",), "cluster STORE --site SITE --k K --out", f"{ROOM}.clustering:load_clusters"
)
NAMES = Kind(("naming.json",), "name STORE --out", f"{ROOM}.naming:load_names")
WORD_NAMES = Kind(("word_names.json",), "name STORE --out", f"{ROOM}.naming:load_word_names")
PROBES = Kind(("rows.parquet",), "probe all STORE --out", f"{ROOM}.probing:load_rows")
RECONSTRUCTION = Kind(
    ("reconstruction.json",),
    "reconstruct STORE --out",
    f"{ROOM}.reconstruction:load_reconstruction",
)
DECOMPOSITIONS = Kind(
    ("decomposition.json",),
    "decompose STORE --site SITE --out",
    f"{ROOM}.decomposition:load_scores",
)
OPERATIONS = Kind(
    ("operations.json",),
    "decompose STORE --site SITE --operations --out",
    f"{ROOM}.decomposition:load_operations",
)
ROLES = Kind(("roles.json",), "roles STORE --site SITE --out", f"{ROOM}.decomposition:load_roles")
