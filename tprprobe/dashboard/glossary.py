"""The meaning of a column, read from the page of columns that ships (docs/columns.md)."""

import re
from functools import cache

from tprprobe.files import assets

ROW = re.compile(r"^\| (`.*?`) \| (.*) \|$", re.MULTILINE)
ENDS = re.compile(r"_(?:low|high|withheld)$")


def explain_column(name: str) -> str:
    """What a column means, in every table of the page that has it; empty for an unknown one."""
    meanings = [meaning for pattern, meaning in _rows() if pattern.fullmatch(name)]
    shorter = ENDS.sub("", name)
    if meanings or shorter == name:
        return " · ".join(dict.fromkeys(meanings))
    return explain_column(shorter)


@cache
def _rows() -> list[tuple[re.Pattern[str], str]]:
    """The names of every row as a pattern (… is any text), and its meaning."""
    pages = (root / "columns.md" for root in assets.roots("docs"))
    text = next((page.read_text("utf-8") for page in pages if page.is_file()), "")
    rows = []
    for cell, meaning in ROW.findall(text):
        names = [name for name in re.findall("`(.*?)`", cell) if name[:2] != "…_"]
        pattern = "|".join(re.escape(name).replace("…", ".+") for name in names)
        rows.append((re.compile(pattern or "$."), meaning.replace("\\|", "|")))
    return rows
