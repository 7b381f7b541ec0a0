"""The generated English as texts that a language model reads: the source is empty, the target a report.

``texts:english…`` are whole reports, ``openings:english…`` their first sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tprpapers.worlds.english.labelling import TASKS, label_sentences
from tprpapers.worlds.english.reportsets import DrawnReports, draw_reports, is_english
from tprpapers.worlds.english.sentences import Sentence
from tprpapers.worlds.loader import Loader
from tprprobe.data.dataset import Dataset, Labels, Request
from tprprobe.errors import InputError

N_SENTENCES = {"texts": None, "openings": 1}  # how many sentences of a report


@dataclass(frozen=True)
class ReportText:
    """Sentences without a question, and the labels of their words."""

    sentences: tuple[Sentence, ...]
    source, has_one_answer, document_name, module = "", False, None, ""

    @property
    def target(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)

    def labels(self, text: str | None) -> Labels:
        """The labels of the sentences; none of a text that was written instead."""
        return None, label_sentences(self.sentences) if text is None else None


@dataclass(frozen=True, repr=False)
class ReportTexts(Dataset[ReportText]):
    """The first ``most`` sentences of drawn reports; all of them for None."""

    reports: DrawnReports
    max_sentences: int | None

    @property
    def tasks(self) -> tuple[str, ...]:
        return TASKS

    def read(self, rows: Sequence[int]) -> Iterator[ReportText]:
        return (
            ReportText(report.document[: self.max_sentences]) for report in self.reports.read(rows)
        )


def is_texts(spec: str) -> bool:
    """True if a data set is texts of the generated English: `texts:english` or `openings:english:KNOB=VALUE,…`."""
    kind, _, english = spec.partition(":")
    return kind in N_SENTENCES and is_english(english)


def read_texts(request: Request) -> ReportTexts:
    """The texts of the reports that a specification behind the first colon draws.

    Raises: InputError as of :func:`draw_reports`.
    """
    if not is_texts(request.spec):
        raise InputError(
            f"no data {request.spec!r}; accepted: texts:english, openings:english:KNOB=VALUE,…"
        )
    kind, _, english = request.spec.partition(":")
    reports = draw_reports(
        Request(english, request.split, request.n, request.seed, request.workers)
    )
    name = f"{kind}:{reports.name}"
    return ReportTexts(name, reports.split, reports.seed, reports.rows, reports, N_SENTENCES[kind])


load = Loader(read_texts)
