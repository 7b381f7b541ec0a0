"""Kinds of folders that the papers' commands make."""

from tprprobe.files.kinds import Kind
from tprprobe.files.tables import columns

BINDINGS = Kind(
    ("probe.csv",),
    "binding --ckpt CKPT --out",
    columns=columns(
        text="model bar",
        whole="depth",
        flag="untrained",
        number="paired_accuracy paired_accuracy_low paired_accuracy_high "
        "exact_match exact_match_low exact_match_high",
    ),
)
SWAPS = Kind(("swaps.csv",), "intervene RECIPE --ckpt CKPT --out")
SUBSTITUTIONS = Kind(("substitutions.csv",), "intervene RECIPE --ckpt CKPT --out")
UNBINDINGS = Kind(("unbindings.csv",), "intervene RECIPE --ckpt CKPT --out")
