"""What a notebook shows of a result: a heading and a table, as HTML that loads nothing."""

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

ROWS = 20


def as_html(heading: str, table: "pd.DataFrame", note: str = "") -> str:
    integers = dict.fromkeys(table.select_dtypes("Int64"), "str")  # whose gaps have no na_rep
    head = table.head(ROWS).astype(integers)
    rows = head.to_html(index=False, border=0, na_rep="–", float_format=_short)
    if len(table) > ROWS:
        note = f"{ROWS} of {len(table)} rows. {note}"
    return f"<p><b>{escape(heading)}</b></p>{rows}" + (f"<p>{escape(note)}</p>" if note else "")


def _short(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.1f}"
