"""Kinds of folders that hold a page, and the tables of one model's page."""

from tprprobe.files.kinds import Kind
from tprprobe.files.tables import columns

REPORT = Kind(("report.html",), "report RUN", is_beside=True)
_PAGE, _SHARE, _HEAD = "examine MODEL --out", "share share_low share_high", "value beyond_low n"
STATE_SHARES = Kind(("nested.csv",), _PAGE, columns=columns(number=_SHARE))
HEADS, DECODER = (
    Kind((f"{name}.csv",), _PAGE, columns=columns(number=_HEAD)) for name in ("heads", "decoder")
)
