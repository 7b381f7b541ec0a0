"""The meaning of a column, read from the tables of columns in the book that ships (docs)."""

import re
from functools import cache

from tprprobe.files import assets

TABLE = re.compile(r"^\| column \| meaning \|\n.*\n((?:\|.*\n)+)", re.MULTILINE)
ROW = re.compile(r"^\| (`.*?`) \| (.*) \|$", re.MULTILINE)
ENDS = re.compile(r"_(?:low|high|withheld)$")


def explain_column(name: str) -> str:
    """What a column means, in every table of the book that has it; empty for an unknown one."""
    meanings = [meaning for pattern, meaning in _rows() if pattern.fullmatch(name)]
    shorter = ENDS.sub("", name)
    if meanings or shorter == name:
        return " · ".join(dict.fromkeys(meanings))
    return explain_column(shorter)


@cache
def _rows() -> list[tuple[re.Pattern[str], str]]:
    """The names of every row as a pattern (… is any text), and its meaning; those of the page of columns come first."""
    pages = {page for root in assets.roots("docs") for page in root.rglob("*.md")}
    ordered = sorted(pages, key=lambda page: (page.stem != "columns", page.as_posix()))
    rows = []
    for table in TABLE.findall("\n".join(page.read_text("utf-8") for page in ordered)):
        for cell, meaning in ROW.findall(table):
            names = [name for name in re.findall("`(.*?)`", cell) if name[:2] != "…_"]
            pattern = "|".join(re.escape(name).replace("…", ".+") for name in names)
            rows.append((re.compile(pattern or "$."), meaning.replace("\\|", "|")))
    return rows
