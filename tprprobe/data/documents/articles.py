"""Documents with their summaries, and the files they come in.

A file is `FILE.jsonl`, `FILE.parquet` or `FILE.source` beside `FILE.target` (one text a line); all but
Parquet may be gzipped. A folder has such files named by split: `train.source`, `dev.jsonl.gz`.
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
)


@dataclass(frozen=True, slots=True)
class Article:
    """A document and its summary."""

    document: str
    summary: str
    has_one_answer, document_name, module = False, None, ""

    @property
    def source(self) -> str:
        return self.document

    @property
    def target(self) -> str:
        return self.summary

    def labels(self, _written: str | None) -> Labels:
        """No labels: the words of an article are not known."""
        return None, None


def find_columns(names: Collection[str], where: str) -> tuple[str, str]:
    """The names of document and summary among these.

    Raises: InputError if they are not among them.
    """
    for columns in COLUMNS:
        if set(columns) <= set(names):
            return columns
    given = ", ".join(map(repr, names)) or "nothing"
    raise InputError(f"{where} has {given}, but no {' with '.join(map(repr, COLUMNS[0]))}")


def as_text(value: object, kind: str, where: str) -> str:
    """The value as a text: an empty one where there is none.

    Raises: InputError for what is no text, beginning with where it is.
    """
    if not isinstance(value, str | None):
        raise InputError(f"{where}: the {kind} is {value!r}, not a text")
    return value or ""
