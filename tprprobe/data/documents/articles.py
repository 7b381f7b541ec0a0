"""Documents with their summaries, and the files they come in.

A file is `FILE.jsonl`, `FILE.parquet`, or `FILE.source` beside `FILE.target` (one text a line); a text
without a summary (`FILE.txt`, a column `text`) is its own target. All but Parquet may be gzipped. A folder has such files named by split: `train.source`, `dev.jsonl.gz`.
"""

from collections.abc import Collection
from dataclasses import dataclass

from tprprobe.data.dataset import Labels
from tprprobe.errors import InputError

# What hub data sets call them: XSum, CNN/DailyMail, arXiv and PubMed, Wikihow.
COLUMNS = (
    ("document", "summary"),
    ("article", "highlights"),
    ("article", "abstract"),
    ("text", "headline"),
    ("text", "text"),
)


@dataclass(frozen=True, slots=True)
class Article:
    """A document and its summary."""

    document: str
    summary: str
    document_name: str | None = None
    has_one_answer, module = False, ""

    @property
    def source(self) -> str:
        return self.document

    @property
    def target(self) -> str:
        return self.summary

    def labels(self, _written: str | None) -> Labels:
        """No labels: the words of an article are not known."""
        return None, None


def find_columns(names: Collection[str], where: str, column: str | None = None) -> tuple[str, str]:
    """The names of document and summary among these, or twice that of the column of texts."""
    for columns in COLUMNS if column is None else [(column, column)]:
        if set(columns) <= set(names):
            return columns
    given = ", ".join(map(repr, names)) or "nothing"
    wanted = "'text' (and no 'document' with 'summary')" if column is None else repr(column)
    raise InputError(f"{where} has {given}, but no {wanted}: name the column of texts, FILE:COLUMN")


def as_text(value: object, kind: str, where: str) -> str:
    """The value as a text: an empty one where there is none."""
    if not isinstance(value, str | None):
        raise InputError(f"{where}: the {kind} is {value!r}, not a text")
    return value or ""
