"""The kind of folders that hold results."""

from tprprobe.files.kinds import Kind

RESULTS = Kind(
    ("results.parquet",),
    "probe all STORE --out",
    "tprprobe.evaluation.results:load_results",
    is_beside=True,
)
