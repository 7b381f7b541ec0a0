"""Kinds of folders that analyses of a store write."""

from tprprobe.files.kinds import Kind

CLUSTERS = Kind(
    ("clusters.json",),
    "cluster STORE --site SITE --k K --out",
    "tprprobe.analyses.clustering:load_clusters",
)
NAMES = Kind(("naming.json",), "name STORE --out", "tprprobe.analyses.naming:load_names")
WORD_NAMES = Kind(
    ("word_names.json",), "name STORE --out", "tprprobe.analyses.naming:load_word_names"
)
PROBES = Kind(("rows.parquet",), "probe all STORE --out", "tprprobe.analyses.probing:load_rows")
RECONSTRUCTION = Kind(
    ("reconstruction.json",),
    "reconstruct STORE --out",
    "tprprobe.analyses.reconstruction:load_reconstruction",
)
DECOMPOSITIONS = Kind(
    ("decomposition.json",),
    "decompose STORE --site SITE --out",
    "tprprobe.analyses.decomposition:load_scores",
)
OPERATIONS = Kind(
    ("operations.json",),
    "decompose STORE --site SITE --operations --out",
    "tprprobe.analyses.decomposition:load_operations",
)
ROLES = Kind(
    ("roles.json",), "roles STORE --site SITE --out", "tprprobe.analyses.decomposition:load_roles"
)
