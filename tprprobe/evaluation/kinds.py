"""The kind of folders that hold results."""

from tprprobe.files.kinds import Kind

LOADER = "tprprobe.evaluation.results:load_results"
RESULTS = Kind(("results.parquet",), "probe all STORE --out", LOADER, is_beside=True)
