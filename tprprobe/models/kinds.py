"""The kind of folder that holds a checkpoint."""

from tprprobe.files import hub
from tprprobe.files.kinds import Kind

CHECKPOINT = Kind((hub.CONFIG,), "train RECIPE --out", "tprprobe.models:load_model", is_beside=True)
