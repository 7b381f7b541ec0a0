"""Reports as a data set: drawn when they are read, the same for the same seed, split and knobs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from tprpapers.worlds.english.labelling import TASKS
from tprpapers.worlds.english.reports import Report, ReportKnobs, check_split, sample
from tprpapers.worlds.loader import Loader
from tprpapers.worlds.parallel_draws import make
from tprprobe.data.dataset import Dataset, Request
from tprprobe.errors import InputError, unknown

NAME, VERSION = "english", "version"


@dataclass(frozen=True, repr=False)
class DrawnReports(Dataset[Report]):
    """Reports drawn when they are read; row i is `sample(i, seed, split, **knobs)`."""

    knobs: Mapping[str, object]
    workers: int
    has_grammar = True

    @property
    def tasks(self) -> tuple[str, ...]:
        return TASKS

    def read(self, rows: Sequence[int]) -> Iterator[Report]:
        return make(partial(_draw, self.seed, self.split, self.knobs), rows, self.workers)


def _draw(seed: int, split: str, knobs: Mapping[str, object], rows: Sequence[int]) -> list[Report]:
    return [sample(row, seed, split, **knobs) for row in rows]


def is_english(spec: str) -> bool:
    """True if a data set is the generated English: `english` or `english:KNOB=VALUE,…`."""
    return spec.partition(":")[0] == NAME


def draw_reports(request: Request) -> DrawnReports:
    """The generated English; by default 1,000 reports of `test`.

    Knobs stand behind a colon: `english:ambiguity=1,sentences=4-6`. The data set's name has the version.
    Raises: InputError for an unknown split or knob, or a value that a knob cannot have.
    """
    split = request.split or "test"
    check_split(split)
    knobs = _knobs(request.spec)
    ReportKnobs.of(knobs)
    rows, name = range(request.n or 1000), with_version(request.spec)
    return DrawnReports(name, split, request.seed, rows, knobs, request.workers)


def with_version(spec: str) -> str:
    """The name of generated English with the version that it means today; another name as it is."""
    if not is_english(spec) or VERSION in _knobs(spec):
        return spec
    return f"{spec}{',' if ':' in spec else ':'}{VERSION}={ReportKnobs().version}"


def _knobs(spec: str) -> dict[str, object]:
    assignments = spec.removeprefix(NAME).removeprefix(":")
    return dict(map(_knob, filter(None, assignments.split(","))))


def _knob(text: str) -> tuple[str, object]:
    """The name and value of a knob: a number, or two for `sentences`."""
    name, _, value = text.partition("=")
    kinds = asdict(ReportKnobs())
    if name not in kinds:
        raise unknown("knob", name, kinds)
    try:
        if isinstance(kinds[name], tuple):
            low, high = value.split("-")
            return name, (int(low), int(high))
        return name, type(kinds[name])(value)
    except ValueError:
        raise InputError(f"{value!r} for {name}; write, say, sentences=4-6 or depth=3") from None


load = Loader(draw_reports, with_version)
