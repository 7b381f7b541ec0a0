"""Kinds of folders that interventions write."""

from tprprobe.files.kinds import Kind
from tprprobe.files.tables import columns

INTERVENTIONS = Kind(("interventions.json",), "intervene RECIPE --ckpt CKPT --out")
SWEEPS = Kind(("sweep.csv",), "intervene RECIPE --ckpt CKPT --out")
BEHAVIORS = Kind(
    ("behavior.csv",), "intervene --data pairs:FRAME --ckpt CKPT --out", is_beside=True
)
PATCHINGS = Kind(
    ("patching.parquet",),
    "intervene --text TEXT --against TEXT --ckpt CKPT --out",
    columns=columns(
        text="site token other_token answer other_answer control",
        whole="position",
        number="recovered difference difference_text difference_against",
    ),
)
