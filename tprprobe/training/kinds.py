"""The kind of folder that a training run writes its log to."""

from tprprobe.files.kinds import Kind

RUNS = Kind(("log.csv",), "train RECIPE --out", "tprprobe.training.logs:read_log")
